"""Reads about the queues for pages and the command line: cheap at any depth, frozen structs out."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core.settings import Settings
from queues.declare import Lane, Register, Task
from queues.refusals import ready_index
from queues.waiting import source


if TYPE_CHECKING:
    from asyncpg import Connection


DEPTH_CAP = 10_000
"""Nobody needs an exact count above this, and counting a million index entries is not free."""


class LaneView(msgspec.Struct, frozen=True, kw_only=True):
    """One lane as a page shows it."""

    name: str
    group: str
    slots: int
    ceiling_s: float
    purpose: str
    depth: int
    """At most DEPTH_CAP."""
    oldest_s: float | None
    running: int
    paused: bool
    paused_at: datetime | None
    paused_by: str | None

    @property
    def depth_text(self) -> str:
        """The depth for people: capped counts say so."""
        return f"{DEPTH_CAP:,}+" if self.depth >= DEPTH_CAP else f"{self.depth:,}"


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """One worker process."""

    id: int
    host: str
    group: str
    pid: int
    version: str
    started_at: datetime
    silent_s: float
    well: bool


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded execution."""

    id: int
    task: str
    lane: str
    kind: str
    summary: str
    status: str
    queued_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    counts: dict[str, int]
    error: str | None
    asked_by: str | None
    cancelling: bool


async def lanes(sql: Connection[Any], register: Register, settings: Settings) -> list[LaneView]:
    """Every lane with what waits and what is in hand."""
    states = {r["lane"]: r for r in await sql.fetch("SELECT * FROM lane_state WHERE paused_at IS NOT NULL")}
    return [await _lane(sql, register, settings, lane, states.get(lane.name)) for lane in register.lanes]


async def paused(sql: Connection[Any]) -> dict[str, str]:
    """Lanes that are paused, and by whom as far as that is known."""
    rows = await sql.fetch(
        "SELECT lane, coalesce(paused_by, '') AS by FROM lane_state WHERE paused_at IS NOT NULL"
    )
    return {r["lane"]: r["by"] for r in rows}


async def _lane(
    sql: Connection[Any], register: Register, settings: Settings, lane: Lane, paused: Any
) -> LaneView:
    depth, ages, running = 0, [], 0
    for task in register.of(lane):
        depth += await _depth(sql, task)
        ages.append(await _oldest(sql, task))
        running += await _running(sql, task)
    return LaneView(
        name=lane.name,
        group=lane.group,
        slots=lane.slots_for(settings),
        ceiling_s=lane.ceiling.total_seconds(),
        purpose=lane.purpose,
        depth=min(depth, DEPTH_CAP),
        oldest_s=max((a for a in ages if a is not None), default=None),
        running=running,
        paused=paused is not None,
        paused_at=paused["paused_at"] if paused else None,
        paused_by=paused["paused_by"] if paused else None,
    )


async def _depth(sql: Connection[Any], task: Task) -> int:
    table, condition, order = source(task)
    # The ORDER BY keeps it on the partial index; without it the planner may walk finished rows.
    count: int = await sql.fetchval(
        f"SELECT count(*) FROM (SELECT FROM {table} WHERE {condition} ORDER BY {order} LIMIT {DEPTH_CAP}) w"
    )
    return count


async def _oldest(sql: Connection[Any], task: Task) -> float | None:
    """Seconds that the head of the line has waited: the first and the last of the leading column."""
    table, condition, order = source(task)
    age: float | None = await sql.fetchval(
        "SELECT extract(epoch FROM now() - min(queued_at))::float8"
        f" FROM (SELECT queued_at FROM {table} WHERE id IN ("
        f"(SELECT id FROM {table} WHERE {condition} ORDER BY {order} LIMIT 1),"
        f" {_last_lead(task, table, condition)})) heads"
    )
    return None if age is None else max(0.0, age)


def _last_lead(task: Task, table: str, condition: str) -> str:
    index = ready_index(task.drain.model, task.drain.ready) if task.drain else None
    lead = [c.name for c in index.columns] if index is not None else ["id"]
    if len(lead) < 2:
        return "-1"
    # The oldest of the least urgent class: where what waits longest usually is.
    return (
        f"(SELECT id FROM {table} WHERE {condition} AND {lead[0]} = (SELECT {lead[0]} FROM {table}"
        f" WHERE {condition} ORDER BY {', '.join(f'{c} DESC' for c in lead)} LIMIT 1)"
        f" ORDER BY {', '.join(lead)} LIMIT 1)"
    )


async def _running(sql: Connection[Any], task: Task) -> int:
    if task.drain:
        statement = f"SELECT count(*) FROM {task.drain.table} WHERE status = '{task.drain.live}'"
    else:
        statement = f"SELECT count(*) FROM task_run WHERE status = 'running' AND task = '{task.name}'"
    count: int = await sql.fetchval(statement)
    return count


async def workers(sql: Connection[Any], settings: Settings) -> list[WorkerView]:
    """The worker processes that count as alive, with how long ago each gave a sign of life."""
    rows = await sql.fetch(
        "SELECT id, host, group_name, pid, version, started_at,"
        " extract(epoch FROM now() - heartbeat_at)::float8 AS silent_s"
        " FROM worker WHERE settled_at IS NULL ORDER BY group_name, id"
    )
    return [
        WorkerView(
            id=r["id"],
            host=r["host"].partition("/")[0],
            group=r["group_name"],
            pid=r["pid"],
            version=r["version"],
            started_at=r["started_at"],
            silent_s=max(0.0, r["silent_s"]),
            well=r["silent_s"] < 3 * settings.heartbeat,
        )
        for r in rows
    ]


async def recent_runs(
    sql: Connection[Any], register: Register, limit: int = 50, *, before: int | None = None
) -> list[RunView]:
    """The last recorded executions, newest first; `before` is the id behind which a page goes on."""
    rows = await sql.fetch(
        "SELECT id, task, lane, kind, status, queued_at, claimed_at, finished_at, counts, error, asked_by,"
        " cancel_asked_at FROM task_run WHERE ($2::bigint IS NULL OR id < $2) ORDER BY id DESC LIMIT $1",
        limit,
        before,
    )
    return [_run(register, r) for r in rows]


def _run(register: Register, row: Any) -> RunView:
    task = register.find(row["task"])
    return RunView(
        id=row["id"],
        task=row["task"],
        lane=row["lane"],
        kind=row["kind"],
        summary=task.summary if task else "A task of an earlier version",
        status=row["status"],
        queued_at=row["queued_at"],
        started_at=row["claimed_at"],
        finished_at=row["finished_at"],
        counts=dict(row["counts"]),
        error=row["error"],
        asked_by=row["asked_by"],
        cancelling=row["cancel_asked_at"] is not None and row["status"] == "running",
    )


def describe(register: Register, settings: Settings, views: list[LaneView] | None) -> dict[str, Any]:
    """The register as plain data; without a database nobody knows what waits."""
    known = {v.name: v for v in views or ()}
    return {
        "lanes": [_lane_data(lane, settings, known.get(lane.name)) for lane in register.lanes],
        "tasks": [_task_data(task) for task in register.tasks],
    }


def _lane_data(lane: Lane, settings: Settings, view: LaneView | None) -> dict[str, Any]:
    return {
        "name": lane.name,
        "group": lane.group,
        "slots": lane.slots_for(settings),
        "ceiling": lane.ceiling.total_seconds(),
        "depth": view.depth if view else None,
        "oldest_s": view.oldest_s if view else None,
        "paused": view.paused if view else lane.name in settings.pause,
    }


def _task_data(task: Task) -> dict[str, Any]:
    return {
        "name": task.name,
        "lane": task.lane.name,
        "kind": task.kind,
        "limit_s": task.limit.total_seconds(),
        "cron": task.cron,
        "drain": task.drain.table if task.drain else None,
        "ledger": task.ledger.table if task.ledger else None,
        "keep_s": task.keep.total_seconds() if task.keep else None,
    }
