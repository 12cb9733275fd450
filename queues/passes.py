"""The recorded execution of a drain's pass: written when it first has something in hand."""

from __future__ import annotations

import uuid
from collections import Counter

import msgspec
import structlog

from appliance.core.db import UnitOfWork
from queues.declare import Task
from queues.process import Process
from queues.runs import note_finished


class Record:
    """One row of task_run for one pass that did something."""

    def __init__(self, process: Process, task: Task) -> None:
        self.process = process
        self.task = task
        self.claim = uuid.uuid4()
        self.id: int | None = None

    async def open(self, uow: UnitOfWork) -> int:
        """Write the row."""
        run_id: int = await uow.sql.fetchval(
            "INSERT INTO task_run (task, lane, kind, status, claim, worker_id, claimed_at)"
            " VALUES ($1, $2, 'drain', 'running', $3, $4, now()) RETURNING id",
            self.task.name,
            self.task.lane.name,
            self.claim,
            self.process.worker_id,
        )
        structlog.contextvars.bind_contextvars(run=run_id)
        return run_id

    async def close(self, uow: UnitOfWork, counts: Counter[str], *, status: str) -> None:
        """Write what the pass did; a pass that was declared dead stays as it was judged."""
        if self.id is None:
            return
        await note_finished(uow.sql, self.task, status)
        await uow.sql.execute(
            "UPDATE task_run SET status = $4, counts = $3, finished_at = now(), claim = NULL,"
            " worker_id = NULL WHERE id = $1 AND claim = $2 AND status = 'running'",
            self.id,
            self.claim,
            msgspec.json.encode(dict(counts)).decode(),
            status,
        )
