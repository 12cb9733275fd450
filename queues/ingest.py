"""Task bodies of ingest."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from appliance.core import db, log, names, room, settings
from appliance.core.drains import Claimed, Delivered, Drain, Interrupted
from appliance.core.errors import VitrineError
from appliance.core.offload import Child, child, python
from appliance.ingest import (
    catching_up,
    claims,
    finishing,
    forgetting,
    resting,
    roots,
    scanning,
    services,
    throttle,
    vanished,
    walk,
    watching,
)
from appliance.ingest.batch_models import ImportBatch, ImportTask
from appliance.ingest.changes import Watched
from appliance.ingest.facts import FilesFound, ScanQueued
from appliance.ingest.finishing import TakenOver
from appliance.ingest.importing import Import
from appliance.media.decoder import ChildDied, DecoderUnavailable
from appliance.media.reasons import Reason
from queues import lanes
from queues.declare import Ledger, days, minutes, seconds, task
from queues.decoders import pool
from queues.runs import Run, describe


if TYPE_CHECKING:
    from asyncpg import Connection


AT_ONCE = 4
"""So many folders are looked at for changes beside each other: one that hangs holds up no other."""
WALKS = Ledger(
    ImportBatch,
    live={"walking"},
    done="importing",
    stalled="pending",
    terminal={"done", "error", "cancelled"},
    keep=days(30),
    asked=[ScanQueued],
)


@task(lane=lanes.SCAN, limit=minutes(60), wrap_up=minutes(1), ledger=WALKS)
async def scan(run: Run) -> None:
    """Walk a folder and note what is new or changed; nothing is opened."""
    async with db.unit_of_work() as uow:
        walking = await scanning.load(uow.sql, run.row, run.claim)
    try:
        await _walk(run, walking)
    except scanning.LostWalk:
        # Cancelled with its batch, or given to someone else: whoever did that has said so already.
        return


async def _walk(run: Run, walking: scanning.Walking) -> None:
    argument = walk.arguments(walking.root, walking.under, walking.after, [str(settings.current().data)])
    async with child(python("appliance.ingest.walk", argument), limit=minutes(60)) as process:
        stop = lambda: run.wrap_up.is_set() or run.cancelled  # noqa: E731
        try:
            complete = await scanning.follow(db.current(), walking, process.stdout, stop=stop)
        except scanning.WalkBroke:
            if not await _goes_on(run, walking, process):
                raise
            return
        except scanning.RootUnavailable as gone:
            async with db.unit_of_work() as uow:
                await scanning.mark_away(uow.sql, walking, gone.cause)
            raise
    if complete:
        await _judge(run, walking)
        return
    async with db.unit_of_work() as uow:
        # Whoever cancelled it does not want it to go on by itself.
        await run.finish(uow, "cancelled" if run.cancelled else "pending")
        uow.record(ScanQueued())


async def _judge(run: Run, walking: scanning.Walking) -> None:
    """What follows from a whole walk; its end is one transaction, root before batch before files."""
    judged = await vanished.judge(db.current(), walking) is vanished.Verdict.JUDGED
    if judged:
        await catching_up.catch_up(db.current(), walking)
    async with db.unit_of_work() as uow:
        await scanning.mark_read(uow.sql, walking)
        if not await run.finish(uow, "importing", walked_at=await uow.sql.fetchval("SELECT now()")):
            raise scanning.LostWalk("The scan was taken over")
        if judged:
            await forgetting.forget(uow.sql, walking)
        await services.close_batches(uow.sql)
        uow.record(FilesFound())


async def _goes_on(run: Run, walking: scanning.Walking, process: Child) -> bool:
    """A64: a walk whose child died is resumed behind its last folder."""
    log.get().warning("walk broke off", batch_id=walking.batch_id, said=" | ".join(process.errors)[-500:])
    async with db.unit_of_work() as uow:
        if not await scanning.goes_on(uow.sql, walking):
            return False
        await run.finish(uow, "pending")
        uow.record(ScanQueued())
    return True


def paused() -> str | None:
    """Why no file may come in at this moment."""
    flag = settings.current().home.imports_paused
    try:
        return str(json.loads(flag.read_text(encoding="utf-8"))["reason"])
    except FileNotFoundError:
        # The supervisor looks now and then, and cannot say so on a disk that is full to the last byte.
        return "the disk is full" if room.spare(settings.current()) < 0 else None
    except (OSError, ValueError, KeyError):
        return "paused"


async def claim_in_hours(sql: Connection[Any], worker_id: int, count: int) -> Sequence[Claimed]:
    """Outside the hours that a person allowed, only what somebody waits for comes in."""
    allowed = await throttle.refresh(sql)
    resting = allowed.resting(throttle.wall(settings.current().zone))
    return await claims.claim(sql, worker_id, count, only_interactive=resting)


FILES = Drain(
    name="import_tasks",
    model=ImportTask,
    claim=claim_in_hours,
    fail=finishing.ended,
    parallel=lambda s: throttle.known().places(s),
    keep=days(7),
    blocked=paused,
    later=resting.soonest,
    afterwards=services.end_pass,
)


@task(lane=lanes.IMPORT, limit=minutes(9), cron="* * * * *", on=[FilesFound], drain=FILES)
async def import_files(claimed: Claimed) -> str:
    """Read, hash, decode and draw the files that scans found."""
    try:
        lend = partial(pool().child, fresh=claimed.alone)
        return await Import(settings.current(), db.current(), claimed).run(lend)
    except TakenOver:
        return "taken_over"
    except DecoderUnavailable as error:
        raise Interrupted from error
    except ChildDied as death:
        if death.reason is Reason.CRASHED:
            raise Delivered(death.detail) from death
        async with db.unit_of_work() as uow:
            await finishing.ended(uow.sql, claimed, death.reason, death.detail)
        return "failed"


@task(lane=lanes.MAINTENANCE, limit=seconds(60), cron="* * * * *", quiet=True)
async def close_batches(run: Run) -> None:
    """End the imports whose last file is done."""
    async with db.unit_of_work() as uow:
        run.counts["closed"] = await services.close_batches(uow.sql)


@task(lane=lanes.SCAN, limit=minutes(10), cron="* * * * *", quiet=True)
async def watch_folders(run: Run) -> None:
    """Look for what changed in folders since they were scanned; only the times of folders are read."""
    database = db.current()
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(root: Watched) -> int:
        async with at_once:
            return await watching.look(run.settings, database, root, run.worker_id)

    due = await watching.due(database)
    found = await asyncio.gather(*(one(root) for root in due), return_exceptions=True)
    run.counts["files"] = sum(n for n in found if isinstance(n, int))
    failed = [(names.display(r.path), e) for r, e in zip(due, found, strict=True) if isinstance(e, Exception)]
    for root, error in failed:
        log.get().error("look failed", root=root, error=describe(error), exc_info=error)
    if failed:
        told = "; ".join(f"{root}: {describe(error)}" for root, error in failed)
        raise VitrineError(f"Not every folder could be looked at. {told}") from failed[0][1]


@task(lane=lanes.MAINTENANCE, limit=seconds(60), cron="* * * * *", quiet=True)
async def queue_due_scans(run: Run) -> None:
    """Ask for the daily scans whose hour has come."""
    async with db.unit_of_work() as uow:
        run.counts["scans"] = await roots.queue_due(uow, zone=run.settings.zone)
