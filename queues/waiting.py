"""What waits: one look per table through the partial index of its waiting rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from queues.declare import Register, Task
from queues.refusals import ready_index


if TYPE_CHECKING:
    from asyncpg import Connection


def source(task: Task) -> tuple[str, str, str]:
    """SQL of where a task's waiting rows stand: table, condition, and an order that an index serves."""
    if task.drain:
        index = ready_index(task.drain.model, task.drain.ready)
        order = ", ".join(c.name for c in index.columns) if index is not None else "id"
        return task.drain.table, f"status = '{task.drain.ready}'", order
    if task.ledger:
        return task.ledger.table, f"status = '{task.ledger.pending}'", "id"
    return "task_run", f"status = 'pending' AND task = '{task.name}'", "id"


async def has_waiting(sql: Connection[Any], task: Task) -> bool:
    """True when at least one row waits for this task."""
    table, condition, order = source(task)
    # The ORDER BY keeps the planner on the partial index: a plain LIMIT 1 may walk the finished rows.
    row = await sql.fetchval(f"SELECT id FROM {table} WHERE {condition} ORDER BY {order} LIMIT 1")
    return row is not None


async def waiting(sql: Connection[Any], register: Register) -> list[Task]:
    """The tasks for which something waits, whose lanes are not paused."""
    paused = set(await paused_lanes(sql))
    return [t for t in register.tasks if t.lane.name not in paused and await has_waiting(sql, t)]


async def paused_lanes(sql: Connection[Any]) -> list[str]:
    """Lanes that a person or the environment has paused."""
    return [r[0] for r in await sql.fetch("SELECT lane FROM lane_state WHERE paused_at IS NOT NULL")]
