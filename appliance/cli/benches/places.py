"""The searches that the gallery bench asks for, and places near the top and near the end of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from appliance.core import clock
from appliance.core.keyset import Position
from appliance.search import services, statements
from appliance.search.predicates import Arguments
from appliance.search.services import Scope
from appliance.search.statements import Stretch


if TYPE_CHECKING:
    from asyncpg import Connection


SHALLOW, DEEP = 1000, 190_000
"""Places in the order; a search that finds less is asked near three tenths and near nine tenths."""
NEARBY = 200
EACH = 40


@dataclass(frozen=True, slots=True)
class Spot:
    """One search with places in it."""

    name: str
    q: str
    finds: int
    shallow: list[str]
    deep: list[str]

    def address(self, token: str) -> str:
        """The chunk below a place."""
        return "/items?" + urlencode({"q": self.q, "before": token} if self.q else {"before": token})

    def page(self, token: str) -> str:
        """The page at a place."""
        return "/?" + urlencode({"q": self.q, "at": token} if self.q else {"at": token})


async def spots(sql: Connection[Any], assets: int) -> list[Spot]:
    """All searches of the bench; their tags are taken by how often they are used."""
    ranked = await sql.fetch("SELECT name FROM tag ORDER BY uses DESC, id LIMIT 15000")
    first, second, third, middle, rare = (ranked[n]["name"] for n in (0, 1, 2, 60, 14_999))
    wanted = {
        "everything": "",
        "common tag": first,
        "middling tag": middle,
        "rare tag": rare,
        "common AND common": f"{first} {second}",
        "three common tags": f"{first} {second} {third}",
        "common AND middling": f"{first} {middle}",
        "without a common tag": f"-{first}",
        "common without common": f"{first} -{second}",
        "common OR common": f"{first} or {second}",
        "middling OR rare": f"{middle} or {rare}",
        "beginning": f"{first[:3]}*",
        "one month": "date:2024-05",
        "two years with a tag": f"date:2023..2024 {first}",
        "random": "sort:random:123456789",
        "random with a tag": f"sort:random:987654321 {first}",
        "by size": "sort:size",
        "by size with a tag": f"sort:size {first}",
        "rated": "rating:>=3",
        "favourites with a tag": f"is:favourite {first}",
        "videos": "type:video",
    }
    return [await _spot(sql, name, q, assets) for name, q in wanted.items()]


async def _spot(sql: Connection[Any], name: str, q: str, assets: int) -> Spot:
    async with sql.transaction():
        plan = await services.plan(sql, services.parse(q), Scope(admin=True), now=clock.now())
        async with services.patience(sql, 60_000):
            finds = await services.count_exact(sql, plan)
            deep = min(DEEP * assets // 200_000, finds * 9 // 10)
            shallow = min(SHALLOW, finds * 3 // 10)
            bind = Arguments()
            rows = statements.hits(
                plan, bind, Stretch(plan.order.first(), inclusive=True), bind(deep, "bigint")
            )
            ranked = f"SELECT id, value, row_number() OVER () AS place FROM ({rows}) h"
            found = await sql.fetch(
                f"SELECT * FROM ({ranked}) r WHERE place BETWEEN {shallow} AND {shallow + NEARBY}"
                f" OR place >= {deep - NEARBY}",
                *bind.values,
            )
    tokens = [(r["place"], Position(r["value"], r["id"]).text()) for r in found]
    near = [t for place, t in tokens if place <= shallow + NEARBY] or [plan.order.first().text()]
    far = [t for place, t in tokens if place >= deep - NEARBY] or near
    return Spot(name, q, finds, _some(near), _some(far))


def _some(tokens: list[str]) -> list[str]:
    return tokens[:: max(1, len(tokens) // EACH)]


def completing(word: str, number: int) -> str:
    """The address of suggestions for a word that is being typed behind others."""
    text = f"{'x' * (number % 3 + 1)} {word}"
    return f"/search/complete?q={quote(text)}&at={len(text)}"
