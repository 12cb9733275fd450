"""Recording what a walk tells: one statement for a chunk, counters moved in the same transaction."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from appliance.core import clock, names
from appliance.core.db import Database, UnitOfWork
from appliance.core.errors import VitrineError
from appliance.ingest import walk
from appliance.ingest.facts import FilesFound


if TYPE_CHECKING:
    from asyncpg import Connection


TELL_S = 0.5
PATIENCE = 10
"""As often a walk may break off before its batch ends with an error."""


class RootUnavailable(VitrineError):
    """The root cannot be read: nothing under it was judged, nothing was changed."""


class LostWalk(VitrineError):
    """The walk was given to someone else in the meantime; this one changes nothing more."""


class WalkBroke(VitrineError):
    """The walking child ended before it said that it was done; the next one goes on behind it."""


@dataclass(frozen=True, slots=True)
class Walking:
    """A claimed batch."""

    batch_id: int
    claim: uuid.UUID
    root_id: int
    root: bytes
    under: bytes
    after: bytes | None


async def load(sql: Connection[Any], batch_id: int, claim: uuid.UUID) -> Walking:
    """Everything the walk needs."""
    row = await sql.fetchrow(
        "SELECT root_id, path, under, cursor FROM import_batch b JOIN root ON root.id = root_id"
        " WHERE b.id = $1 AND b.claim = $2",
        batch_id,
        claim,
    )
    if row is None:
        raise LostWalk("The scan was taken over")
    return Walking(batch_id, claim, *row)


async def records(stream: asyncio.StreamReader) -> AsyncIterator[walk.Record]:
    """Read the child's framed records until it says that it is done."""
    while True:
        try:
            head = await stream.readexactly(walk.LENGTH.size)
            body = await stream.readexactly(walk.LENGTH.unpack(head)[0])
        except asyncio.IncompleteReadError:
            raise WalkBroke("The walk of the folder broke off again and again") from None
        record = walk.decode(body)
        if isinstance(record, walk.End):
            return
        yield record


async def follow(
    database: Database,
    walking: Walking,
    stream: asyncio.StreamReader,
    *,
    stop: Callable[[], bool],
) -> bool:
    """Record a walk as it is told; False when it was asked to stop early (it can be resumed)."""
    notes = Notes()
    async for record in records(stream):
        if isinstance(record, walk.Unavailable):
            raise RootUnavailable(f"{names.display(walking.root)} cannot be read: {record.cause}")
        notes.add(record)
        if notes.due:
            await _write_down(database, walking, notes)
        if stop():
            return False
    await _write_down(database, walking, notes)
    return True


class Notes:
    """What a walk told and no row says yet: one transaction serves many small folders."""

    def __init__(self) -> None:
        self.seen: list[walk.Seen] = []
        self.finished: bytes | None = None
        self._written = 0.0

    def add(self, record: walk.Record) -> None:
        """Take a record in; the order of files and ends of folders stays."""
        if isinstance(record, walk.Files):
            self.seen += record.seen
        elif isinstance(record, walk.Finished):
            self.finished = record.directory

    @property
    def due(self) -> bool:
        """True for a full chunk, and often enough for someone who watches."""
        return len(self.seen) >= walk.CHUNK or clock.monotonic() - self._written >= TELL_S

    def clear(self) -> None:
        """Everything is written."""
        self.seen, self.finished, self._written = [], None, clock.monotonic()


async def _write_down(database: Database, walking: Walking, notes: Notes) -> None:
    async with database.unit_of_work() as uow:
        if notes.seen:
            await record_files(uow, walking, notes.seen)
        if notes.finished is not None:
            await _advance(uow.sql, walking, notes.finished)
    notes.clear()


async def record_files(uow: UnitOfWork, walking: Walking, seen: list[walk.Seen]) -> None:
    """Compare a chunk with what was known and queue what is new or changed.

    A path that this batch has met already (the walk was interrupted and goes on) counts once.
    """
    queued = await uow.sql.fetchval(
        _RECORD,
        walking.batch_id,
        walking.claim,
        walking.root_id,
        [s.path for s in seen],
        [s.size for s in seen],
        [s.mtime_ns for s in seen],
        [s.inode for s in seen],
        [s.verdict for s in seen],
    )
    if queued is None:
        raise LostWalk("The scan was taken over")
    if queued:
        uow.record(FilesFound())


# `met`: the chunk beside what the table knew. `same`: an unchanged path whose outcome stands.
# A path that still has a live task of an earlier batch is not queued twice (unique index) and counts
# as unchanged here, as does one that a person asked to try again just now. What a person told us to leave
# alone counts as passed over.
_RECORD = """
WITH fence AS (
    SELECT id, root_id FROM import_batch WHERE id = $1 AND claim = $2 AND status = 'walking' FOR UPDATE
), met AS (
    SELECT t.path, t.size, t.mtime_ns, t.inode, t.verdict, e.id AS entry_id, e.outcome,
           e.id IS NOT NULL AND e.size = t.size AND e.mtime_ns = t.mtime_ns
               AND e.outcome <> 'pending'
               AND (e.outcome IN ('skipped', 'failed') AND e.reason = t.verdict) = (t.verdict <> '') AS same
    FROM unnest($4::bytea[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[])
             AS t(path, size, mtime_ns, inode, verdict)
    JOIN fence ON true
    LEFT JOIN root_entry e ON e.root_id = $3 AND e.path = t.path
    WHERE e.seen_batch IS DISTINCT FROM $1
), kept AS (
    UPDATE root_entry e SET seen_batch = $1, inode = met.inode
    FROM met WHERE met.same AND e.id = met.entry_id
    RETURNING CASE WHEN e.ignored THEN 'skipped' ELSE e.outcome END AS outcome
), written AS (
    INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, outcome, reason, seen_batch)
    SELECT $3, path, size, mtime_ns, inode,
           CASE verdict WHEN '' THEN 'pending' WHEN 'unreadable' THEN 'failed' ELSE 'skipped' END,
           nullif(verdict, ''), $1
    FROM met WHERE NOT same
    ON CONFLICT (root_id, path) DO UPDATE
        SET size = excluded.size, mtime_ns = excluded.mtime_ns, inode = excluded.inode,
            outcome = excluded.outcome, reason = excluded.reason, detail = NULL, ignored = false,
            seen_batch = excluded.seen_batch, changed_at = now()
    RETURNING id, outcome
), queued AS (
    INSERT INTO import_task (batch_id, root_id, entry_id)
    SELECT $1, $3, id FROM written WHERE outcome = 'pending'
    ON CONFLICT (entry_id) WHERE status IN ('pending', 'processing') DO NOTHING
    RETURNING 1
), counted AS (
    SELECT (SELECT count(*) FROM met) AS files,
           (SELECT count(*) FROM kept WHERE outcome NOT IN ('failed', 'skipped'))
               + (SELECT count(*) FROM written WHERE outcome = 'pending') - (SELECT count(*) FROM queued)
               AS unchanged,
           (SELECT count(*) FROM kept WHERE outcome = 'failed')
               + (SELECT count(*) FROM written WHERE outcome = 'failed') AS failed,
           (SELECT count(*) FROM kept WHERE outcome = 'skipped')
               + (SELECT count(*) FROM written WHERE outcome = 'skipped') AS skipped
), moved AS (
    UPDATE import_batch b
    SET files = b.files + c.files, unchanged = b.unchanged + c.unchanged,
        failed = b.failed + c.failed, skipped = b.skipped + c.skipped
    FROM counted c WHERE b.id = $1
)
SELECT (SELECT count(*) FROM queued) FROM fence
"""


async def _advance(sql: Connection[Any], walking: Walking, directory: bytes) -> None:
    await sql.execute(
        "UPDATE import_batch SET cursor = $3 WHERE id = $1 AND claim = $2 AND status = 'walking'",
        walking.batch_id,
        walking.claim,
        directory,
    )


async def goes_on(sql: Connection[Any], walking: Walking) -> bool:
    """Count that the walk broke off; False when that was once too often, or it is no longer ours."""
    broken = await sql.fetchval(
        "UPDATE import_batch SET interruptions = interruptions + 1 WHERE id = $1 AND claim = $2"
        " RETURNING interruptions",
        walking.batch_id,
        walking.claim,
    )
    return broken is not None and broken < PATIENCE


async def mark_root(sql: Connection[Any], walking: Walking, status: str, reason: str | None) -> None:
    """Note on the root whether it could be read."""
    await sql.execute(
        "UPDATE root SET status = $2, reason = $3,"
        " scanned_at = CASE WHEN $2 = 'ready' THEN now() ELSE scanned_at END WHERE id = $1",
        walking.root_id,
        status,
        reason,
    )


_WITHIN = "(length($3::bytea) = 0 OR path = $3 OR substr(path, 1, length($3) + 1) = $3 || '/'::bytea)"


async def forget_reopened(sql: Connection[Any], walking: Walking) -> None:
    """Drop folders that could not be read before and could be now: a walk lists only closed ones."""
    await sql.execute(
        "DELETE FROM root_entry WHERE root_id = $1 AND outcome = 'failed' AND reason = 'unreadable'"
        f" AND inode = 0 AND mtime_ns = 0 AND size = 0 AND seen_batch <> $2 AND {_WITHIN}",
        walking.root_id,
        walking.batch_id,
        walking.under,
    )


async def forget_vanished(sql: Connection[Any], walking: Walking) -> None:
    """Drop failures whose file is no longer there: a failure is listed for as long as its cause lasts.

    A walk that met nothing at all says nothing: that is what a disk looks like that is not connected.
    """
    await sql.execute(
        "DELETE FROM root_entry WHERE root_id = $1 AND outcome = 'failed' AND asset_id IS NULL"
        f" AND seen_batch <> $2 AND {_WITHIN}"
        " AND EXISTS (SELECT 1 FROM import_batch b WHERE b.id = $2 AND b.files > 0)",
        walking.root_id,
        walking.batch_id,
        walking.under,
    )
