"""Run tasks: one row, one execution, one fence."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import structlog

from appliance.core import log
from appliance.core.db import UnitOfWork
from appliance.core.errors import VitrineError
from appliance.core.settings import Settings
from queues.declare import Task
from queues.outage import surely, transient
from queues.process import Activity, Process, Why
from queues.waiting import has_waiting, source


if TYPE_CHECKING:
    from asyncpg import Connection


TIDY_S = 1.5
"""How long a body that was asked to stop may tidy up before it is cancelled."""
LET_GO_S = 5.0
"""How long a cancelled body may take to end before it is left to its fence."""


@dataclass(eq=False, slots=True)
class Run:
    """One execution in hand, as its body sees it."""

    process: Process
    task: Task
    run_id: int
    row: int
    """The ledger row; the recorded execution itself where there is no ledger."""
    claim: uuid.UUID
    asked_by: str | None
    wrap_up: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it is time to stop tidily: before the limit, on cancel and on stop."""
    cancelled: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    """What it did, for the activity page."""

    @property
    def settings(self) -> Settings:
        """The settings of the process."""
        return self.process.settings

    @property
    def worker_id(self) -> int:
        """The worker that holds the row."""
        return self.process.worker_id

    async def finish(self, uow: UnitOfWork, state: str, **columns: Any) -> bool:
        """Move the ledger row on, in the body's own transaction; False when it is no longer ours."""
        return await finish_ledger(uow.sql, self, state, columns)

    async def tell(self, uow: UnitOfWork) -> None:
        """Show on the way what it has done so far."""
        await uow.sql.execute(
            "UPDATE task_run SET counts = $3 WHERE id = $1 AND claim = $2 AND status = 'running'",
            self.run_id,
            self.claim,
            msgspec.json.encode(dict(self.counts)).decode(),
        )


@dataclass(frozen=True, slots=True)
class Ending:
    """How an execution ended."""

    status: str
    error: str | None = None


async def execute(process: Process, task: Task, row: int | None) -> None:
    """Claim the named row, or the next that waits; without a claim nothing happens."""
    run = await surely(lambda: claim(process, task, row), until=process.stopping.is_set)
    if run is None:
        return
    activity = process.begin(task)
    activity.run_id, activity.row = run.run_id, run.row
    structlog.contextvars.bind_contextvars(run=run.run_id)
    try:
        ending = await _supervised(run, activity)
        await surely(lambda: record(run, ending), until=process.stopping.is_set)
        if ending.status == "pending" and not process.stopping.is_set():
            await process.bell.ring(task)
    finally:
        process.active.discard(activity)


async def claim(process: Process, task: Task, row: int | None) -> Run | None:
    """Take a pending row by one UPDATE that draws the fence; the next one, when none is named."""
    async with process.database.unit_of_work() as uow:
        paused = await uow.sql.fetchval(
            "SELECT true FROM lane_state WHERE lane = $1 AND paused_at IS NOT NULL", task.lane.name
        )
        taken = None if paused else await uow.sql.fetchrow(_claim_sql(task, row), process.worker_id, row)
        if taken is None:
            return None
        run_id, asked_by = await _recorded(uow.sql, process, task, taken)
        more = row is None and await has_waiting(uow.sql, task)
    if more:
        await process.bell.ring(task)
    return Run(process, task, run_id, taken["id"], taken["claim"], asked_by)


def _claim_sql(task: Task, row: int | None) -> str:
    table, waits, order = source(task)
    state = task.ledger.taken if task.ledger else "running"
    which = "id = $2" if row is not None else "$2::bigint IS NULL"
    return (
        f"UPDATE {table} SET status = '{state}', claim = gen_random_uuid(), worker_id = $1,"
        " claimed_at = now()"
        f" WHERE id = ANY(ARRAY(SELECT id FROM {table} WHERE {waits} AND {which}"
        f" ORDER BY {order} LIMIT 1 FOR UPDATE SKIP LOCKED)) RETURNING *"
    )


async def _recorded(sql: Connection[Any], process: Process, task: Task, taken: Any) -> tuple[int, str | None]:
    if task.ledger is None:
        return taken["id"], taken["asked_by"]
    run_id = await sql.fetchval(
        "INSERT INTO task_run (task, lane, kind, status, ledger_id, claim, worker_id, claimed_at)"
        " VALUES ($1, $2, 'run', 'running', $3, $4, $5, now()) RETURNING id",
        task.name,
        task.lane.name,
        taken["id"],
        taken["claim"],
        process.worker_id,
    )
    return run_id, None


async def _supervised(run: Run, activity: Activity) -> Ending:
    """Run the body inside its limit; whatever happens, it has ended or is fenced off afterwards."""
    body: asyncio.Task[Any] = asyncio.ensure_future(_as_coroutine(run))
    asked = asyncio.create_task(activity.ending.wait())
    limit = run.task.limit.total_seconds()
    timer = None
    if run.task.wrap_up:
        lead = limit - run.task.wrap_up.total_seconds()
        timer = asyncio.get_running_loop().call_later(lead, run.wrap_up.set)
    try:
        await asyncio.wait({body, asked}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if not body.done():
            await _end_early(run, body, activity)
        return _ending(run, body, activity)
    finally:
        asked.cancel()
        body.cancel()
        if timer:
            timer.cancel()


async def _as_coroutine(run: Run) -> None:
    await run.task.body(run)


async def _end_early(run: Run, body: asyncio.Task[Any], activity: Activity) -> None:
    run.cancelled = activity.why is Why.CANCELLED
    run.wrap_up.set()
    if activity.why is not None:
        await asyncio.wait({body}, timeout=TIDY_S)
    if body.done():
        return
    body.cancel()
    await asyncio.wait({body}, timeout=1.0 if activity.why is Why.STOPPING else LET_GO_S)
    if not body.done():
        log.get().error("body did not let go", task=run.task.name)


def _ending(run: Run, body: asyncio.Task[Any], activity: Activity) -> Ending:
    if body.done() and not body.cancelled():
        error = body.exception()
        if error is None:
            # It had its time to tidy up and used it: stopped by wish, not done.
            return Ending("cancelled", "cancelled") if run.cancelled else Ending("done")
        if activity.why is None and _may_go_on(run, error):
            return Ending("pending")
        if activity.why is None:
            log.get().error("task failed", task=run.task.name, error=describe(error))
            return Ending("error", describe(error))
    match activity.why:
        case Why.CANCELLED:
            return Ending("cancelled", "cancelled")
        case Why.STOPPING | Why.LOST | Why.PAUSED:
            return Ending("pending")
        case None:
            log.get().error("task outlived its limit", task=run.task.name)
            return Ending("error", f"Took longer than its limit of {run.task.limit}")


def _may_go_on(run: Run, error: BaseException) -> bool:
    """An outage is not the run's fault, nor is another transaction: what can begin again does."""
    ledger = run.task.ledger
    return (ledger is None or ledger.stalled == ledger.pending) and transient(error)


def describe(error: BaseException) -> str:
    """One line about an error for a row: bounded, without secrets and without NUL."""
    text = error.line() if isinstance(error, VitrineError) else f"{type(error).__name__}: {error}"
    return log.redact(text).replace("\0", "")[:2000]


async def record(run: Run, ending: Ending) -> bool:
    """Write the end down, fenced: whoever was declared dead in between changes nothing."""
    async with run.process.database.unit_of_work() as uow:
        if run.task.ledger:
            state = {
                "done": run.task.ledger.done,
                "error": run.task.ledger.failed,
                "cancelled": run.task.ledger.cancelled,
                "pending": run.task.ledger.stalled,
            }[ending.status]
            await finish_ledger(uow.sql, run, state, {"error": ending.error})
        if _left_no_trace(run, ending):
            return await _forget(uow.sql, run)
        return await _finish_recorded(uow.sql, run, ending)


def _left_no_trace(run: Run, ending: Ending) -> bool:
    return (
        run.task.quiet and ending.status == "done" and run.asked_by is None and not any(run.counts.values())
    )


async def _forget(sql: Connection[Any], run: Run) -> bool:
    """A sweep that settled nothing counts in its worker's row instead of filling the list of runs."""
    await note_finished(sql, run.task, "done")
    await sql.execute("UPDATE worker SET sweeps = sweeps + 1 WHERE id = $1", run.worker_id)
    gone = await sql.fetchval(
        "DELETE FROM task_run WHERE id = $1 AND claim = $2 RETURNING id", run.run_id, run.claim
    )
    return gone is not None


async def _finish_recorded(sql: Connection[Any], run: Run, ending: Ending) -> bool:
    status = ending.status
    if status == "pending" and run.task.ledger:
        # The ledger row begins again as a new execution; this one is over.
        status = "recovered"
    done = await sql.fetchval(
        "UPDATE task_run SET status = $3, error = $4, counts = $5, claim = NULL, worker_id = NULL,"
        " finished_at = CASE WHEN $3 = 'pending' THEN NULL ELSE now() END"
        " WHERE id = $1 AND claim = $2 AND status = 'running' RETURNING id",
        run.run_id,
        run.claim,
        status,
        ending.error,
        msgspec.json.encode(dict(run.counts)).decode(),
    )
    await note_finished(sql, run.task, ending.status)
    return done is not None


async def note_finished(sql: Connection[Any], task: Task, outcome: str) -> None:
    """Remember how a scheduled task last ended, also when that left no other trace."""
    if task.cron:
        await sql.execute(
            "UPDATE task_schedule SET last_finished_at = now(), last_outcome = $2 WHERE task = $1",
            task.name,
            outcome,
        )


async def finish_ledger(sql: Connection[Any], run: Run, state: str, columns: dict[str, Any]) -> bool:
    """Move the ledger row to `state`, only while the claim is ours."""
    ledger = run.task.ledger
    if ledger is None:
        raise VitrineError(f"{run.task.name} has no ledger to finish")
    over = "now()" if state in ledger.terminal else "NULL"
    sets = "".join(f", {name} = ${n}" for n, name in enumerate(columns, 3))
    done = await sql.fetchval(
        f"UPDATE {ledger.table} SET status = '{state}', claim = NULL, worker_id = NULL,"
        f" finished_at = {over}{sets}"
        " WHERE id = $1 AND claim = $2 RETURNING id",
        run.row,
        run.claim,
        *columns.values(),
    )
    return done is not None
