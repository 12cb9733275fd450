"""Tables of the register: workers, recorded executions, lanes and schedules."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Index, Integer, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from appliance.core.columns import Base, Keyed, RunColumns, one_of


class Worker(Keyed, Base):
    """One worker process; its heartbeat is the only sign of life that recovery believes."""

    __tablename__ = "worker"
    __table_args__ = (Index("ix_worker_live", "heartbeat_at", postgresql_where=text("settled_at IS NULL")),)

    host: Mapped[str]
    group_name: Mapped[str]
    pid: Mapped[int] = mapped_column(Integer)
    pid_started: Mapped[int]
    version: Mapped[str]
    started_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    heartbeat_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    ended_at: Mapped[datetime | None]
    settled_at: Mapped[datetime | None]
    sweeps: Mapped[int] = mapped_column(Integer, server_default=text("0"))


class RunStatus(enum.StrEnum):
    """States of a recorded execution."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    ERROR = "error"
    CANCELLED = "cancelled"
    RECOVERED = "recovered"


RUN_TRANSITIONS: dict[RunStatus, frozenset[RunStatus]] = {
    RunStatus.PENDING: frozenset({RunStatus.RUNNING, RunStatus.CANCELLED}),
    # Back to pending when the worker is stopped in an orderly way: that costs nothing.
    RunStatus.RUNNING: frozenset(
        {
            RunStatus.PENDING,
            RunStatus.DONE,
            RunStatus.ERROR,
            RunStatus.CANCELLED,
            RunStatus.RECOVERED,
        }
    ),
    RunStatus.DONE: frozenset(),
    RunStatus.ERROR: frozenset(),
    RunStatus.CANCELLED: frozenset(),
    RunStatus.RECOVERED: frozenset(),
}


class TaskRun(Keyed, RunColumns, Base):
    """One recorded execution of a task, or one pass of a drain that did something."""

    __tablename__ = "task_run"
    __table_args__ = (
        CheckConstraint(one_of("status", RunStatus), name="status"),
        Index("ix_task_run_live", "task", postgresql_where=text("status IN ('pending', 'running')")),
        Index("ix_task_run_recent", text("id DESC"), "task"),
        Index(
            "ix_task_run_finished",
            "finished_at",
            postgresql_where=text("status NOT IN ('pending', 'running')"),
        ),
    )

    task: Mapped[str]
    lane: Mapped[str]
    kind: Mapped[str]
    status: Mapped[str] = mapped_column(server_default=text("'pending'"))
    ledger_id: Mapped[int | None]
    counts: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default=text("'{}'::jsonb"))
    trace: Mapped[str | None]
    asked_by: Mapped[str | None]
    cancel_asked_at: Mapped[datetime | None]


class LaneState(Base):
    """What a person changed about a lane; kept over restarts."""

    __tablename__ = "lane_state"

    lane: Mapped[str] = mapped_column(primary_key=True)
    paused_at: Mapped[datetime | None]
    paused_by: Mapped[str | None]
    reason: Mapped[str | None]


class TaskSchedule(Base):
    """When a scheduled task last began; a tick asks this, not its own clock."""

    __tablename__ = "task_schedule"

    task: Mapped[str] = mapped_column(primary_key=True)
    last_started_at: Mapped[datetime | None]
    last_finished_at: Mapped[datetime | None]
    last_outcome: Mapped[str | None]


class Setting(Base):
    """Values that belong to the installation rather than to its environment."""

    __tablename__ = "setting"

    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[Any] = mapped_column(JSONB)
    changed_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
