"""Justified rows: which pictures stand side by side, cut so that every row fills the width."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from appliance.core.keyset import Position
from appliance.library.timeline import Tile
from appliance.web import words


SUM = 8192
"""The widths of a row, gaps apart, add up to this."""
NARROWEST, WIDEST = 0.4, 4.0
RAGGED_BELOW = 0.7
"""A last row that is emptier than this keeps its height and ends in a space."""
LOOK_AHEAD = 24
"""Items read beyond a page, so that a month that ends just there ends with the page."""


class Placed(NamedTuple):
    """A tile with its width in the row's own units."""

    tile: Tile
    width: int


class Row(NamedTuple):
    """One line of pictures; `space` is what a ragged last row leaves free."""

    tiles: Sequence[Placed]
    height: int
    space: int

    @property
    def position(self) -> str:
        """The place of its first picture, for URLs."""
        return self.tiles[0].tile.position.text()


class Group(NamedTuple):
    """The rows of one month on one page; `heading` where the month begins here."""

    heading: str | None
    rows: Sequence[Row]


class Chunk(NamedTuple):
    """One page of rows, its ends, and what a browser needs to know its height before it is built."""

    groups: Sequence[Group]
    first: Position
    last: Position
    begins: bool
    ends: bool
    cut_short: bool = False

    @property
    def rise(self) -> str:
        """Height as rows for each unit of width, gaps and headings: see `gallery.js`."""
        slope = sum(r.height for g in self.groups for r in g.rows) / SUM
        gaps = 0.0
        for g in self.groups:
            gaps += len(g.rows) - 1
            gaps -= sum((len(r.tiles) - (0 if r.space else 1)) * r.height / SUM for r in g.rows)
        # Two groups without a heading between them are one month's rows: one gap.
        gaps += sum(1 for g in self.groups[1:] if g.heading is None)
        return f"{slope:.5f} {gaps:.5f} {sum(1 for g in self.groups if g.heading)}"


def ratio(tile: Tile) -> float:
    """Width by height as it is drawn: of the picture itself where there is one, within sane limits."""
    width, height = tile.grid_width or tile.width, tile.grid_height or tile.height
    return width / height if width > 0 and height > 0 else 1.0


def _drawn(tile: Tile, target: float) -> float:
    return min(max(ratio(tile), NARROWEST), WIDEST, target)


def _cost(total: float, target: float) -> float:
    return math.log(total / target) ** 2


def breaks(ratios: Sequence[float], target: float, *, ragged: bool) -> tuple[list[int], list[float]]:
    """Ends of the rows whose sums are nearest to the target, and the cost of ending at each item."""
    best = [0.0] + [math.inf] * len(ratios)
    back = [0] * (len(ratios) + 1)
    for end in range(1, len(ratios) + 1):
        total = 0.0
        for begin in range(end - 1, -1, -1):
            total += ratios[begin]
            if total > 2 * target and begin < end - 1:
                break
            short = ragged and end == len(ratios) and total < RAGGED_BELOW * target
            cost = best[begin] + (0.02 if short else _cost(total, target))
            if cost < best[end]:
                best[end], back[end] = cost, begin
    ends, at = [], len(ratios)
    while at:
        ends.append(at)
        at = back[at]
    return ends[::-1], best


def _row(tiles: Sequence[Tile], target: float, *, last: bool) -> Row:
    ratios = [_drawn(t, target) for t in tiles]
    total = sum(ratios)
    full = target if last and total < RAGGED_BELOW * target else total
    height = round(SUM / full)
    room = SUM if full == total else round(total * height)
    placed, used, seen = [], 0, 0.0
    for tile, part in zip(tiles, ratios, strict=True):
        seen += part
        width = round(room * seen / total) - used
        used += width
        placed.append(Placed(tile, width))
    return Row(placed, height, SUM - room)


def _same_month(a: Tile, b: Tile) -> bool:
    return (a.effective_at.year, a.effective_at.month) == (b.effective_at.year, b.effective_at.month)


def lay_out(
    tiles: Sequence[Tile],
    target: float,
    *,
    begins: bool,
    ends: bool,
    cut_short: bool = False,
    by_month: bool = True,
    anchor: int = 0,
) -> Chunk:
    """Rows of all given tiles; `begins` and `ends` say whether a month does so at the edges.

    In an order that is not of dates (`by_month` false) months make no groups. A row begins at the tile
    `anchor`, so that whoever comes back finds the row that stood there.
    """
    groups: list[Group] = []
    start, new = 0, begins
    for at in range(1, len(tiles) + 1):
        turns = by_month and at < len(tiles) and not _same_month(tiles[at - 1], tiles[at])
        if at < len(tiles) and not turns and at != anchor:
            continue
        part = tiles[start:at]
        heading = words.month(part[0].effective_at) if by_month and new else None
        groups.append(Group(heading, _rows(part, target, closed=turns or (at == len(tiles) and ends))))
        start, new = at, turns
    return Chunk(groups, tiles[0].position, tiles[-1].position, begins, ends, cut_short)


def _rows(tiles: Sequence[Tile], target: float, *, closed: bool) -> list[Row]:
    ends, _ = breaks([_drawn(t, target) for t in tiles], target, ragged=closed)
    begin, rows = 0, []
    for end in ends:
        rows.append(_row(tiles[begin:end], target, last=end == len(tiles)))
        begin = end
    return rows


def portion(
    tiles: Sequence[Tile], limit: int, target: float, *, by_month: bool = True
) -> tuple[Sequence[Tile], bool]:
    """Where a page ends: with its month if that ends soon, else on a full row; and whether a month ends.

    `tiles` were asked for with `limit + LOOK_AHEAD` and run away from the reader in either direction.
    """
    if len(tiles) < limit + LOOK_AHEAD:
        return tiles, True
    for at in range(limit - LOOK_AHEAD, limit + LOOK_AHEAD):
        if by_month and not _same_month(tiles[at - 1], tiles[at]):
            return tiles[:at], True
    _, cost = breaks([_drawn(t, target) for t in tiles[:limit]], target, ragged=False)
    reach = max(1, limit - LOOK_AHEAD // 2)
    at = min(range(reach, limit + 1), key=lambda e: cost[e])
    return tiles[:at], False


def moment_of_month(text: str) -> datetime | None:
    """Read `2026-11`, the form in which the month menu names a place."""
    try:
        return datetime.strptime(text, "%Y-%m")  # noqa: DTZ007 - wall time
    except ValueError:
        return None
