"""Asking for a bulk action on a selection: counted, compared with what was shown, written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from appliance.core.db import UnitOfWork
from appliance.core.errors import Conflict, Invalid
from appliance.operations import services
from appliance.operations.kinds import Kind
from appliance.search import selections
from appliance.search.selections import Selection
from appliance.search.services import Scope


class MovedOn(Conflict):
    """The selection holds another number than the person was shown."""

    def __init__(self, count: int, expect: int) -> None:
        super().__init__(
            f"It is {count:,} now, not {expect:,}", "Nothing was changed. Look again, then do it again."
        )
        self.count = count


async def ask(
    uow: UnitOfWork,
    kind: Kind,
    selection: Selection,
    arguments: Mapping[str, Any],
    *,
    person: int | None,
    expect: int | None = None,
) -> services.Asked:
    """Write the action and the ids of its selection down; few are done at once, many by the lane."""
    operation_id = await services.write(uow.sql, kind, arguments, person, query=selection.q)
    query, values = await selections.ids_sql(uow.sql, selection, Scope(admin=True))
    total = await services.materialise(uow.sql, operation_id, query, values)
    if expect is not None and total != expect:
        raise MovedOn(total, expect)
    if not total:
        raise Invalid("Nothing is selected")
    return await services.settle(uow, operation_id, total)
