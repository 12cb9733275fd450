"""Reads of single assets: what a page, a picture request or a download needs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core.errors import NotFound
from appliance.core.keyset import Position
from appliance.library.inside import SEEN
from appliance.library.models import VISIBLE


if TYPE_CHECKING:
    from asyncpg import Connection


class AssetView(msgspec.Struct, frozen=True):
    """Everything that the page of an asset says about it."""

    id: int
    kind: str
    sha256: bytes
    size: int
    mime: str
    width: int
    height: int
    duration_ms: int | None
    frames: int | None
    taken_at: datetime | None
    taken_offset: int | None
    date_source: str
    effective_at: datetime
    added_at: datetime
    title: str | None
    note: str | None
    rating: int
    favourite: bool
    private: bool
    turn: int
    dominant: int | None
    state: str
    flags: Sequence[str]
    notes: Sequence[str]
    facts: dict[str, Any]
    missing_since: datetime | None
    own_date: dict[str, Any] | None
    """What the file says, where a person said otherwise."""
    visible: bool
    """Whether viewers may see it: on the timeline, or within what stands there."""

    @property
    def position(self) -> Position:
        """Its place in the timeline."""
        return Position(self.effective_at, self.id)


class FileView(msgspec.Struct, frozen=True):
    """One place where the bytes lie; `root` is None for a file that we keep."""

    root_id: int | None
    root: bytes | None
    root_status: str | None
    path: bytes
    size: int
    mtime_ns: int
    added_at: datetime


class RenditionView(msgspec.Struct, frozen=True):
    """State of one derived picture."""

    name: str
    status: str
    version: int
    width: int | None
    height: int | None
    bytes: int | None
    reason: str | None
    detail: str | None


class Origin(msgspec.Struct, frozen=True):
    """One way by which the bytes came in."""

    how: str
    root: bytes | None
    path: bytes | None
    batch_id: int | None
    seen_at: datetime


class Neighbours(msgspec.Struct, frozen=True):
    """The assets beside one in the timeline."""

    newer: int | None
    older: int | None


_ASSET = f"""
SELECT id, kind, sha256, size, mime, width, height, duration_ms, frames, taken_at, taken_offset, date_source,
       effective_at, added_at, title, note, rating, favourite, private, turn, dominant, state, flags, notes,
       facts, missing_since, own_date, {SEEN} AS visible
FROM asset a WHERE id = $1
"""
_FILES = """
SELECT f.root_id, r.path AS root, r.status AS root_status, f.path, f.size, f.mtime_ns, f.added_at
FROM asset_file f LEFT JOIN root r ON r.id = f.root_id WHERE f.asset_id = $1 ORDER BY f.id LIMIT 50
"""
_RENDITIONS = """
SELECT name, status, version, width, height, bytes, reason, detail
FROM rendition WHERE asset_id = $1 ORDER BY name
"""
_ORIGINS = """
SELECT p.how, r.path AS root, p.path, p.batch_id, p.seen_at
FROM provenance p LEFT JOIN root r ON r.id = p.root_id WHERE p.asset_id = $1 ORDER BY p.id LIMIT 50
"""
_NEIGHBOURS = f"""
SELECT (SELECT id FROM asset WHERE {VISIBLE} AND (effective_at, id) > ($1, $2)
        ORDER BY effective_at, id LIMIT 1) AS newer,
       (SELECT id FROM asset WHERE {VISIBLE} AND (effective_at, id) < ($1, $2)
        ORDER BY effective_at DESC, id DESC LIMIT 1) AS older
"""


def _json(value: Any, otherwise: Any) -> Any:
    # The raw face hands jsonb over as text.
    return json.loads(value) if isinstance(value, str) else value if value is not None else otherwise


async def asset(sql: Connection[Any], asset_id: int) -> AssetView:
    """One asset in any state."""
    row = await sql.fetchrow(_ASSET, asset_id)
    if row is None:
        raise NotFound("There is no such picture", "It may have been deleted for good.")
    values = dict(row)
    values |= {
        "flags": _json(row["flags"], []),
        "notes": _json(row["notes"], []),
        "facts": _json(row["facts"], {}),
        "own_date": _json(row["own_date"], None),
    }
    return AssetView(**values)


async def files(sql: Connection[Any], asset_id: int) -> list[FileView]:
    """Where its bytes lie."""
    return [FileView(*row) for row in await sql.fetch(_FILES, asset_id)]


async def renditions(sql: Connection[Any], asset_id: int) -> dict[str, RenditionView]:
    """Its derived pictures by name."""
    return {row["name"]: RenditionView(*row) for row in await sql.fetch(_RENDITIONS, asset_id)}


async def origins(sql: Connection[Any], asset_id: int) -> list[Origin]:
    """How its bytes came in."""
    return [Origin(*row) for row in await sql.fetch(_ORIGINS, asset_id)]


class Pictured(msgspec.Struct, frozen=True):
    """What a viewer shows of one asset among others."""

    id: int
    kind: str
    mime: str
    width: int
    height: int
    turn: int
    title: str | None
    effective_at: datetime
    facts: dict[str, Any]
    preview: str | None
    preview_version: int
    reason: str | None
    grid: str | None
    """Name of the best small picture that is there."""
    grid_version: int


_PICTURED = """
SELECT a.id, a.kind, a.mime, a.width, a.height, a.turn, a.title, a.effective_at,
       CASE WHEN a.kind = 'video' THEN a.facts END AS facts, p.status AS preview,
       coalesce(p.version, 1) AS preview_version, p.reason, g.name AS grid,
       coalesce(g.version, 1) AS grid_version
FROM asset a
LEFT JOIN rendition p ON p.asset_id = a.id AND p.name = 'preview'
LEFT JOIN LATERAL (
    SELECT name, version FROM rendition r
    WHERE r.asset_id = a.id AND r.name IN ('grid-240', 'grid-480') AND r.status = 'complete'
    ORDER BY r.name DESC LIMIT 1
) g ON true
WHERE a.id = ANY($1::bigint[])
"""


async def pictured(sql: Connection[Any], ids: Sequence[int]) -> dict[int, Pictured]:
    """Facts for showing several assets, by id."""
    rows = await sql.fetch(_PICTURED, list(ids))
    return {r["id"]: Pictured(**{**r, "facts": _json(r["facts"], {})}) for r in rows}


async def neighbours(sql: Connection[Any], place: Position) -> Neighbours:
    """What stands beside a place in the timeline."""
    row = await sql.fetchrow(_NEIGHBOURS, place.effective_at, place.id)
    assert row is not None  # noqa: S101 - a query without FROM answers one row
    return Neighbours(row["newer"], row["older"])


class Sendable(msgspec.Struct, frozen=True):
    """What serving the pictures and the original of an asset needs; small enough to be remembered."""

    sha256: bytes
    kind: str
    mime: str
    size: int
    turn: int
    visible: bool
    """Whether viewers may see it: on the timeline, or within what stands there."""
    pictures: dict[str, int]
    """Version of each derived picture that is there."""


async def sendable(sql: Connection[Any], asset_ids: Sequence[int]) -> dict[int, Sendable]:
    """Facts for serving, of each asset that exists, in one statement."""
    rows = await sql.fetch(
        f"""
        SELECT a.id, a.sha256, a.kind, a.mime, a.size, a.turn, {SEEN} AS visible,
               (SELECT json_object_agg(r.name, r.version) FROM rendition r
                WHERE r.asset_id = a.id AND r.status = 'complete') AS pictures
        FROM asset a WHERE a.id = ANY($1::bigint[])
        """,
        asset_ids,
    )
    return {
        row["id"]: Sendable(
            row["sha256"],
            row["kind"],
            row["mime"],
            row["size"],
            row["turn"],
            row["visible"],
            _json(row["pictures"], {}),
        )
        for row in rows
    }


async def rendition_status(sql: Connection[Any], asset_id: int, name: str) -> RenditionView | None:
    """State of one derived picture."""
    row = await sql.fetchrow(
        "SELECT name, status, version, width, height, bytes, reason, detail FROM rendition "
        "WHERE asset_id = $1 AND name = $2",
        asset_id,
        name,
    )
    return row and RenditionView(*row)
