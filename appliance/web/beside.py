"""Where an asset stands in a search: what is beside it, and the way back to its place in the gallery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from appliance.core import keyset
from appliance.core.keyset import Position
from appliance.library import motion, queries
from appliance.library.queries import AssetView
from appliance.search import services
from appliance.search.errors import SearchError
from appliance.search.services import Plan, Scope
from appliance.web import places, stages


if TYPE_CHECKING:
    from asyncpg import Connection

MOST = 60


class Beside(NamedTuple):
    """The place of an asset in a search, and what is on both sides of it."""

    q: str
    place: Position | None
    newer: int | None
    older: int | None

    def to(self, asset_id: int, **rest: str) -> str:
        """The address of an asset within the same search."""
        return places.at(f"/asset/{asset_id}", self.q, **rest)

    def back(self, asset_id: int) -> str:
        """The address of its place in the gallery."""
        return places.gallery(self.q, at=self.place.text() if self.place else "") + f"#a{asset_id}"


async def planned(sql: Connection[Any], q: str, *, admin: bool) -> tuple[str, Plan]:
    """The search of an address; one that cannot be understood is the whole gallery."""
    scope = Scope(admin=admin)
    try:
        return q, await services.plan(sql, services.parse(q), scope)
    except SearchError:
        return "", await services.plan(sql, services.EVERYTHING, scope)


async def beside(sql: Connection[Any], asset: AssetView, q: str, *, admin: bool) -> Beside:
    """What stands beside an asset; one that the search does not find any more keeps its place in time."""
    q, plan = await planned(sql, q, admin=admin)
    place = await services.place_of(sql, plan, asset.id)
    if place is None and plan.by_month:
        place = asset.position
    if place is None:
        return Beside(q, None, None, None)
    near = await services.neighbours(sql, plan, place)
    return Beside(q, place, near.newer.id if near.newer else None, near.older.id if near.older else None)


async def run(sql: Connection[Any], q: str, place: str, way: str, *, admin: bool) -> dict[str, Any]:
    """The next assets of a search on one side of a place, nearest first, as the viewer shows them."""
    _, plan = await planned(sql, q, admin=admin)
    at = keyset.parse(place)
    if way == "newer":
        tiles = await services.newer(sql, plan, at, MOST + 1)
    else:
        tiles = await services.older(sql, plan, at, MOST + 1, inclusive=way == "here")
    places_of = {tile.id: tile.place for tile in tiles[:MOST]}
    found = await queries.pictured(sql, list(places_of))
    films = await motion.of_each(sql, [i for i in found if found[i].kind == "still"], everything=admin)
    items = [stages.item(found[i], places_of[i], films.get(i)) for i in places_of if i in found]
    return {"items": items, "more": len(tiles) > MOST}
