"""Reads of the timeline: visible assets, newest first, by keyset in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core.keyset import Position
from appliance.library.models import VISIBLE


if TYPE_CHECKING:
    from asyncpg import Connection, Record


OPAQUE = frozenset({"image/jpeg", "image/heic", "image/heif", "image/bmp"})
"""Formats that are practically never transparent."""


class Tile(msgspec.Struct, frozen=True):
    """What a grid shows of one asset."""

    id: int
    effective_at: datetime
    kind: str
    mime: str
    width: int
    height: int
    duration_ms: int | None
    frames: int | None
    dominant: int | None
    rating: int
    title: str | None
    missing: bool
    grid: str | None
    """State of the grid picture; None where none was ever asked for."""
    grid_version: int
    grid_width: int | None
    grid_height: int | None
    reason: str | None
    """Why there is no grid picture."""
    value: datetime | int | None = None
    """What the order that it was read in sorts by; None means the date."""

    @property
    def ground(self) -> int | None:
        """Colour to stand in for the picture; none where it could shine through the picture for ever."""
        opaque = self.kind == "video" or self.mime in OPAQUE
        return self.dominant if opaque else None

    @property
    def position(self) -> Position:
        """Its place in the order that it was read in."""
        return Position(self.effective_at if self.value is None else self.value, self.id)

    @property
    def place(self) -> str:
        """Its place as it stands in addresses."""
        return self.position.text()


TILES = """
SELECT a.id, a.effective_at, a.kind, a.mime, a.width, a.height, a.duration_ms, a.frames, a.dominant,
       a.rating, a.title, a.missing_since IS NOT NULL, r.status, coalesce(r.version, 1), r.width, r.height,
       r.reason, hit.value
FROM ({}) hit JOIN asset a ON a.id = hit.id
LEFT JOIN rendition r ON r.asset_id = a.id AND r.name = 'grid-240'
ORDER BY hit.value {way}, hit.id {way}
"""
"""SQL: the tiles of rows `(id, value)`."""


NEWEST = Position(datetime.max, 2**63 - 1)  # noqa: DTZ901 - wall time
OLDEST = Position(datetime.min, 0)  # noqa: DTZ901 - wall time
_COLUMNS = f"""
SELECT a.id, a.effective_at, a.kind, a.mime, a.width, a.height, a.duration_ms, a.frames, a.dominant,
       a.rating, a.title, a.missing_since IS NOT NULL AS missing, r.status AS grid,
       coalesce(r.version, 1) AS grid_version,
       r.width AS grid_width, r.height AS grid_height, r.reason
FROM asset a LEFT JOIN rendition r ON r.asset_id = a.id AND r.name = 'grid-240'
WHERE {VISIBLE}
"""
_OLDER = f"{_COLUMNS} AND (effective_at, a.id) < ($1, $2) ORDER BY effective_at DESC, a.id DESC LIMIT $3"
_FROM = f"{_COLUMNS} AND (effective_at, a.id) <= ($1, $2) ORDER BY effective_at DESC, a.id DESC LIMIT $3"
_NEWER = f"{_COLUMNS} AND (effective_at, a.id) > ($1, $2) ORDER BY effective_at, a.id LIMIT $3"
_BETWEEN = f"""{_COLUMNS} AND (effective_at, a.id) <= ($1, $2) AND (effective_at, a.id) >= ($3, $4)
ORDER BY effective_at DESC, a.id DESC LIMIT $5"""
# One probe of the index for each month that exists: flat in the number of assets.
_MONTHS = f"""
WITH RECURSIVE m AS (
    (SELECT date_trunc('month', effective_at) AS month FROM asset WHERE {VISIBLE}
     ORDER BY effective_at DESC, id DESC LIMIT 1)
    UNION ALL
    SELECT (SELECT date_trunc('month', effective_at) FROM asset
            WHERE {VISIBLE} AND effective_at < m.month ORDER BY effective_at DESC, id DESC LIMIT 1)
    FROM m WHERE m.month IS NOT NULL
) SELECT month FROM m WHERE month IS NOT NULL LIMIT 2400
"""


def _tile(row: Record) -> Tile:
    return Tile(*row)


async def older(sql: Connection[Any], than: Position, limit: int, *, inclusive: bool = False) -> list[Tile]:
    """The next assets below a place, in reading order."""
    rows = await sql.fetch(_FROM if inclusive else _OLDER, than.effective_at, than.id, limit)
    return [_tile(r) for r in rows]


async def newer(sql: Connection[Any], than: Position, limit: int) -> list[Tile]:
    """The next assets above a place, nearest first."""
    return [_tile(r) for r in await sql.fetch(_NEWER, than.effective_at, than.id, limit)]


async def between(sql: Connection[Any], first: Position, last: Position, limit: int) -> list[Tile]:
    """The assets from one place down to another, both included."""
    rows = await sql.fetch(_BETWEEN, first.effective_at, first.id, last.effective_at, last.id, limit)
    return [_tile(r) for r in rows]


async def months(sql: Connection[Any]) -> Sequence[datetime]:
    """First moments of all months that hold something, newest first."""
    return [r["month"] for r in await sql.fetch(_MONTHS)]


async def newest_id(sql: Connection[Any]) -> int:
    """The highest id that is visible: what a page knows when it is drawn."""
    found = await sql.fetchval(f"SELECT id FROM asset WHERE {VISIBLE} ORDER BY id DESC LIMIT 1")
    return found or 0


async def arrived(sql: Connection[Any], since: int, *, cap: int = 1000) -> int:
    """How many visible assets came after an id, counted up to a cap."""
    counted: int = await sql.fetchval(
        f"SELECT count(*) FROM (SELECT 1 FROM asset WHERE {VISIBLE} AND id > $1 ORDER BY id DESC LIMIT $2) n",
        since,
        cap,
    )
    return counted


class Total(msgspec.Struct, frozen=True):
    """How many assets there are; above a cap only as the planner's estimate."""

    count: int
    exact: bool


EXACT_UP_TO = 10_000


async def total(sql: Connection[Any]) -> Total:
    """The size of the visible collection at a cost that does not grow with it."""
    row = await sql.fetchrow(
        f"SELECT (SELECT count(*) FROM (SELECT 1 FROM asset WHERE {VISIBLE} LIMIT $1) n) AS counted, "
        "(SELECT reltuples::bigint FROM pg_class WHERE oid = 'asset'::regclass) AS estimated",
        EXACT_UP_TO + 1,
    )
    assert row is not None  # noqa: S101 - a query without FROM answers one row
    if row["counted"] <= EXACT_UP_TO:
        return Total(row["counted"], exact=True)
    return Total(max(row["estimated"], EXACT_UP_TO), exact=False)
