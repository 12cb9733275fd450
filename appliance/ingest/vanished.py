"""What a whole walk did not meet: moved, missing, or too much at once to be believed.

Only a walk that reached its end judges, and nothing inside a folder that was closed to it. An asset without
any file left is missing (triggers of `asset_file` say since when) and keeps everything.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from appliance.core.db import Database
from appliance.ingest.recording import DISPLACED
from appliance.ingest.walking import LostWalk, Walking, inside
from appliance.media.reasons import Reason


if TYPE_CHECKING:
    from asyncpg import Connection


CHUNK = 5_000
CLOSED_AT_MOST = 1_000
"""Of a root with more closed folders than this nothing is judged at all."""
SEEN = frozenset(
    {
        Reason.EMPTY,
        Reason.TRUNCATED,
        Reason.CORRUPT,
        Reason.TOO_LARGE,
        Reason.UNSUPPORTED,
        Reason.NO_VIDEO_STREAM,
        Reason.NOT_MEDIA,
    }
)
"""What can only be said of content that is not what it was when it became an asset."""
FEW, SHARE = 10, 10
"""So many assets may go at once, or this part of a hundred of what the root holds, if that is more."""


class Verdict(enum.StrEnum):
    """What became of the files that were not met."""

    JUDGED = "judged"
    HELD = "held"


async def judge(database: Database, walking: Walking) -> Verdict:
    """Judge what the walk did not meet, in chunks; hold the root instead when too much is gone at once."""
    async with database.unit_of_work() as uow:
        gone = await _gone(uow.sql, walking)
        held = await _hold(uow.sql, walking, [r["id"] for r in gone if not r["confirmed"]])
    if held:
        return Verdict.HELD
    ids = [r["id"] for r in gone]
    for at in range(0, len(ids), CHUNK):
        await settle(database, walking, ids[at : at + CHUNK])
    return Verdict.JUDGED


# Entries whose file is an asset's; sources of copies and moves are nobody's. What is in hand at this moment
# ends by itself first. What a confirmed scan had missed too is not weighed again. A broken file whose path
# held an asset is that asset's as well.
_GONE = """
WITH passed AS MATERIALIZED (
    SELECT e.id, e.path, e.asset_id, e.seen_batch, e.outcome FROM root_entry e
    WHERE e.root_id = $1 AND e.seen_batch <> $2 AND e.asset_id IS NOT NULL AND e.outcome <> 'missing'
        AND e.path >= $3 AND e.path < $4
        AND NOT EXISTS (SELECT FROM unnest($5::bytea[], $6::bytea[]) AS closed(low, high)
                        WHERE e.path >= low AND e.path < high)
), finding AS (
    SELECT f.id, f.under FROM import_batch b JOIN import_batch f ON f.id = b.confirms WHERE b.id = $2
)
SELECT p.id, coalesce(p.seen_batch < finding.id AND (finding.under = ''::bytea
           OR substr(p.path, 1, length(finding.under) + 1) = finding.under || '/'::bytea), false) AS confirmed
FROM passed p LEFT JOIN asset_file f ON f.root_id = $1 AND f.path = p.path LEFT JOIN finding ON true
WHERE (f.id IS NOT NULL OR p.outcome = 'failed') AND NOT EXISTS (
    SELECT FROM import_task t WHERE t.entry_id = p.id AND t.status IN ('pending', 'processing'))
ORDER BY p.asset_id, p.id
"""
_CLOSED = """
SELECT path FROM root_entry WHERE root_id = $1 AND seen_batch = $2 AND outcome = 'failed'
    AND reason = 'unreadable' AND inode = 0 AND mtime_ns = 0 AND size = 0 LIMIT $3
"""


async def closed(sql: Connection[Any], walking: Walking) -> list[tuple[bytes, bytes]] | None:
    """Bounds of the folders that this walk could not read; None where they are too many to judge anything."""
    rows = await sql.fetch(_CLOSED, walking.root_id, walking.batch_id, CLOSED_AT_MOST + 1)
    if len(rows) > CLOSED_AT_MOST:
        return None
    return [inside(b"" if r["path"] == b"." else r["path"]) for r in rows]


async def _gone(sql: Connection[Any], walking: Walking) -> list[Any]:
    shut = await closed(sql, walking)
    if shut is None:
        return []
    lows, highs = [c[0] for c in shut], [c[1] for c in shut]
    found: list[Any] = await sql.fetch(_GONE, walking.root_id, walking.batch_id, *walking.span, lows, highs)
    return found


async def spoilt(sql: Connection[Any], entry_id: int) -> None:
    """Note that what a path held lies there no more; the path stays its own, for the next save.

    A program that is killed while it saves, or a disk that is full, leaves such a file for a while.
    """
    await sql.execute(
        "DELETE FROM asset_file f USING root_entry e WHERE e.id = $1 AND f.root_id = e.root_id"
        " AND f.path = e.path",
        entry_id,
    )


async def written_over(sql: Connection[Any], entry_id: int) -> None:
    """Note that a path holds something else by now, which is no asset: what it held lies there no more."""
    await sql.execute(
        "WITH entry AS (UPDATE root_entry SET asset_id = NULL WHERE id = $1 AND asset_id IS NOT NULL"
        " RETURNING root_id, path)"
        " DELETE FROM asset_file f USING entry e WHERE f.root_id = e.root_id AND f.path = e.path",
        entry_id,
    )


async def last_seen(sql: Connection[Any], asset_id: int) -> list[bytes]:
    """Where the files of a missing asset were."""
    rows = await sql.fetch(
        "SELECT r.path || '/'::bytea || e.path AS place FROM root_entry e JOIN root r ON r.id = e.root_id"
        " WHERE e.asset_id = $1 AND e.outcome IN ('missing', 'failed') ORDER BY e.changed_at DESC LIMIT 3",
        asset_id,
    )
    return [r["place"] for r in rows]


_FILES = """
SELECT e.id FROM root_entry e LEFT JOIN asset_file f ON f.root_id = e.root_id AND f.path = e.path
WHERE e.id = ANY($1::bigint[]) AND e.asset_id IS NOT NULL
  AND (f.id IS NOT NULL OR e.outcome = 'failed') AND NOT EXISTS (
    SELECT FROM import_task t WHERE t.entry_id = e.id AND t.status IN ('pending', 'processing'))
ORDER BY e.asset_id, e.id
"""


async def files_of_assets(sql: Connection[Any], entries: list[int]) -> list[int]:
    """Those of some entries that are files of assets and not in hand at this moment."""
    return [r["id"] for r in await sql.fetch(_FILES, entries)]


_LOST = """
WITH gone AS MATERIALIZED (
    SELECT root_id, path, f.asset_id FROM root_entry e JOIN asset_file f USING (root_id, path)
    WHERE e.id = ANY($1::bigint[])
)
SELECT count(*) FROM (SELECT DISTINCT asset_id FROM gone) a WHERE NOT EXISTS (
    SELECT FROM asset_file f WHERE f.asset_id = a.asset_id
        AND NOT EXISTS (SELECT FROM gone g WHERE g.root_id = f.root_id AND g.path = f.path))
"""


async def lost(sql: Connection[Any], entries: list[int]) -> int:
    """How many assets have no other file than those of these entries."""
    found: int = await sql.fetchval(_LOST, entries)
    return found


async def too_many(sql: Connection[Any], root_id: int, entries: list[int]) -> tuple[int, int] | None:
    """How many assets would be missing of how many files, where that is too much at once to be believed."""
    if len(entries) <= FEW:
        return None
    gone = await lost(sql, entries)
    known = await sql.fetchval("SELECT count(*) FROM asset_file WHERE root_id = $1", root_id)
    return (gone, known) if gone > max(FEW, known * SHARE // 100) else None


async def _hold(sql: Connection[Any], walking: Walking, entries: list[int]) -> bool:
    found = await too_many(sql, walking.root_id, entries)
    if found is None and walking.under:
        # A look at a part does not answer what was asked about the whole.
        return False
    gone, known = found or (0, 0)
    await sql.execute(
        "UPDATE root SET held_batch = CASE WHEN $3 > 0 THEN $2::bigint END, held_gone = $3, held_known = $4"
        " WHERE id = $1 AND status <> 'retired'",
        walking.root_id,
        walking.batch_id,
        gone,
        known,
    )
    return found is not None


# A known file that this batch found under another name is paired with one that is gone: it has moved. What
# was known of a broken file says nothing about the asset, and is not believed of what is met there again.
_SETTLE = f"""
WITH fence AS (
    SELECT id, queued_at FROM import_batch WHERE id = $2 AND claim = $3 AND status = 'walking' FOR UPDATE
), gone AS MATERIALIZED (
    SELECT e.id, e.root_id, e.path, e.asset_id, row_number() OVER (PARTITION BY e.asset_id ORDER BY e.id) AS n
    FROM root_entry e JOIN fence ON true WHERE e.id = ANY($1::bigint[]) AND e.asset_id IS NOT NULL
), fresh AS (
    SELECT e.id, e.asset_id, row_number() OVER (PARTITION BY e.asset_id ORDER BY e.id) AS n
    FROM root_entry e JOIN fence ON e.seen_batch = fence.id AND e.changed_at >= fence.queued_at
    WHERE e.asset_id = ANY(ARRAY(SELECT asset_id FROM gone)) AND e.outcome = 'duplicate'
), moved AS MATERIALIZED (
    SELECT gone.id AS old, fresh.id AS new FROM gone JOIN fresh USING (asset_id, n)
), here AS (
    UPDATE root_entry e SET outcome = 'imported' FROM moved WHERE e.id = moved.new
), told AS (
    UPDATE import_task t SET outcome = 'moved' FROM moved
    WHERE t.entry_id = moved.new AND t.batch_id = $2 AND t.outcome = 'duplicate'
), forgotten AS (
    DELETE FROM root_entry e USING moved WHERE e.id = moved.old
), noted AS (
    UPDATE root_entry e SET outcome = 'missing', reason = NULL, detail = NULL, changed_at = now(),
           inode = CASE e.outcome WHEN 'failed' THEN {DISPLACED} ELSE e.inode END
    FROM gone WHERE e.id = gone.id AND NOT EXISTS (SELECT FROM moved m WHERE m.old = gone.id)
    RETURNING 1
), unplaced AS (
    DELETE FROM asset_file f USING gone WHERE f.root_id = gone.root_id AND f.path = gone.path
), counted AS (
    UPDATE import_batch b
    SET moved = b.moved + c.moved, duplicate = b.duplicate - c.moved, missing = b.missing + c.missing
    FROM (SELECT (SELECT count(*) FROM moved) AS moved, (SELECT count(*) FROM noted) AS missing) c
    WHERE b.id = $2
)
SELECT count(*) FROM fence
"""


async def settle(database: Database, walking: Walking, entries: list[int]) -> None:
    """Note that these files are not there any more: each has moved or is missing."""
    async with database.unit_of_work() as uow:
        ours = await uow.sql.fetchval(_SETTLE, entries, walking.batch_id, walking.claim)
    if not ours:
        raise LostWalk("The scan was taken over")
