"""What a look at changed folders found: only the difference is written down, and only then is it a batch."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core.db import Database, UnitOfWork
from appliance.ingest import catching_up, forgetting, scanning, services, telling, vanished
from appliance.ingest.facts import FilesFound, ScanQueued
from appliance.ingest.models import Mode
from appliance.ingest.recording import record_files
from appliance.ingest.services import Place
from appliance.ingest.walking import LostWalk, RootUnavailable, Walking, inside


if TYPE_CHECKING:
    from asyncpg import Connection


class Watched(msgspec.Struct, frozen=True):
    """A root whose turn it is."""

    id: int
    path: bytes
    mode: str
    identity: str | None
    status: str

    @property
    def place(self) -> Place:
        """All of it."""
        return Place(self.id, self.path, Mode(self.mode), b"", new=False)


class ScanGoesOn(Exception):
    """A scan of the same root began meanwhile; it sees everything by itself."""


class Look:
    """One look at one root; it becomes a batch only when something is found."""

    def __init__(self, database: Database, root: Watched, worker_id: int) -> None:
        self.database = database
        self.root = root
        self.worker_id = worker_id
        self.walking = Walking(0, uuid.uuid4(), root.id, root.path, b"", None, root.mode, root.identity)
        self.seen: list[telling.Seen] = []
        self.vanished: set[int] = set()
        self.finished: list[telling.Finished] = []
        self.gone: list[bytes] = []
        self.found = 0

    async def follow(self, stream: asyncio.StreamReader) -> None:
        """Take in what the child tells, and judge at its end.

        However it ends early: what was not told is found by the next look, and what was begun by a scan.
        """
        try:
            await self._take_all(stream)
        except (ScanGoesOn, LostWalk):
            return
        except BaseException:
            # Also one that is out of time: a batch left as it is would bar every scan of this root.
            await asyncio.shield(self._leave_to_a_scan())
            raise

    async def _take_all(self, stream: asyncio.StreamReader) -> None:
        try:
            async for record in scanning.records(stream):
                await self._take(record)
            await self._conclude()
        except RootUnavailable as away:
            async with self.database.unit_of_work() as uow:
                await scanning.mark_away(uow.sql, self.walking, away.cause)
            await self._leave_to_a_scan()

    async def _take(self, record: telling.Record) -> None:
        match record:
            case telling.Unavailable(cause):
                raise RootUnavailable(self.walking.root, cause)
            case telling.Top():
                await scanning.recognise(self.database, self.walking, record)
            case telling.Files(seen):
                self.seen += seen
            case telling.Gone(directory):
                self.gone.append(directory)
                self.vanished |= await self._within(directory)
            case telling.Finished():
                await self._compare(record)

    async def _compare(self, folder: telling.Finished) -> None:
        """What a folder holds beside what was known of it."""
        told = [s.path for s in self.seen]
        if (folder.directory or b".") not in told:
            async with self.database.unit_of_work() as uow:
                left = await uow.sql.fetch(_LEFT, self.root.id, *inside(folder.directory), told)
            self.vanished |= {r["id"] for r in left}
        await self._record()
        self.finished.append(folder)

    async def _record(self) -> None:
        """Write down what is new or changed of the files that were told, and nothing of the others."""
        seen, self.seen = self.seen, []
        async with self.database.unit_of_work() as uow:
            rows = await uow.sql.fetch(
                _NEW,
                self.root.id,
                [s.path for s in seen],
                [s.size for s in seen],
                [s.mtime_ns for s in seen],
                [s.inode for s in seen],
                [s.verdict for s in seen],
            )
        new = {r["path"] for r in rows}
        fresh = [s for s in seen if s.path in new]
        for at in range(0, len(fresh), telling.CHUNK):
            async with self.database.unit_of_work() as uow:
                await self._begin(uow)
                await record_files(uow, self.walking, fresh[at : at + telling.CHUNK])
        self.found += len(fresh)

    async def _within(self, directory: bytes) -> set[int]:
        async with self.database.unit_of_work() as uow:
            rows = await uow.sql.fetch(_WITHIN, self.root.id, *inside(directory))
        return {r["id"] for r in rows}

    async def _begin(self, uow: UnitOfWork) -> None:
        """From here on it is a batch, as a scan is."""
        if self.walking.batch_id:
            return
        if not await services.hold_roots(uow.sql, [self.root.id]):
            raise LostWalk("The folder was taken out of the library")
        batch_id = await uow.sql.fetchval(
            _BEGIN, self.root.id, self.root.mode, self.walking.claim, self.worker_id
        )
        if batch_id is None:
            raise ScanGoesOn
        self.walking.batch_id = batch_id

    async def _conclude(self) -> None:
        await self._record()
        gone = sorted(self.vanished)
        async with self.database.unit_of_work() as uow:
            if not await services.hold_roots(uow.sql, [self.root.id]):
                raise LostWalk("The folder was taken out of the library")
            files = await vanished.files_of_assets(uow.sql, gone)
            sidecars = await catching_up.sidecars(uow.sql, gone)
            if await vanished.too_many(uow.sql, self.root.id, files):
                # A scan looks at everything, and asks a person.
                await self._end(uow)
                await services.queue_scan(uow, self.root.place)
                return
            if files or sidecars:
                await self._begin(uow)
            if gone:
                await uow.sql.execute(_FORGET, gone)
        for at in range(0, len(files), vanished.CHUNK):
            await vanished.settle(self.database, self.walking, files[at : at + vanished.CHUNK])
        if self.walking.batch_id:
            await catching_up.catch_up_with(self.database, self.walking, sidecars)
        self.found += len(files) + len(sidecars)
        async with self.database.unit_of_work() as uow:
            # Only now: a look that broke off before is made once more.
            await scanning.remember_folders(uow.sql, self.walking, self.finished)
            await uow.sql.execute(
                "DELETE FROM root_folder WHERE root_id = $1 AND path = ANY($2::bytea[])",
                self.root.id,
                self.gone,
            )
            await self._end(uow)

    async def _end(self, uow: UnitOfWork) -> None:
        if self.walking.batch_id:
            await _move_on(uow.sql, self.walking, "importing")
            await services.close_batches(uow.sql)
            uow.record(FilesFound())

    async def _leave_to_a_scan(self) -> None:
        if self.walking.batch_id:
            async with self.database.unit_of_work() as uow:
                await _move_on(uow.sql, self.walking, "pending")
                uow.record(ScanQueued())


_BEGIN = """
INSERT INTO import_batch (root_id, mode, cause, status, claim, worker_id, claimed_at)
VALUES ($1, $2, 'watch', 'walking', $3, $4, now())
ON CONFLICT (root_id) WHERE status IN ('pending', 'walking') DO NOTHING RETURNING id
"""
# A file whose inode is another one may have been swapped with its neighbour.
_NEW = """
SELECT t.path FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])
    AS t(path, size, mtime_ns, inode, verdict)
LEFT JOIN root_entry e ON e.root_id = $1 AND e.path = t.path
WHERE e.id IS NULL OR e.size <> t.size OR e.mtime_ns <> t.mtime_ns OR e.outcome = 'missing'
    OR (t.inode > 0 AND e.inode <> t.inode)
    OR (e.outcome IN ('skipped', 'failed') AND e.reason = t.verdict) <> (t.verdict <> '')
"""
_LEFT = r"""
SELECT id FROM root_entry WHERE root_id = $1 AND path >= $2 AND path < $3 AND outcome <> 'missing'
    AND position('\x2f'::bytea IN substr(path, length($2) + 1)) = 0 AND NOT path = ANY($4::bytea[])
"""
_WITHIN = """
SELECT id FROM root_entry WHERE root_id = $1 AND path >= $2 AND path < $3 AND outcome <> 'missing'
"""
_FORGET = f"""
DELETE FROM root_entry e WHERE id = ANY($1::bigint[]) AND NOT ignored AND {forgetting.FAILURE}
"""


async def _move_on(sql: Connection[Any], walking: Walking, status: str) -> None:
    await sql.execute(
        "UPDATE import_batch SET status = $3, claim = NULL, worker_id = NULL,"
        " walked_at = CASE $3 WHEN 'importing' THEN now() END"
        " WHERE id = $1 AND claim = $2 AND status = 'walking'",
        walking.batch_id,
        walking.claim,
        status,
    )
