"""Looking for changes between scans: only the times of folders, and into those that changed.

That is one look at each folder, however many files lie in it, and works on every network share. A file that
is written over in place changes no folder; the nightly scan finds it.
"""

from __future__ import annotations

import asyncio
import tempfile
from datetime import timedelta
from typing import BinaryIO

from appliance.core import clock, log, names
from appliance.core.db import Database
from appliance.core.offload import child, python
from appliance.core.settings import Settings
from appliance.ingest import looking, services, walk
from appliance.ingest.changes import Look, Watched
from appliance.ingest.identity import OTHER
from appliance.ingest.walking import WalkBroke


LIMIT = timedelta(minutes=8)
OFTEN, SELDOM = timedelta(seconds=50), timedelta(minutes=15)
COST = 20
"""A folder is left alone for so many times as long as the last look at it took."""


# Its next turn is put off at once, so that nobody else takes it and a look that dies is not tried for ever.
_DUE = """
UPDATE root SET watch_at = now() + $1::interval WHERE id = ANY(ARRAY(
    SELECT r.id FROM root r WHERE r.watched AND r.watch_at <= now() AND r.purpose = 'folder'
        AND (r.status = 'ready' OR r.status = 'unavailable' AND position($2 IN coalesce(r.reason, '')) = 0)
        AND r.held_batch IS NULL AND r.scanned_at IS NOT NULL
        AND NOT EXISTS (
            SELECT FROM import_batch b WHERE b.root_id = r.id AND b.status IN ('pending', 'walking'))
    ORDER BY r.watch_at LIMIT 100 FOR UPDATE SKIP LOCKED))
RETURNING id, path, mode, identity, status
"""


async def due(database: Database) -> list[Watched]:
    """The roots whose turn it is."""
    async with database.unit_of_work() as uow:
        return [Watched(*row) for row in await uow.sql.fetch(_DUE, SELDOM, OTHER)]


async def look(settings: Settings, database: Database, root: Watched, worker_id: int) -> int:
    """Look at one root; how many files were new, changed or gone."""
    if root.status == "unavailable":
        return await _back_again(database, root)
    began = clock.monotonic()
    look = Look(database, root, worker_id)
    try:
        await _follow(settings, database, look)
    finally:
        await _put_off(database, root, clock.monotonic() - began)
    return look.found


async def _back_again(database: Database, root: Watched) -> int:
    """A disk that is connected again is scanned at once."""
    if await looking.away([root.path]):
        return 0
    async with database.unit_of_work() as uow:
        if not await services.hold_roots(uow.sql, [root.id]):
            return 0
        await services.queue_scan(uow, root.place)
    return 1


async def _put_off(database: Database, root: Watched, took: float) -> None:
    pause = min(max(timedelta(seconds=took * COST), OFTEN), SELDOM)
    async with database.unit_of_work() as uow:
        await uow.sql.execute(
            "UPDATE root SET watch_at = now() + $2::interval, watch_ms = $3 WHERE id = $1",
            root.id,
            pause,
            round(took * 1000),
        )


async def _follow(settings: Settings, database: Database, look: Look) -> None:
    with tempfile.TemporaryFile(dir=settings.home.tmp) as known:
        if not await _remembered(database, look.root, known):
            return
        argument = walk.arguments(look.root.path, b"", None, [str(settings.data)], known=known.fileno())
        argv = python("appliance.ingest.walk", argument)
        async with child(argv, limit=LIMIT, pass_fds=[known.fileno()]) as process:
            try:
                await look.follow(process.stdout)
            except WalkBroke:
                log.get().warning(
                    "look broke off",
                    root=names.display(look.root.path),
                    said=" | ".join(process.errors)[-500:],
                )


async def _remembered(database: Database, root: Watched, out: BinaryIO) -> bool:
    async with database.unit_of_work() as uow:
        rows = await uow.sql.fetch("SELECT path, mtime_ns FROM root_folder WHERE root_id = $1", root.id)
        doubtful = [r["path"] for r in await uow.sql.fetch(_DOUBTFUL, root.id)]
    await asyncio.to_thread(walk.remembered, {r["path"]: r["mtime_ns"] for r in rows}, doubtful, out)
    out.seek(0)
    return bool(rows)


# The newest failures of a day that a file has which was read before it was whole: a copy that stood still for
# a while. When it goes on, its folder does not say so.
_DOUBTFUL = """
SELECT e.path FROM unnest(ARRAY['empty', 'truncated', 'corrupt', 'unsupported']) AS doubt(reason)
CROSS JOIN LATERAL (
    SELECT root_id, path, changed_at FROM root_entry f
    WHERE f.outcome = 'failed' AND NOT f.ignored AND f.reason = doubt.reason ORDER BY f.id DESC LIMIT 200
) e WHERE e.root_id = $1 AND e.changed_at > now() - interval '1 day'
"""
