"""A selection: a search, stretches of its order, single assets and exceptions; ids by one statement."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from appliance.core.errors import Invalid
from appliance.core.keyset import LARGEST
from appliance.library.models import VISIBLE
from appliance.search import statements
from appliance.search.grammar import parse
from appliance.search.patience import patience
from appliance.search.plan import Plan, Scope
from appliance.search.plan import plan as make_plan
from appliance.search.predicates import Arguments
from appliance.search.statements import Stretch


if TYPE_CHECKING:
    from asyncpg import Connection


LONGEST = 4_000_000
"""A form of a hundred thousand single picks is about a megabyte."""
MOST_IDS = 200_000
MOST_RANGES = 200


@dataclass(frozen=True, slots=True)
class Selection:
    """What a person picked in the gallery of a search."""

    q: str = ""
    everything: bool = False
    ranges: tuple[tuple[str, str], ...] = ()
    ids: tuple[int, ...] = field(default=())
    without: tuple[int, ...] = field(default=())

    @property
    def empty(self) -> bool:
        """Whether nothing was picked."""
        return not (self.everything or self.ranges or self.ids)


def read(text: str) -> Selection:
    """Read the form field `selection`; refuses what no gallery of ours sends."""
    if len(text) > LONGEST:
        raise Invalid("The selection is too large", "Select the whole search, then take single ones out.")
    try:
        given = json.loads(text)
        if not isinstance(given, Mapping):
            raise TypeError
        return Selection(
            q=_text(given.get("q", "")),
            everything=given.get("all", False) is True,
            ranges=tuple(_range(r) for r in _list(given, "ranges", MOST_RANGES)),
            ids=tuple(_id(i) for i in _list(given, "ids", MOST_IDS)),
            without=tuple(_id(i) for i in _list(given, "without", MOST_IDS)),
        )
    except (ValueError, TypeError, RecursionError):
        raise Invalid("The selection cannot be read", "Reload the page and select again.") from None


def _list(given: Mapping[str, Any], name: str, most: int) -> list[Any]:
    found = given.get(name, [])
    if not isinstance(found, list) or len(found) > most:
        raise TypeError
    return found


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _range(value: object) -> tuple[str, str]:
    if not isinstance(value, list) or len(value) != 2:
        raise TypeError
    return _text(value[0]), _text(value[1])


def _id(value: object) -> int:
    # A browser that keeps ids as text says "12".
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 19:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
        raise TypeError
    return value


async def ids_sql(sql: Connection[Any], selection: Selection, scope: Scope) -> tuple[str, list[object]]:
    """A statement with one column `id` and its values, for INSERT … SELECT; each id once."""
    bind = Arguments()
    parts = []
    if selection.ids:
        parts.append(_picked(selection, scope, bind))
    if selection.everything or selection.ranges:
        plan = await make_plan(sql, parse(selection.q), scope)
        parts += _searched(plan, selection, bind)
    if not parts:
        return "SELECT NULL::bigint AS id WHERE false", []
    union = " UNION ".join(parts)
    if not selection.without:
        return union, bind.values
    without = bind(list(selection.without), "bigint[]")
    return f"SELECT u.id FROM ({union}) u WHERE NOT u.id = ANY({without})", bind.values


def _picked(selection: Selection, scope: Scope, bind: Callable[[object, str], str]) -> str:
    # Picked by hand: they stay picked when the search does not find them any more.
    visible = "true" if scope.admin else VISIBLE
    ids = bind(list(dict.fromkeys(selection.ids)), "bigint[]")
    return f"SELECT a.id FROM asset a WHERE a.id = ANY({ids}) AND {visible}"


def _searched(plan: Plan, selection: Selection, bind: Arguments) -> list[str]:
    if plan.nothing:
        # The places are checked all the same.
        _stretches(plan, selection)
        return []
    if selection.everything:
        return [f"SELECT a.id FROM {statements.matching(plan, bind)}"]
    return [
        f"SELECT r.id FROM ({statements.hits(plan, bind, stretch, bind(LARGEST, 'bigint'))}) r"
        for stretch in _stretches(plan, selection)
    ]


def _stretches(plan: Plan, selection: Selection) -> list[Stretch]:
    made = []
    for one, other in selection.ranges:
        first, last = sorted((plan.place(one), plan.place(other)), key=lambda p: (p.value, p.id))
        if not plan.order.rising:
            first, last = last, first
        made.append(Stretch(first, inclusive=True, to=last))
    return made


async def count(sql: Connection[Any], selection: Selection, scope: Scope) -> int:
    """How many assets a selection holds at this moment."""
    async with patience(sql):
        query, values = await ids_sql(sql, selection, scope)
        found: int = await sql.fetchval(f"SELECT count(*) FROM ({query}) s", *values)
    return found
