"""The timeline: its page, its chunks of rows, and the count of what is new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar import Controller, Request, Response, get
from litestar.params import Parameter

from appliance.core import db, keyset
from appliance.core.errors import Invalid
from appliance.core.keyset import Position
from appliance.library import timeline
from appliance.web import rows, words
from appliance.web.guards import EVERYBODY
from appliance.web.hypermedia import Screen, fragment, go, kept, nothing, shell_page, wants_fragment
from appliance.web.pulse import Pulse, pulse
from appliance.web.rows import LOOK_AHEAD, Chunk
from appliance.web.visitor import DENSITIES, Visitor


if TYPE_CHECKING:
    from asyncpg import Connection


PAGE, ABOVE = 120, 60
PHONE_PAGE, PHONE_ABOVE = 72, 48
RANGE_LIMIT = 3 * PAGE
"""A chunk that is asked for again may have grown by what came in since; beyond this it is split."""
KEEP_SECONDS = 60
EAGER = 12
SCREEN = Screen("gallery", "Gallery", "gallery")
AnyRequest = Request[Any, Any, Any]


def _sizes(visitor: Visitor) -> tuple[int, int]:
    return (PHONE_PAGE, PHONE_ABOVE) if visitor.width == "phone" else (PAGE, ABOVE)


def _place(text: str) -> Position:
    """A position, or a month, which means the place just above its newest picture."""
    month = rows.moment_of_month(text)
    if month is None:
        return keyset.parse(text)
    year, following = (month.year + 1, 1) if month.month == 12 else (month.year, month.month + 1)
    return timeline.NEWEST if year > 9999 else Position(month.replace(year=year, month=following), 0)


def _month(place: Position) -> tuple[int, int]:
    return place.effective_at.year, place.effective_at.month


class View:
    """One page of the timeline while it is put together."""

    def __init__(self, sql: Connection[Any], visitor: Visitor) -> None:
        self.sql = sql
        self.target = visitor.target
        self.limit, self.above = _sizes(visitor)
        self.chunk: Chunk | None = None
        self.more_newer = self.more_older = False
        self.anchor = 0
        self.until = ""

    async def down(self, place: Position, *, inclusive: bool = False, at_top: bool = False) -> View:
        """The page below a place."""
        found = await timeline.older(self.sql, place, self.limit + LOOK_AHEAD, inclusive=inclusive)
        run, ends = rows.portion(found, self.limit, self.target)
        self.more_older = len(run) < len(found)
        self.more_newer = not at_top
        if run:
            begins = at_top or _month(run[0].position) != _month(place)
            self.chunk = rows.lay_out(run, self.target, begins=begins, ends=ends)
        return self

    async def up(self, place: Position) -> View:
        """The page above a place."""
        found = await timeline.newer(self.sql, place, self.limit + LOOK_AHEAD)
        run, begins = rows.portion(found, self.limit, self.target)
        self.more_newer, self.more_older = len(run) < len(found), True
        if run:
            tiles = list(reversed(run))
            ends = _month(tiles[-1].position) != _month(place)
            self.chunk = rows.lay_out(tiles, self.target, begins=begins, ends=ends)
        return self

    async def around(self, place: Position) -> View:
        """The page that holds a place, with something above it, so that one can scroll both ways."""
        newer = await timeline.newer(self.sql, place, self.above + LOOK_AHEAD)
        older = await timeline.older(self.sql, place, self.limit + LOOK_AHEAD, inclusive=True)
        head, begins = rows.portion(newer, self.above, self.target)
        tail, ends = rows.portion(older, self.limit, self.target)
        self.more_newer, self.more_older = len(head) < len(newer), len(tail) < len(older)
        tiles = [*reversed(head), *tail]
        self.anchor = len(head)
        if tiles:
            self.chunk = rows.lay_out(tiles, self.target, begins=begins, ends=ends)
        return self

    async def again(self, first: Position, last: Position, edges: str) -> View:
        """The same stretch that a browser let go of, with whatever came into it since."""
        found = await timeline.between(self.sql, first, last, RANGE_LIMIT + LOOK_AHEAD)
        short = len(found) == RANGE_LIMIT + LOOK_AHEAD
        run, ends = rows.portion(found, RANGE_LIMIT, self.target) if short else (found, "e" in edges)
        if run:
            self.chunk = rows.lay_out(run, self.target, begins="b" in edges, ends=ends, cut_short=short)
            following = ("b" if ends else "") + ("e" if "e" in edges else "")
            self.until = f"{last.text()}&edges={following}"
        return self

    def values(self) -> dict[str, Any]:
        """What the templates show."""
        return {
            "chunk": self.chunk,
            "more_newer": self.more_newer,
            "more_older": self.more_older,
            "anchor": self.anchor,
            "until": self.until,
            "eager": EAGER,
        }

    @property
    def month(self) -> str:
        """The month that the reader looks at first."""
        if self.chunk is None:
            return ""
        seen = [p.tile for g in self.chunk.groups for r in g.rows for p in r.tiles]
        moment = seen[min(self.anchor, len(seen) - 1)].effective_at
        return f"{words.MONTHS[moment.month - 1]} {moment.year}"

    @property
    def waiting(self) -> int:
        """How many tiles still lack their picture."""
        if self.chunk is None:
            return 0
        return sum(p.tile.grid != "complete" for g in self.chunk.groups for r in g.rows for p in r.tiles)


async def _view(sql: Connection[Any], visitor: Visitor, at: str, before: str, after: str) -> View:
    view = View(sql, visitor)
    if at:
        return await view.around(_place(at))
    if before:
        return await view.down(_place(before))
    if after:
        return await view.up(_place(after))
    return await view.down(timeline.NEWEST, inclusive=True, at_top=True)


def _grows(view: View, beat: Pulse, *, at_top: bool) -> bool:
    # The wall fills by itself only while all of it is on one page and nobody can have lost a place in it.
    return at_top and not view.more_older and (beat.busy or view.chunk is None)


class GalleryController(Controller):
    """Pages and fragments of the timeline."""

    opt = EVERYBODY

    @get("/")
    async def index(
        self, request: AnyRequest, at: str = "", before: str = "", after: str = "", known: str = ""
    ) -> Response[Any]:
        """The page at a place; for a partial request the wall alone, if it differs from what is known."""
        visitor = Visitor.of(request)
        async with db.unit_of_work() as uow:
            view = await _view(uow.sql, visitor, at, before, after)
            if view.chunk is None and (at or before or after):
                return go("/")
            return await self._page(request, uow.sql, view, at_top=not (at or before or after), known=known)

    async def _page(
        self,
        request: AnyRequest,
        sql: Connection[Any],
        view: View,
        *,
        at_top: bool,
        known: str,
    ) -> Response[Any]:
        beat, since, total = await pulse(sql), await timeline.newest_id(sql), await timeline.total(sql)
        mark = f"{since}.{total.count}.{view.waiting}.{int(beat.busy)}"
        values = view.values() | {
            "since": since,
            "total": total,
            "mark": mark,
            "busy": beat.busy,
            "grows": _grows(view, beat, at_top=at_top),
            "at_top": at_top,
            "month": view.month,
        }
        if wants_fragment(request):
            if known == mark:
                return nothing()
            return fragment("gallery/_wall_update.html", **values, **await self._toolbar(request, sql))
        values |= await self._toolbar(request, sql)
        return await shell_page(request, sql, "gallery/index.html", SCREEN, **values)

    async def _toolbar(self, request: AnyRequest, sql: Connection[Any]) -> dict[str, Any]:
        months = _by_year(await timeline.months(sql))
        return {"months": months, "densities": DENSITIES, "density": Visitor.of(request).density}

    @get("/items")
    async def items(
        self,
        request: AnyRequest,
        before: str = "",
        after: str = "",
        to: str = "",
        first: str = Parameter(query="from", default=""),
        edges: str = "",
    ) -> Response[Any]:
        """One chunk of rows; asked for plainly, the page that holds it."""
        if not wants_fragment(request):
            return go(_whole(before, after, first))
        visitor = Visitor.of(request)
        async with db.unit_of_work() as uow:
            view = View(uow.sql, visitor)
            if first or to:
                start = _place(first) if first else _below(_place(before))
                await view.again(start, _place(to), edges)
            else:
                await _only(view, before, after)
        return kept(request, fragment("gallery/_chunk.html", far=True, **view.values()), seconds=KEEP_SECONDS)

    @get("/items/new")
    async def new(self, request: AnyRequest, since: int) -> Response[Any]:
        """How many came in since the page was drawn; never moves what is on it."""
        if not wants_fragment(request):
            return go("/")
        async with db.unit_of_work() as uow:
            arrived = await timeline.arrived(uow.sql, max(0, min(since, 2**63 - 1)))
        return fragment("gallery/_new_count.html", arrived=arrived, since=since)


def _whole(before: str, after: str, first: str) -> str:
    if first:
        return f"/?at={first}"
    return f"/?before={before}" if before else f"/?after={after}" if after else "/"


def _below(place: Position) -> Position:
    return Position(place.effective_at, place.id - 1)


async def _only(view: View, before: str, after: str) -> None:
    if bool(before) == bool(after):
        raise Invalid("One of before, after or from is needed")
    if before:
        await view.down(_place(before))
        view.more_newer = False
    else:
        await view.up(_place(after))
        view.more_older = False


def _by_year(months: Any) -> list[tuple[int, list[Any]]]:
    years: dict[int, list[Any]] = {}
    for month in months:
        years.setdefault(month.year, []).append(month)
    return [(year, sorted(found)) for year, found in years.items()]


HANDLERS = (GalleryController,)
