"""One page of pictures in the order of a search, while it is put together."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from appliance.core import keyset
from appliance.core.keyset import Position
from appliance.library import volumes
from appliance.library.timeline import Tile
from appliance.search import services
from appliance.search.plan import Plan
from appliance.web import places, rows, words
from appliance.web.rows import LOOK_AHEAD, Chunk
from appliance.web.visitor import Visitor


if TYPE_CHECKING:
    from asyncpg import Connection


FIRST, PAGE, ABOVE = 84, 60, 36
"""Items of the first page, of one that follows and, around a place, above it.

The first fills a screen and what is kept below it, so that nothing more is asked for before someone scrolls.
A browser keeps the pages that touch the screen and a screen on either side of it: smaller pages are fewer
elements beyond what is needed, larger ones fewer requests.
"""
MIDDLING = 7.0
"""Width of a row, in heights, for which these hold; where more stand in a row, a page has more."""
RANGE_LIMIT = 5 * PAGE
"""A chunk that is asked for again may have grown by what came in since; beyond this it is split."""
EAGER = 12


class Wanted(NamedTuple):
    """Where in the order someone wants to be; nothing said means the top."""

    at: str = ""
    before: str = ""
    after: str = ""

    @property
    def top(self) -> bool:
        """Whether no place was named."""
        return not (self.at or self.before or self.after)


def _month(place: Position) -> tuple[int, int]:
    moment = place.value
    return (moment.year, moment.month) if isinstance(moment, datetime) else (0, 0)


class View:
    """One page of the gallery."""

    def __init__(self, sql: Connection[Any], plan: Plan, visitor: Visitor, q: str) -> None:
        self.sql, self.plan, self.q = sql, plan, q
        self.target = visitor.target
        self.times = max(1.0, self.target / MIDDLING)
        self.chunk: Chunk | None = None
        self.more_newer = self.more_older = False
        self.anchor = 0
        self.until = ("", "")
        self.pinned = ""
        self.person = visitor.person
        self.reached: dict[int, int] = {}

    async def show(self, wanted: Wanted) -> View:
        """The page around, below or above a place, or the first one."""
        if wanted.at:
            return await self.around(self.place(wanted.at))
        if wanted.before:
            return await self.down(self.place(wanted.before))
        if wanted.after:
            return await self.up(self.place(wanted.after))
        return await self.down(self.plan.order.first(), inclusive=True, at_top=True)

    def place(self, text: str) -> Position:
        """A position; in an order of dates also a month, which means just before its first picture."""
        month = rows.moment_of_month(text) if self.plan.by_month else None
        if month is None:
            return self.plan.order.check(keyset.parse(text))
        if self.plan.order.rising:
            return Position(month, 0)
        year, following = (month.year + 1, 1) if month.month == 12 else (month.year, month.month + 1)
        first = self.plan.order.first()
        return first if year > 9999 else Position(month.replace(year=year, month=following), 0)

    def beyond(self, place: Position) -> Position:
        """The next possible place below one."""
        return Position(place.value, place.id + (1 if self.plan.order.rising else -1))

    def _many(self, items: int) -> int:
        return round(items * self.times)

    def _portion(self, found: Any, limit: int) -> tuple[Any, bool]:
        return rows.portion(found, limit, self.target, by_month=self.plan.by_month)

    def _lay_out(
        self, tiles: Any, *, begins: bool, ends: bool, cut_short: bool = False, anchor: int = 0
    ) -> None:
        self.chunk = rows.lay_out(
            tiles,
            self.target,
            begins=begins,
            ends=ends,
            cut_short=cut_short,
            by_month=self.plan.by_month,
            anchor=anchor,
        )
        self.pinned = tiles[anchor].position.text() if anchor else ""

    async def down(self, place: Position, *, inclusive: bool = False, at_top: bool = False) -> View:
        """The page below a place."""
        limit = self._many(FIRST if at_top else PAGE)
        found = await services.older(self.sql, self.plan, place, limit + LOOK_AHEAD, inclusive=inclusive)
        run, ends = self._portion(found, limit)
        self.more_older = len(run) < len(found)
        self.more_newer = not at_top
        if run:
            self._lay_out(run, begins=at_top or _month(run[0].position) != _month(place), ends=ends)
        return self

    async def up(self, place: Position) -> View:
        """The page above a place."""
        limit = self._many(PAGE)
        found = await services.newer(self.sql, self.plan, place, limit + LOOK_AHEAD)
        run, begins = self._portion(found, limit)
        self.more_newer, self.more_older = len(run) < len(found), True
        if run:
            tiles = list(reversed(run))
            self._lay_out(tiles, begins=begins, ends=_month(tiles[-1].position) != _month(place))
        return self

    async def around(self, place: Position) -> View:
        """The page that holds a place, with something above it, so that one can scroll both ways."""
        above, below = self._many(ABOVE), self._many(PAGE)
        newer = await services.newer(self.sql, self.plan, place, above + LOOK_AHEAD)
        older = await services.older(self.sql, self.plan, place, below + LOOK_AHEAD, inclusive=True)
        head, begins = self._portion(newer, above)
        tail, ends = self._portion(older, below)
        self.more_newer, self.more_older = len(head) < len(newer), len(tail) < len(older)
        tiles = [*reversed(head), *tail]
        self.anchor = len(head)
        if tiles:
            self._lay_out(tiles, begins=begins, ends=ends, anchor=len(head) if tail else 0)
        return self

    async def again(self, first: Position, last: Position, edges: str, pinned: str) -> View:
        """The same stretch that a browser let go of, with whatever came into it since."""
        found = await services.between(self.sql, self.plan, first, last, RANGE_LIMIT + LOOK_AHEAD)
        short = len(found) == RANGE_LIMIT + LOOK_AHEAD
        run, ends = self._portion(found, RANGE_LIMIT) if short else (found, "e" in edges)
        if run:
            at = next((n for n, tile in enumerate(run) if tile.position.text() == pinned), 0)
            self._lay_out(run, begins="b" in edges, ends=ends, cut_short=short, anchor=at)
            self.until = (last.text(), ("b" if ends else "") + ("e" if "e" in edges else ""))
        return self

    async def learn_places(self) -> None:
        """How far whoever looks has read the volumes of this page; asks nothing where there is none."""
        shelf = [t.id for t in self.tiles if t.kind == "volume"]
        if shelf and self.person is not None:
            self.reached = await volumes.places(self.sql, self.person.id, shelf)

    def values(self) -> dict[str, Any]:
        """What the templates show."""
        return {
            "chunk": self.chunk,
            "more_newer": self.more_newer,
            "more_older": self.more_older,
            "anchor": self.anchor,
            "until": self.until,
            "pinned": self.pinned,
            "eager": EAGER,
            "by_month": self.plan.by_month,
            "ways": self.ways,
            "reached": self.reached,
            "may_edit": self.plan.scope.admin,
            "asset_q": places.at("", self.q),
            "link": lambda path, **place: places.at(path, self.q, **place),
        }

    @property
    def tiles(self) -> list[Tile]:
        """What is shown, in its order."""
        return [p.tile for g in self.chunk.groups for r in g.rows for p in r.tiles] if self.chunk else []

    @property
    def ways(self) -> tuple[str, str]:
        """What lies above this page and what lies below it."""
        if not self.plan.by_month:
            return "Before", "More"
        return ("Older", "Newer") if self.plan.order.rising else ("Newer", "Older")

    @property
    def month(self) -> str:
        """The month that the reader looks at first."""
        if self.chunk is None or not self.plan.by_month:
            return ""
        seen = self.tiles
        moment = seen[min(self.anchor, len(seen) - 1)].effective_at
        return f"{words.MONTHS[moment.month - 1]} {moment.year}"

    @property
    def waiting(self) -> int:
        """How many tiles still lack their picture."""
        return sum(t.grid != "complete" for t in self.tiles)
