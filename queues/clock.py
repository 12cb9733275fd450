"""Schedules: a tick only asks the database what is due, so that missed and doubled ticks do no harm."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from croniter import croniter

from appliance.core.db import Database, UnitOfWork
from appliance.core.settings import Settings
from queues.declare import Register, Task
from queues.doorbell import Doorbell
from queues.liveness import dead
from queues.settling import RUN_SINCE
from queues.waiting import has_waiting, source


if TYPE_CHECKING:
    from asyncpg import Connection


class Lock(enum.IntEnum):
    """What only one process of the installation does at a time."""

    CLOCK = 1
    SWEEP = 2
    RETIRE = 3


_FAMILY = 0x56495452
"""First half of our advisory locks, apart from those of other programs in the same database."""


async def take_lock(sql: Connection[Any], lock: Lock) -> bool:
    """Take a steward's lock until the end of the transaction; False when another process has it."""
    taken: bool = await sql.fetchval("SELECT pg_try_advisory_xact_lock($1, $2)", _FAMILY, int(lock))
    return taken


@dataclass(frozen=True, slots=True)
class Ring:
    """A wake to send after the commit."""

    task: Task
    row: int | None


def last_due(cron: str, now: datetime, zone: ZoneInfo) -> datetime:
    """The last moment at or before now at which the schedule fired."""
    # get_prev means strictly before, and cron knows no fractions.
    local = now.astimezone(zone).replace(microsecond=0) + timedelta(seconds=1)
    found: datetime = croniter(cron, local).get_prev(datetime)
    return found


async def tick(database: Database, bell: Doorbell, register: Register, settings: Settings) -> list[Task]:
    """Start whatever is due; returns what was started."""
    async with database.unit_of_work() as uow:
        if not await take_lock(uow.sql, Lock.CLOCK):
            return []
        tasks = await due(uow.sql, register, settings.zone)
        rings = [r for t in tasks if (r := await _begin(uow, t, settings.silence))]
    for ring in rings:
        await bell.ring(ring.task, ring.row)
    return [r.task for r in rings]


async def due(sql: Connection[Any], register: Register, zone: ZoneInfo) -> list[Task]:
    """Scheduled tasks whose last start lies before the last moment of their schedule."""
    scheduled = register.scheduled()
    await _baseline(sql, scheduled)
    rows = await sql.fetch("SELECT task, last_started_at, now() AS now FROM task_schedule")
    last = {r["task"]: r for r in rows}
    return [
        t
        for t in scheduled
        if t.cron and last[t.name]["last_started_at"] < last_due(t.cron, last[t.name]["now"], zone)
    ]


async def _baseline(sql: Connection[Any], tasks: Sequence[Task]) -> None:
    # A new schedule counts from the moment at which it is first seen: nothing is overdue on day one.
    await sql.execute(
        "INSERT INTO task_schedule (task, last_started_at) SELECT t, now() FROM unnest($1::text[]) t"
        " ON CONFLICT (task) DO UPDATE SET last_started_at = now()"
        " WHERE task_schedule.last_started_at IS NULL",
        [t.name for t in tasks],
    )


async def _begin(uow: UnitOfWork, task: Task, silence: float) -> Ring | None:
    ring = await queue(uow, task, asked_by=None, silence=silence)
    await uow.sql.execute("UPDATE task_schedule SET last_started_at = now() WHERE task = $1", task.name)
    return ring if isinstance(ring, Ring) else None


async def queue(uow: UnitOfWork, task: Task, *, asked_by: str | None, silence: float) -> Ring | str:
    """Write the row of an execution, or answer why another one may not start."""
    if task.drain:
        return Ring(task, None) if await has_waiting(uow.sql, task) else "Nothing waits for it"
    if await has_waiting(uow.sql, task):
        # Its wake may have been lost: ring again instead of writing a second row.
        return Ring(task, None)
    if since := await running_since(uow.sql, task, silence):
        return f"It has been running since {since:%H:%M}"
    return Ring(task, await _row(uow, task, asked_by))


async def running_since(sql: Connection[Any], task: Task, silence: float) -> datetime | None:
    """Since when this task runs, dead rows left out by the predicate of the sweep itself."""
    table, _, _ = source(task)
    live = task.ledger.live if task.ledger else {"running"}
    states = ", ".join(f"'{s}'" for s in sorted(live))
    mine = "" if task.ledger else f" AND t.task = '{task.name}'"
    since: datetime | None = await sql.fetchval(
        f"SELECT t.claimed_at FROM {table} t LEFT JOIN worker w ON w.id = t.worker_id"
        f" WHERE t.status IN ({states}){mine} AND NOT {dead('t', task.stuck_after, since=RUN_SINCE)}"
        " ORDER BY t.id LIMIT 1",
        silence,
    )
    return since


async def _row(uow: UnitOfWork, task: Task, asked_by: str | None) -> int:
    if task.ledger is None:
        row: int = await uow.sql.fetchval(
            "INSERT INTO task_run (task, lane, kind, asked_by) VALUES ($1, $2, 'run', $3) RETURNING id",
            task.name,
            task.lane.name,
            asked_by,
        )
        return row
    if task.ledger.make:
        return await task.ledger.make(uow)
    made: int = await uow.sql.fetchval(f"INSERT INTO {task.ledger.table} DEFAULT VALUES RETURNING id")
    return made
