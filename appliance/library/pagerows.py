"""The rows that a chunk of pages becomes: an asset for what is new, a link for every one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core.jsontext import json_text
from appliance.media.hops import Hop
from appliance.media.reasons import Reason
from appliance.media.wire import Decoded, Read


if TYPE_CHECKING:
    from asyncpg import Connection


class Page(msgspec.Struct):
    """One page on its way; `failure` is why it cannot be an asset."""

    position: int
    hops: Sequence[Hop]
    read: Read | None = None
    decoded: Decoded | None = None
    failure: tuple[Reason, str] | None = None


# The same bytes twice in one chunk are one asset; what another hand wrote meanwhile is linked below.
_ASSETS = """
WITH given AS (
    SELECT DISTINCT ON (g.sha256, g.size) g.* FROM unnest(
        $2::bytea[], $3::bigint[], $4::text[], $5::text[], $6::int[], $7::int[], $8::bigint[], $9::int[],
        $10::timestamp[], $11::smallint[], $12::smallint[], $13::text[], $14::text[], $15::text[],
        $16::text[])
    AS g(sha256, size, kind, mime, width, height, duration_ms, frames, taken_at, taken_offset, dominant,
         flags, notes, facts, pictures)
), made AS (
    INSERT INTO asset (kind, sha256, size, mime, width, height, duration_ms, frames, taken_at, taken_offset,
                       date_source, effective_at, dominant, flags, notes, facts, state)
    SELECT g.kind, g.sha256, g.size, g.mime, g.width, g.height, g.duration_ms, g.frames, g.taken_at,
           g.taken_offset, v.date_source, v.effective_at, g.dominant, g.flags::jsonb, g.notes::jsonb,
           g.facts::jsonb, 'inside'
    FROM given g, asset v WHERE v.id = $1
      AND NOT EXISTS (SELECT FROM tombstone t WHERE t.sha256 = g.sha256 AND t.size = g.size)
    ON CONFLICT (sha256, size) DO NOTHING
    RETURNING id, sha256, size
)
INSERT INTO rendition (asset_id, name, status, width, height, bytes, reason, detail, finished_at)
SELECT made.id, p.name, p.status, p.width, p.height, p.bytes, p.reason, p.detail,
       CASE WHEN p.status = 'pending' THEN NULL ELSE now() END
FROM made JOIN given g USING (sha256, size), jsonb_to_recordset(g.pictures::jsonb)
    AS p(name text, status text, width int, height int, bytes bigint, reason text, detail text)
"""
# Without an asset a page was deleted for good, or its asset went while this one was read: then it is made
# at the next look.
_LINKS = """
UPDATE volume_page p SET reason = g.reason, detail = g.detail, asset_id = a.id, status =
    CASE WHEN g.status = 'complete' AND a.id IS NULL AND NOT EXISTS (
        SELECT FROM tombstone t WHERE t.sha256 = g.sha256 AND t.size = g.size) THEN 'pending'
    ELSE g.status END
FROM unnest($2::int[], $3::text[], $4::bytea[], $5::bigint[], $6::text[], $7::text[])
    AS g(position, status, sha256, size, reason, detail)
LEFT JOIN asset a ON a.sha256 = g.sha256 AND a.size = g.size
WHERE p.volume_id = $1 AND p.position = g.position
"""


async def write(sql: Connection[Any], volume_id: int, chunk: list[Page]) -> None:
    """Write what became of a chunk of a volume's pages."""
    await sql.execute(_ASSETS, volume_id, *_assets(chunk))
    await sql.execute(_LINKS, volume_id, *_links(chunk))


def _assets(chunk: list[Page]) -> list[list[Any]]:
    rows = [_asset(page.read, page.decoded) for page in chunk if page.read and page.decoded]
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(15)]


def _asset(read: Read, decoded: Decoded) -> tuple[Any, ...]:
    milliseconds = None if decoded.duration_s is None else round(decoded.duration_s * 1000)
    return (
        read.sha256, read.size, decoded.kind, decoded.mime, decoded.width, decoded.height, milliseconds,
        decoded.frames, decoded.taken_at, decoded.taken_offset, decoded.dominant, json_text(decoded.flags),
        json_text(decoded.notes), json_text(decoded.facts), json_text(_pictures(decoded)),
    )  # fmt: skip


def _pictures(decoded: Decoded) -> list[dict[str, Any]]:
    drawn = [
        {"name": m.name, "status": "complete", "width": m.width, "height": m.height, "bytes": m.bytes}
        for m in decoded.renditions
    ]
    failed = [
        {"name": name, "status": "failed", "reason": str(reason), "detail": detail}
        for name, reason, detail in decoded.rendition_errors
    ]
    return [*drawn, *failed, {"name": "preview", "status": "pending"}]


def _links(chunk: list[Page]) -> list[list[Any]]:
    rows = [_link(page) for page in chunk]
    return [list(column) for column in zip(*rows, strict=True)]


def _link(page: Page) -> tuple[Any, ...]:
    if page.failure is not None or page.read is None:
        reason, detail = page.failure or (Reason.UNEXPECTED, "")
        return (page.position, "failed", None, None, str(reason), detail.replace("\0", "")[:500])
    return (page.position, "complete", page.read.sha256, page.read.size, None, None)
