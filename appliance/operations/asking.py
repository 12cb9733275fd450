"""Asking for a bulk action on a selection: counted, compared with what was shown, written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from appliance.core.db import UnitOfWork
from appliance.core.errors import Invalid
from appliance.operations import listing, services
from appliance.operations.kinds import Kind
from appliance.operations.listing import MovedOn
from appliance.search.patience import patience
from appliance.search.selections import Selection


if TYPE_CHECKING:
    from asyncpg import Connection


async def toggled(sql: Connection[Any], selection: Selection) -> Kind:
    """Whether a press of one key makes the selection favourites, or (where all are) takes that away."""
    async with patience(sql):
        query, values = await listing.ids_of(sql, Kind.FAVOURITE, selection)
        lacking = await sql.fetchval(
            f"SELECT EXISTS (SELECT 1 FROM asset a WHERE NOT a.favourite AND a.id IN ({query}))", *values
        )
    return Kind.FAVOURITE if lacking else Kind.UNFAVOURITE


async def ask(
    uow: UnitOfWork,
    kind: Kind,
    selection: Selection,
    arguments: Mapping[str, Any],
    *,
    person: int | None,
    expect: int | None = None,
    listed: bool = False,
) -> services.Asked:
    """Write the action and the ids of its selection down; few are done at once, many by the lane.

    The ids of very many are left to the lane as well, unless they are needed `listed` now.
    """
    total = await listing.count(uow.sql, kind, selection)
    _check(total, expect)
    operation_id = await listing.write(uow.sql, kind, arguments, person, query=selection.q)
    if total > listing.AT_ONCE and not listed:
        await listing.postpone(uow.sql, operation_id, listing.selected(selection))
        return await services.settle(uow, operation_id, total)
    query, values = await listing.ids_of(uow.sql, kind, selection)
    # Counted again where it counts: something may have come in between.
    total = await listing.materialise(uow.sql, operation_id, query, values)
    _check(total, expect)
    return await services.settle(uow, operation_id, total)


def _check(total: int, expect: int | None) -> None:
    if expect is not None and total != expect:
        raise MovedOn(total, expect)
    if not total:
        raise Invalid("Nothing is selected")
