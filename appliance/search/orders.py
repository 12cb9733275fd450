"""The orders that a search can be read in; each is walked by an index, in both directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from appliance.core.errors import Invalid
from appliance.core.keyset import LARGEST, Position
from appliance.search.query import Sort


CYCLE = 2**31
"""The random order is a circle of this many places, which the seed turns."""
# The golden section of the circle; odd, so that no two seeds cut it at the same place.
_STRIDE = 1_327_217_885
_VALUES = {
    "date": "a.effective_at",
    "added": "a.id",
    "rating": "a.rating",
    "size": "a.size",
    "duration": "coalesce(a.duration_ms, 0::bigint)",
    "random": "a.shuffle",
}
Bind = Callable[[object, str], str]
"""Takes a value and its SQL type, answers the parameter."""


@dataclass(frozen=True, slots=True)
class Leg:
    """A stretch of an order that one index scan reads; a random order has two, one after the other."""

    condition: str
    ways: str
    """What follows ORDER BY."""


@dataclass(frozen=True, slots=True)
class Order:
    """What assets are sorted by, then by id; largest first unless `rising`."""

    name: str = "date"
    rising: bool = False
    seed: int = 0

    @property
    def by_date(self) -> bool:
        """Whether months follow each other in it."""
        return self.name == "date"

    @property
    def turn(self) -> int:
        """Where the circle is cut: seeds that follow each other cut it far apart."""
        return self.seed * _STRIDE % CYCLE

    @property
    def value(self) -> str:
        """SQL: what a place in this order begins with."""
        if self.name == "random":
            return f"((a.shuffle::bigint - {self.turn} + {CYCLE}) % {CYCLE})"
        return _VALUES[self.name]

    def check(self, place: Position) -> Position:
        """Refuse a place that belongs to another order."""
        if isinstance(place.value, datetime) != self.by_date:
            raise Invalid("This place belongs to another order", "Start at the top.")
        return place

    def first(self) -> Position:
        """The place above everything."""
        return self._end(highest=not self.rising)

    def last(self) -> Position:
        """The place below everything."""
        return self._end(highest=self.rising)

    def _end(self, *, highest: bool) -> Position:
        if self.by_date:
            return Position(datetime.max if highest else datetime.min, LARGEST if highest else 0)  # noqa: DTZ901 - wall time
        return Position(LARGEST if highest else 0, LARGEST if highest else 0)

    def legs(
        self, bind: Bind, *, down: bool, start: Position, inclusive: bool, to: Position | None, tags: bool
    ) -> Sequence[Leg]:
        """The stretches from a place on, away from it; `tags` says that the tags' index is walked."""
        rising = self.rising is down
        if self.name == "random":
            return _turned(self, bind, rising=rising, start=start, inclusive=inclusive, to=to)
        keys: tuple[str, ...] = ("t.effective_at", "t.asset_id") if tags else (_VALUES[self.name], "a.id")
        keys = ("a.id",) if self.name == "added" else keys
        conditions = [_beside(bind, keys, start, _sign(rising=rising, inclusive=inclusive))]
        if to is not None:
            conditions.append(_beside(bind, keys, to, _sign(rising=not rising, inclusive=True)))
        way = "" if rising else " DESC"
        return [Leg(" AND ".join(conditions), ", ".join(f"{k}{way}" for k in keys))]


def _sign(*, rising: bool, inclusive: bool) -> str:
    return (">" if rising else "<") + ("=" if inclusive else "")


def _beside(bind: Bind, keys: Sequence[str], place: Position, sign: str) -> str:
    if len(keys) == 1:
        return f"{keys[0]} {sign} {bind(place.id, 'bigint')}"
    kind = "timestamp" if isinstance(place.value, datetime) else "bigint"
    return f"({keys[0]}, {keys[1]}) {sign} ({bind(place.value, kind)}, {bind(place.id, 'bigint')})"


def _turned(
    order: Order, bind: Bind, *, rising: bool, start: Position, inclusive: bool, to: Position | None
) -> Sequence[Leg]:
    # The circle is cut where the seed stands: what lies from there on comes first, the rest after it.
    way = "" if rising else " DESC"
    cut = order.turn
    sides = [(f"a.shuffle >= {cut}", cut), (f"a.shuffle < {cut}", cut - CYCLE)]
    legs = []
    for side, turn in sides if rising else reversed(sides):
        conditions = [side, _turned_beside(bind, start, turn, _sign(rising=rising, inclusive=inclusive))]
        if to is not None:
            conditions.append(_turned_beside(bind, to, turn, _sign(rising=not rising, inclusive=True)))
        legs.append(Leg(" AND ".join(conditions), f"a.shuffle{way}, a.id{way}"))
    return legs


def _turned_beside(bind: Bind, place: Position, turn: int, sign: str) -> str:
    # Clamped, since an address may hold any number: beyond the circle is beyond all of it.
    value = min(place.value, CYCLE) if isinstance(place.value, int) else 0
    return f"(a.shuffle, a.id) {sign} ({bind(value + turn, 'bigint')}, {bind(place.id, 'bigint')})"


def of(sort: Sort | None) -> Order:
    """The order that a search asks for; newest first where it asks for none.

    Random is read from the lowest place on; a minus turns every order round.
    """
    if sort is None:
        return Order()
    if sort.order == "random":
        return Order("random", rising=not sort.reverse, seed=sort.seed or 0)
    return Order(sort.order, rising=sort.reverse)
