"""The stewards: dead rows are settled, lost wakes are found, old rows are retired."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta

from appliance.core import log
from appliance.core.db import UnitOfWork
from queues import clock, settling
from queues.clock import Lock
from queues.declare import days, minutes, task
from queues.lanes import MAINTENANCE
from queues.runs import Run
from queues.valkey import UNREACHABLE
from queues.waiting import waiting


KEEP_RUNS = days(30)
LAST_RUNS = 200
"""As many recorded executions stay for ever: a quiet month must not empty the page."""
KEEP_WORKERS = days(7)
BATCH = 1000


@task(lane=MAINTENANCE, limit=minutes(5), cron="* * * * *", button=True, quiet=True)
async def sweep(run: Run) -> None:
    """Settle everything whose worker died or that outlived its limit."""
    await _patience(run)
    async with _locked(run, Lock.SWEEP) as uow:
        if uow is None or run.wrap_up.is_set():
            return
        settled = await settling.sweep(uow.sql, run.process.register, run.settings.silence)
    run.counts.update({name: n for name, n in settled.counts.items() if n})
    if run.counts:
        log.get().warning("dead rows were settled", **run.counts)
    for one in settled.tasks:
        await run.process.bell.ring(one, force=True)


async def _patience(run: Run) -> None:
    """After a suspend or an outage everybody looks silent: wait until they could have spoken."""
    while (left := run.process.contact.patience()) > 0 and not run.wrap_up.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(run.wrap_up.wait(), left)


@contextlib.asynccontextmanager
async def _locked(run: Run, lock: Lock) -> AsyncIterator[UnitOfWork | None]:
    async with run.process.database.unit_of_work() as uow:
        yield uow if await clock.take_lock(uow.sql, lock) else None


@task(lane=MAINTENANCE, limit=minutes(2), cron="* * * * *", button=True, quiet=True)
async def refill(run: Run) -> None:
    """Ring every task for which something waits: its wake may have been lost."""
    async with run.process.database.unit_of_work() as uow:
        tasks = await waiting(uow.sql, run.process.register)
    for one in tasks:
        await run.process.bell.ring(one)


@task(lane=MAINTENANCE, limit=minutes(10), wrap_up=minutes(1), cron="40 4 * * *", button=True, quiet=True)
async def retire(run: Run) -> None:
    """Delete finished rows that are older than their retention; what lives is never touched."""
    for one in run.process.register.tasks:
        if one.keep is not None:
            await _retire_table(run, one.name, _terminal_sql(one.name, run), one.keep)
    await _retire_table(run, "task_run", _RUNS, KEEP_RUNS)
    await _retire_table(run, "worker", _WORKERS, KEEP_WORKERS)
    run.counts["wakes"] += await _forget_wakes(run)


async def _forget_wakes(run: Run) -> int:
    gone = 0
    with contextlib.suppress(*UNREACHABLE):
        for lane in run.process.register.lanes:
            gone += await run.process.bell.queue(lane.name).tidy()
    return gone


def _terminal_sql(name: str, run: Run) -> str:
    one = run.process.register[name]
    table = one.drain or one.ledger
    if table is None:
        return ""
    states = ", ".join(f"'{s}'" for s in table.terminal)
    return _batch(table.table, f"status IN ({states}) AND finished_at < now() - $1::interval", "finished_at")


def _batch(table: str, condition: str, order: str) -> str:
    return (
        f"DELETE FROM {table} WHERE id = ANY(ARRAY(SELECT id FROM {table} WHERE {condition}"
        f" ORDER BY {order} LIMIT {BATCH} FOR UPDATE SKIP LOCKED))"
    )


_RUNS = _batch(
    "task_run",
    "status NOT IN ('pending', 'running') AND finished_at < now() - $1::interval"
    f" AND id < (SELECT min(id) FROM (SELECT id FROM task_run ORDER BY id DESC LIMIT {LAST_RUNS}) AS last)",
    "finished_at",
)
_WORKERS = _batch("worker", "settled_at < now() - $1::interval", "id")


async def _retire_table(run: Run, name: str, statement: str, keep: timedelta) -> None:
    """In batches of their own transactions, so that nothing waits for a long delete."""
    while not run.wrap_up.is_set():
        async with run.process.database.unit_of_work() as uow:
            gone = int((await uow.sql.execute(statement, keep)).rpartition(" ")[2])
        run.counts[name] += gone
        if gone < BATCH:
            return
