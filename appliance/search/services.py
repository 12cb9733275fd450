"""Searching, as the rest of the house knows it: plan a query, then read stretches of its order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core.keyset import Position
from appliance.library.models import VISIBLE
from appliance.library.timeline import TILES, Tile
from appliance.search import statements
from appliance.search.counting import Total, count, count_exact, months
from appliance.search.errors import SearchError, TooSlow
from appliance.search.grammar import parse
from appliance.search.patience import patience
from appliance.search.plan import Plan, Scope, plan
from appliance.search.predicates import Arguments
from appliance.search.query import EVERYTHING, Query, Sort, Term
from appliance.search.statements import Stretch


if TYPE_CHECKING:
    from asyncpg import Connection


__all__ = [
    "EVERYTHING",
    "Beside",
    "Neighbours",
    "Plan",
    "Query",
    "Scope",
    "SearchError",
    "Sort",
    "Term",
    "TooSlow",
    "Total",
    "arrived",
    "between",
    "count",
    "count_exact",
    "months",
    "neighbours",
    "newer",
    "newest_id",
    "older",
    "parse",
    "patience",
    "place_of",
    "plan",
]
LOOKED_AT = 5000
"""New assets that the count of what is new looks at; an import of more says "many" all the same."""


class Beside(msgspec.Struct, frozen=True):
    """An asset beside another: its id and its place in the order."""

    id: int
    position: Position


class Neighbours(msgspec.Struct, frozen=True):
    """The assets beside a place in the order of a search; `newer` is the one above it."""

    newer: Beside | None
    older: Beside | None


async def older(
    sql: Connection[Any], plan: Plan, than: Position, limit: int, *, inclusive: bool = False
) -> list[Tile]:
    """The next assets below a place, in reading order."""
    return await _tiles(sql, plan, Stretch(plan.order.check(than), inclusive=inclusive), limit)


async def newer(
    sql: Connection[Any], plan: Plan, than: Position, limit: int, *, inclusive: bool = False
) -> list[Tile]:
    """The next assets above a place, nearest first."""
    return await _tiles(sql, plan, Stretch(plan.order.check(than), down=False, inclusive=inclusive), limit)


async def between(
    sql: Connection[Any], plan: Plan, first: Position, last: Position, limit: int
) -> list[Tile]:
    """The assets from one place down to another, both included."""
    check = plan.order.check
    return await _tiles(sql, plan, Stretch(check(first), inclusive=True, to=check(last)), limit)


async def _tiles(sql: Connection[Any], plan: Plan, stretch: Stretch, limit: int) -> list[Tile]:
    if plan.nothing:
        return []
    bind = Arguments()
    rows = statements.hits(plan, bind, stretch, bind(limit, "bigint"))
    way = "ASC" if plan.order.rising is stretch.down else "DESC"
    async with patience(sql):
        return [Tile(*r) for r in await sql.fetch(TILES.format(rows, way=way), *bind.values)]


async def neighbours(sql: Connection[Any], plan: Plan, place: Position) -> Neighbours:
    """What stands beside a place, in one statement."""
    if plan.nothing:
        return Neighbours(None, None)
    bind = Arguments()
    plan.order.check(place)
    above = statements.hits(plan, bind, Stretch(place, down=False), "1")
    below = statements.hits(plan, bind, Stretch(place), "1")
    async with patience(sql):
        rows = await sql.fetch(
            f"SELECT true AS above, n.* FROM ({above}) n UNION ALL SELECT false, o.* FROM ({below}) o",
            *bind.values,
        )
    found = {r["above"]: Beside(r["id"], Position(r["value"], r["id"])) for r in rows}
    return Neighbours(found.get(True), found.get(False))


async def place_of(sql: Connection[Any], plan: Plan, asset_id: int) -> Position | None:
    """Where an asset stands in the search; None where the search does not find it."""
    if plan.nothing:
        return None
    bind = Arguments()
    wanted = bind(asset_id, "bigint")
    async with patience(sql):
        row = await sql.fetchrow(
            f"SELECT {plan.order.value} AS value FROM asset a"
            f" WHERE a.id = {wanted} AND {statements.holds(plan, bind)}",
            *bind.values,
        )
    return row and Position(row["value"], asset_id)


async def newest_id(sql: Connection[Any]) -> int:
    """The highest id that is visible: what a page knows when it is drawn."""
    found = await sql.fetchval(f"SELECT id FROM asset WHERE {VISIBLE} ORDER BY id DESC LIMIT 1")
    return found or 0


async def arrived(sql: Connection[Any], plan: Plan, since: int, *, cap: int = 1000) -> int:
    """How many that the search finds came after an id, counted up to a cap."""
    if plan.nothing:
        return 0
    bind = Arguments()
    known, most = bind(since, "bigint"), bind(cap, "bigint")
    fresh = f"SELECT * FROM asset WHERE {VISIBLE} AND id > {known} ORDER BY id DESC LIMIT {LOOKED_AT}"
    async with patience(sql):
        counted: int = await sql.fetchval(
            f"SELECT count(*) FROM (SELECT FROM ({fresh}) a WHERE {statements.holds(plan, bind)}"
            f" LIMIT {most}) n",
            *bind.values,
        )
    return counted
