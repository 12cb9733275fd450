"""Settling dead rows: set-based statements made from the register, fenced by the rows' own state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from appliance.core.columns import ALONE_AFTER_INTERRUPTIONS
from appliance.core.drains import Drain
from queues.declare import PASS, Ledger, Register, Task
from queues.liveness import dead


if TYPE_CHECKING:
    from asyncpg import Connection


BATCH = 1000
# A row in hand that is not begun yet is given back at the end of its pass, so it may be older by that.
ITEM_SINCE = f"coalesce({{row}}.started_at, {{row}}.claimed_at + interval '{PASS.total_seconds()} seconds')"
RUN_SINCE = "{row}.claimed_at"
WORKER_DIED = "Its worker died or fell silent"
FREE = "claim = NULL, worker_id = NULL, claimed_at = NULL"


@dataclass(slots=True)
class Settled:
    """What a sweep did, and the tasks for which something waits again."""

    counts: Counter[str] = field(default_factory=Counter)
    tasks: list[Task] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Condition:
    """Which live rows count: SQL over the row `t` and its worker `w`, and the value of $1."""

    item: str
    ledger: str
    run: str
    value: Any


def of_worker(worker_id: int) -> Condition:
    """Every live row of one worker."""
    mine = "t.worker_id = $1::bigint"
    return Condition(mine, mine, mine, worker_id)


def strays(worker_id: int, rows: Sequence[int], runs: Sequence[int]) -> Condition:
    """Executions that are written down as ours although we do not run them.

    Their claim was stored but its answer was lost with the connection. Rows of drains are released by
    the next pass, which knows what it has in hand.
    """
    mine = "t.worker_id = $1::bigint AND t.claimed_at < now() - interval '5 seconds' AND t.id <> ALL({})"
    return Condition("false", mine.format(_ids(rows)), mine.format(_ids(runs)), worker_id)


def _ids(ids: Sequence[int]) -> str:
    return f"'{{{','.join(str(int(i)) for i in ids)}}}'::bigint[]"


def dead_rows_of(task: Task, silence: float) -> Condition:
    """Every live row of a task that has nobody or is too old."""
    item = dead("t", task.stuck_after, since=ITEM_SINCE)
    run = dead("t", task.stuck_after, since=RUN_SINCE)
    # The record of a drain's pass lives as long as the pass, which ends its last items first.
    passed = dead("t", task.wake_timeout, since=RUN_SINCE)
    return Condition(item, run, passed, silence)


async def bury_silent(sql: Connection[Any], silence: float) -> int:
    """Workers that fell silent count as dead from now on, even if they speak again."""
    rows = await sql.fetch(
        "UPDATE worker SET settled_at = now() WHERE id = ANY(ARRAY(SELECT id FROM worker"
        " WHERE settled_at IS NULL AND heartbeat_at < now() - make_interval(secs => $1)"
        " ORDER BY id FOR UPDATE)) RETURNING id",
        silence,
    )
    return len(rows)


async def sweep(sql: Connection[Any], register: Register, silence: float) -> Settled:
    """Settle every row that has nobody or is too old."""
    settled = Settled()
    settled.counts["workers"] = await bury_silent(sql, silence)
    for task in register.tasks:
        await _settle_task(sql, task, dead_rows_of(task, silence), settled)
    await _settle_unknown(sql, register, silence, settled)
    return settled


async def settle_worker(sql: Connection[Any], register: Register, worker_id: int) -> Settled:
    """Settle everything that one dead worker held, and the worker itself."""
    # The row of the worker first: from here on its heartbeat finds nothing and it begins anew.
    await sql.execute(
        "UPDATE worker SET settled_at = now(), ended_at = coalesce(ended_at, now())"
        " WHERE id = $1 AND settled_at IS NULL",
        worker_id,
    )
    return await settle(sql, register, of_worker(worker_id))


async def settle(sql: Connection[Any], register: Register, condition: Condition) -> Settled:
    """Settle the rows of all tasks that meet one condition."""
    settled = Settled()
    for task in register.tasks:
        await _settle_task(sql, task, condition, settled)
    return settled


async def _settle_task(sql: Connection[Any], task: Task, condition: Condition, settled: Settled) -> None:
    count = 0
    if task.drain and condition.item != "false":
        count = await _all_batches(sql, _drain_sql(task.drain, condition.item), condition.value)
    elif task.ledger:
        count = await _all_batches(sql, _ledger_sql(task.ledger, condition.ledger), condition.value)
    runs = await _all_batches(sql, _run_sql(task, condition.run), condition.value)
    settled.counts[task.name] += max(count, runs)
    if count:
        settled.tasks.append(task)


async def _all_batches(sql: Connection[Any], statement: str, value: Any) -> int:
    total = 0
    while True:
        done = len(await sql.fetch(statement, value))
        total += done
        if done < BATCH:
            return total


def _dead_rows(table: str, live: str, condition: str) -> str:
    # Locked in the order of ids: two sweeps, or a sweep and a worker that gives back, never deadlock.
    return (
        f"WITH dead AS (SELECT t.id FROM {table} t LEFT JOIN worker w ON w.id = t.worker_id"
        f" WHERE {live} AND {condition} ORDER BY t.id LIMIT {BATCH} FOR UPDATE OF t)"
    )


def _drain_sql(drain: Drain, condition: str) -> str:
    # Rows in hand that were not begun are innocent of whatever happened.
    live = f"t.status = '{drain.live}'"
    return (
        f"{_dead_rows(drain.table, live, condition)}"
        f" UPDATE {drain.table} t SET status = '{drain.ready}', {FREE}, started_at = NULL,"
        " interruptions = LEAST(t.interruptions + (t.started_at IS NOT NULL)::int, 30000)"
        " FROM dead WHERE t.id = dead.id RETURNING t.id"
    )


def _ledger_sql(ledger: Ledger, condition: str) -> str:
    live = "t.status IN ({})".format(", ".join(f"'{s}'" for s in sorted(ledger.live)))
    return (
        f"{_dead_rows(ledger.table, live, condition)}"
        f" UPDATE {ledger.table} t SET {_stalled(ledger)}, {FREE}"
        " FROM dead WHERE t.id = dead.id RETURNING t.id"
    )


def _stalled(ledger: Ledger) -> str:
    if ledger.stalled != ledger.pending:
        return f"status = '{ledger.stalled}', finished_at = now(), error = '{WORKER_DIED}'"
    if "interruptions" not in ledger.model.__table__.columns:
        return f"status = '{ledger.pending}'"
    # What brings its worker down again and again would do so for ever.
    often = f"t.interruptions >= {ALONE_AFTER_INTERRUPTIONS}"
    return (
        f"interruptions = t.interruptions + 1,"
        f" status = CASE WHEN {often} THEN '{ledger.failed}' ELSE '{ledger.pending}' END,"
        f" finished_at = CASE WHEN {often} THEN now() END,"
        f" error = CASE WHEN {often} THEN '{WORKER_DIED}, {ALONE_AFTER_INTERRUPTIONS} times' END"
    )


def _run_sql(task: Task, condition: str) -> str:
    live = f"t.status = 'running' AND t.task = '{task.name}'"
    return (
        f"{_dead_rows('task_run', live, condition)}"
        f" UPDATE task_run t SET status = 'recovered', finished_at = now(), error = '{WORKER_DIED}', {FREE}"
        " FROM dead WHERE t.id = dead.id RETURNING t.id"
    )


async def _settle_unknown(sql: Connection[Any], register: Register, silence: float, settled: Settled) -> None:
    """Executions of tasks that no longer exist: nobody else would ever look at them."""
    rows = await sql.fetch(
        "UPDATE task_run t SET status = CASE t.status WHEN 'pending' THEN 'cancelled' ELSE 'recovered' END,"
        f" finished_at = now(), error = 'This task no longer exists', {FREE}"
        # Another host may run a newer version, whose tasks are unknown here but not dead.
        " WHERE t.status IN ('pending', 'running') AND t.queued_at < now() - interval '1 day'"
        " AND NOT (t.task = ANY($1::text[])) AND NOT EXISTS ("
        " SELECT FROM worker w WHERE w.id = t.worker_id AND w.settled_at IS NULL"
        " AND w.heartbeat_at >= now() - make_interval(secs => $2)) RETURNING t.id",
        [t.name for t in register.tasks],
        silence,
    )
    settled.counts["unknown"] = len(rows)
