"""The ends of an import task: each is one fenced statement that moves everything together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from appliance.core.drains import Claimed
from appliance.core.jsontext import json_text
from appliance.ingest.claims import Waiting
from appliance.library.models import DateSource
from appliance.media import dates
from appliance.media.wire import Decoded, Read


if TYPE_CHECKING:
    from asyncpg import Connection


SOURCE_STAYED = "stored, but the source stayed"
"""Begins the detail of an entry whose file should have been moved."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Where the bytes of an asset lie: under a root, or among our originals (`root_id` None)."""

    root_id: int | None
    path: bytes
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Dated:
    """The moment an asset is sorted by and where it was found; wall time without a zone."""

    taken_at: datetime | None
    offset: int | None
    source: DateSource
    effective_at: datetime


def date(decoded: Decoded, path: bytes, mtime_ns: int | None, zone: ZoneInfo) -> Dated:
    """The chain of sources: the file's own date, its name, its modification, this moment."""
    if decoded.taken_at is not None:
        source = DateSource(decoded.date_source or DateSource.EXIF)
        return Dated(decoded.taken_at, decoded.taken_offset, source, decoded.taken_at)
    return date_around(path, mtime_ns, zone)


def date_around(path: bytes, mtime_ns: int | None, zone: ZoneInfo) -> Dated:
    """The date of a file that says none itself."""
    now = datetime.now(zone).replace(tzinfo=None)
    named = dates.from_name(path)
    if named is not None:
        return Dated(named, None, DateSource.NAME, named)
    modified = None if mtime_ns is None else _wall(mtime_ns, zone)
    # A clock that ran ahead must not pin a file to the top of the gallery.
    if modified is not None and modified <= now + timedelta(days=1):
        return Dated(None, None, DateSource.MTIME, modified)
    return Dated(None, None, DateSource.IMPORT, now)


def _wall(mtime_ns: int, zone: ZoneInfo) -> datetime | None:
    try:
        return datetime.fromtimestamp(mtime_ns / 1e9, UTC).astimezone(zone).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        return None


@dataclass(frozen=True, slots=True)
class Known:
    """The asset with the same bytes, and what this file is to it."""

    asset_id: int
    outcome: str
    """`unchanged` where this path was known to hold it, `moved` or `returned` where it was missing."""


class TakenOver(Exception):
    """The task was settled and given to someone else: this hand must change nothing."""


async def known(sql: Connection[Any], claimed: Claimed, read: Read) -> Known | None:
    """Find the asset that has these bytes already; one statement that writes nothing."""
    row = await sql.fetchrow(_KNOWN, claimed.id, claimed.claim, read.sha256, read.size)
    if row is None:
        raise TakenOver
    return None if row["asset_id"] is None else Known(row["asset_id"], row["outcome"])


# What this very scan found to be gone, and then under another name, has moved.
_KNOWN = """
SELECT a.id AS asset_id, CASE
    WHEN a.missing_since IS NOT NULL AND EXISTS (
        SELECT FROM root_entry o JOIN import_batch b ON b.id = t.batch_id
        WHERE o.asset_id = a.id AND o.root_id = t.root_id AND o.outcome = 'missing'
            AND o.changed_at >= b.queued_at) THEN 'moved'
    WHEN a.missing_since IS NOT NULL THEN 'returned'
    WHEN e.asset_id = a.id THEN 'unchanged'
    ELSE 'duplicate' END AS outcome
FROM import_task t JOIN root_entry e ON e.id = t.entry_id LEFT JOIN asset a ON a.sha256 = $3 AND a.size = $4
WHERE t.id = $1 AND t.claim = $2 AND t.status = 'processing'
"""


FENCE = """
fence AS (
    UPDATE import_task SET status = $3, outcome = $4, reason = $5, detail = $6, milliseconds = $7,
           finished_at = now(), claim = NULL
    WHERE id = $1 AND claim = $2 AND status = 'processing'
    RETURNING batch_id, root_id, entry_id
)"""

_IMPORTED = f"""
WITH {FENCE}, made AS (
    INSERT INTO asset (kind, sha256, size, mime, width, height, duration_ms, frames, taken_at, taken_offset,
                       date_source, effective_at, dominant, flags, notes, facts)
    SELECT $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23 FROM fence
    ON CONFLICT (sha256, size) DO NOTHING
    RETURNING id
), placed AS (
    INSERT INTO asset_file (asset_id, root_id, path, size, mtime_ns)
    SELECT id, $24, $25, $10, $26 FROM made
    ON CONFLICT (root_id, path) DO UPDATE
        SET asset_id = excluded.asset_id, size = excluded.size, mtime_ns = excluded.mtime_ns
), pictured AS (
    INSERT INTO rendition (asset_id, name, status, width, height, bytes, reason, detail, finished_at)
    SELECT made.id, p.name, p.status, p.width, p.height, p.bytes, p.reason, p.detail,
           CASE WHEN p.status = 'pending' THEN NULL ELSE now() END
    FROM made, unnest($27::text[], $28::text[], $29::int[], $30::int[], $31::bigint[], $32::text[],
                      $33::text[]) AS p(name, status, width, height, bytes, reason, detail)
), traced AS (
    INSERT INTO provenance (asset_id, how, root_id, batch_id, path)
    SELECT made.id, $36::text, CASE $36::text WHEN 'folder' THEN fence.root_id END, fence.batch_id, $34
    FROM made, fence
), noted AS (
    UPDATE root_entry e SET outcome = 'imported', reason = NULL, detail = NULL, sha256 = $9, size = $10,
           mtime_ns = $35, asset_id = made.id, changed_at = now()
    FROM made, fence WHERE e.id = fence.entry_id
), counted AS (
    UPDATE import_batch b SET imported = b.imported + 1, hashed = b.hashed + 1, decoded = b.decoded + 1
    FROM fence, made WHERE b.id = fence.batch_id
)
SELECT (SELECT count(*) FROM fence) = 1 AS ours, (SELECT id FROM made) AS asset_id
"""


async def imported(
    sql: Connection[Any],
    claimed: Claimed,
    read: Read,
    decoded: Decoded,
    *,
    stored: Stored,
    zone: ZoneInfo,
    milliseconds: int,
) -> int | None:
    """Make the asset; None when nothing was made.

    Nothing is made when the same bytes came in at the same moment through another task: the caller
    undoes this transaction and ends as a duplicate.
    """
    waiting: Waiting = claimed.row
    dated = date(decoded, waiting.named, waiting.modified_ns(read.mtime_ns), zone)
    row = await sql.fetchrow(
        _IMPORTED,
        claimed.id, claimed.claim, "complete", "imported", None, None, milliseconds,
        decoded.kind, read.sha256, read.size, decoded.mime, decoded.width, decoded.height,
        None if decoded.duration_s is None else round(decoded.duration_s * 1000), decoded.frames,
        dated.taken_at, dated.offset, str(dated.source), dated.effective_at, decoded.dominant,
        json_text(decoded.flags), json_text(decoded.notes), json_text(decoded.facts),
        stored.root_id, stored.path, stored.mtime_ns,
        *pictures(decoded), waiting.named, read.mtime_ns, _how(waiting),
    )  # fmt: skip
    if row is None or not row["ours"]:
        raise TakenOver
    asset_id: int | None = row["asset_id"]
    return asset_id


def _how(waiting: Waiting) -> str:
    return "upload" if waiting.uploaded else "folder"


def pictures(decoded: Decoded) -> list[list[Any]]:
    """The columns of the renditions that an import leaves, and of the one that waits to be drawn."""
    rows: list[tuple[Any, ...]] = [
        (m.name, "complete", m.width, m.height, m.bytes, None, None) for m in decoded.renditions
    ]
    rows += [(n, "failed", None, None, None, str(r), d) for n, r, d in decoded.rendition_errors]
    rows.append(("preview", "pending", None, None, None, None, None))
    return [list(column) for column in zip(*rows, strict=True)]


_DUPLICATE = f"""
WITH {FENCE}, placed AS (
    INSERT INTO asset_file (asset_id, root_id, path, size, mtime_ns)
    SELECT $8, $9, $10, $11, $12 FROM fence
    ON CONFLICT (root_id, path) DO UPDATE
        SET asset_id = excluded.asset_id, size = excluded.size, mtime_ns = excluded.mtime_ns
), traced AS (
    INSERT INTO provenance (asset_id, how, root_id, batch_id, path)
    SELECT $8, $17::text, CASE $17::text WHEN 'folder' THEN root_id END, batch_id, $13 FROM fence
    WHERE NOT EXISTS (
        SELECT 1 FROM provenance p WHERE p.asset_id = $8 AND p.path = $13 AND p.how = $17::text
            AND p.root_id IS NOT DISTINCT FROM CASE $17::text WHEN 'folder' THEN fence.root_id END)
), noted AS (
    UPDATE root_entry e
    SET outcome = CASE WHEN $4 = 'duplicate' THEN 'duplicate' ELSE 'imported' END, reason = NULL,
           detail = NULL, sha256 = $14, size = $11, mtime_ns = $15, asset_id = $8, changed_at = now()
    FROM fence WHERE e.id = fence.entry_id
), counted AS (
    UPDATE import_batch b
    SET duplicate = b.duplicate + ($4 = 'duplicate')::int, unchanged = b.unchanged + ($4 = 'unchanged')::int,
        moved = b.moved + ($4 = 'moved')::int, missing = b.missing - ($4 = 'moved')::int,
        returned = b.returned + ($4 = 'returned')::int, hashed = b.hashed + 1, decoded = b.decoded + $16
    FROM fence WHERE b.id = fence.batch_id
)
SELECT count(*) = 1 FROM fence
"""


async def duplicate(
    sql: Connection[Any],
    claimed: Claimed,
    read: Read,
    known: Known,
    *,
    stored: Stored,
    decoded: bool,
) -> None:
    """Note that these bytes are an asset already, and that they lie here too."""
    waiting: Waiting = claimed.row
    ours: bool = await sql.fetchval(
        _DUPLICATE,
        claimed.id, claimed.claim, "complete", known.outcome, None, None, None,
        known.asset_id, stored.root_id, stored.path, read.size, stored.mtime_ns, waiting.named,
        read.sha256, read.mtime_ns, int(decoded), _how(waiting),
    )  # fmt: skip
    if not ours:
        raise TakenOver


_ENDED = f"""
WITH {FENCE}, noted AS (
    UPDATE root_entry e SET outcome = $4, reason = $5, detail = $6, changed_at = now()
    FROM fence WHERE e.id = fence.entry_id
), counted AS (
    UPDATE import_batch b
    SET failed = b.failed + ($4 = 'failed')::int, skipped = b.skipped + ($4 = 'skipped')::int,
        hashed = b.hashed + $8, decoded = b.decoded + $9
    FROM fence WHERE b.id = fence.batch_id
)
SELECT count(*) = 1 FROM fence
"""


async def ended(
    sql: Connection[Any],
    claimed: Claimed,
    reason: str,
    detail: str,
    *,
    skipped: bool = False,
    hashed: bool = False,
    decoded: bool = False,
) -> bool:
    """Fail or skip one file, with its class and what was seen; False when it is no longer ours."""
    outcome = "skipped" if skipped else "failed"
    ours: bool = await sql.fetchval(
        _ENDED,
        claimed.id, claimed.claim, outcome, outcome, str(reason), detail.replace("\0", "")[:500], None,
        int(hashed), int(decoded),
    )  # fmt: skip
    return ours
