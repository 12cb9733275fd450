"""Following a walk: what it tells is written down in time, and the root is judged by what it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from appliance.core import clock
from appliance.core.db import Database
from appliance.ingest import identity, looking, services, telling
from appliance.ingest.recording import record_files
from appliance.ingest.walking import LostWalk, RootUnavailable, WalkBroke, Walking, load


if TYPE_CHECKING:
    from asyncpg import Connection


__all__ = ["LostWalk", "RootUnavailable", "WalkBroke", "Walking", "follow", "load"]

TELL_S = 0.5
LONGEST = 30_000
"""So many bytes of names fit into the arguments of a child."""
PATIENCE = 10
"""As often a walk may break off before its batch ends with an error."""


async def records(stream: asyncio.StreamReader) -> AsyncIterator[telling.Record]:
    """Read the child's framed records until it says that it is done."""
    while True:
        try:
            head = await stream.readexactly(telling.LENGTH.size)
            body = await stream.readexactly(telling.LENGTH.unpack(head)[0])
        except asyncio.IncompleteReadError:
            raise WalkBroke("The walk of the folder broke off again and again") from None
        record = telling.decode(body)
        if isinstance(record, telling.End):
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
        if isinstance(record, telling.Unavailable):
            raise RootUnavailable(walking.root, record.cause)
        if isinstance(record, telling.Top):
            await recognise(database, walking, record)
        notes.add(record)
        if notes.due:
            await _write_down(database, walking, notes)
        if stop():
            return False
    await _write_down(database, walking, notes)
    return True


_ANY_KNOWN = """
SELECT EXISTS (SELECT FROM root_entry WHERE root_id = $1 AND asset_id IS NOT NULL
                   AND outcome IN ('imported', 'duplicate'))
"""
# Spread over all of it by a hash of the id: a folder that is gone must not speak for the others.
_SAMPLE = """
SELECT e.path, f.size FROM root_entry e JOIN asset_file f ON f.root_id = e.root_id AND f.path = e.path
WHERE e.root_id = $1 AND e.asset_id IS NOT NULL AND e.outcome IN ('imported', 'duplicate')
ORDER BY hashint8(e.id) LIMIT 20
"""


async def knows(sql: Connection[Any], root_id: int) -> bool:
    """Whether assets were found under a root."""
    known: bool = await sql.fetchval(_ANY_KNOWN, root_id)
    return known


async def set_aside(database: Database, root_id: int, root: bytes) -> bool:
    """Mark a root that is away at this moment; False where it is there."""
    cause = (await looking.away([root])).get(root, "")
    async with database.unit_of_work() as uow:
        # A folder of which nothing was known may as well have lost its last file.
        if not cause or (cause == identity.EMPTY and not await knows(uow.sql, root_id)):
            return False
        await services.mark_unavailable(uow.sql, root_id, cause)
    return True


async def recognise(database: Database, walking: Walking, top: telling.Top) -> None:
    """Refuse a root that is empty or another disk; the same library on a new disk is taken as it is."""
    async with database.unit_of_work() as uow:
        known = await knows(uow.sql, walking.root_id)
    if top.empty and known and walking.in_place:
        raise RootUnavailable(walking.root, identity.EMPTY)
    changed = walking.known_as is not None and top.identity != walking.known_as
    if changed and walking.in_place and not await _same_library(database, walking):
        raise RootUnavailable(walking.root, identity.OTHER)
    walking.identity = top.identity
    # A new disk numbers its files anew: what an inode said before is not to be believed once.
    walking.knows_inodes = top.steady and walking.in_place and walking.known_as == top.identity


async def _same_library(database: Database, walking: Walking) -> bool:
    async with database.unit_of_work() as uow:
        rows = await uow.sql.fetch(_SAMPLE, walking.root_id)
    sample = [(r["path"], r["size"]) for r in rows]
    while sum(len(path) for path, _ in sample) > LONGEST:
        sample.pop()
    return await looking.recognised(walking.root, sample)


class Notes:
    """What a walk told and no row says yet: one transaction serves many small folders."""

    def __init__(self) -> None:
        self.seen: list[telling.Seen] = []
        self.finished: list[telling.Finished] = []
        self._written = 0.0

    def add(self, record: telling.Record) -> None:
        """Take a record in; the order of files and ends of folders stays."""
        if isinstance(record, telling.Files):
            self.seen += record.seen
        elif isinstance(record, telling.Finished):
            self.finished.append(record)

    @property
    def due(self) -> bool:
        """True for a full chunk, and often enough for someone who watches."""
        full = len(self.seen) >= telling.CHUNK or len(self.finished) >= telling.CHUNK
        return full or clock.monotonic() - self._written >= TELL_S

    def clear(self) -> None:
        """Everything is written."""
        self.seen, self.finished, self._written = [], [], clock.monotonic()


async def _write_down(database: Database, walking: Walking, notes: Notes) -> None:
    async with database.unit_of_work() as uow:
        if notes.seen:
            await record_files(uow, walking, notes.seen)
        if notes.finished:
            await remember_folders(uow.sql, walking, notes.finished)
            await _advance(uow.sql, walking, notes.finished[-1].directory)
    notes.clear()


async def remember_folders(sql: Connection[Any], walking: Walking, finished: list[telling.Finished]) -> None:
    """Note when the names in folders were read, so that only changed ones are read again."""
    last = {f.directory: f.mtime_ns for f in finished}
    await sql.execute(
        "INSERT INTO root_folder (root_id, path, mtime_ns, seen_batch)"
        " SELECT $1, path, mtime_ns, $2 FROM unnest($3::bytea[], $4::bigint[]) AS t(path, mtime_ns)"
        " ON CONFLICT (root_id, path) DO UPDATE SET mtime_ns = excluded.mtime_ns, seen_batch = $2",
        walking.root_id,
        walking.batch_id,
        list(last),
        list(last.values()),
    )


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


async def mark_away(sql: Connection[Any], walking: Walking, reason: str) -> None:
    """Note that the root cannot be read, unless a person says by now that it is another disk."""
    ours = await sql.fetchval(
        "SELECT identity IS NOT DISTINCT FROM $2 FROM root WHERE id = $1 FOR NO KEY UPDATE",
        walking.root_id,
        walking.known_as,
    )
    if ours:
        await services.mark_unavailable(sql, walking.root_id, reason)


async def mark_read(sql: Connection[Any], walking: Walking) -> None:
    """Note that the root was read to its end, and what it was; one that was taken out meanwhile stays out."""
    ours = await sql.fetchval(
        "UPDATE root SET status = 'ready', reason = NULL, scanned_at = now(), identity = $2"
        " WHERE id = $1 AND status <> 'retired' RETURNING id",
        walking.root_id,
        walking.identity,
    )
    if ours is None:
        raise LostWalk("The folder was taken out of the library")
