"""What the wakes of one worker process share: its database, its row, what is in hand, when to stop."""

from __future__ import annotations

import asyncio
import enum
import os
from dataclasses import dataclass, field

from appliance.core import clock, log, version
from appliance.core.db import Database
from appliance.core.settings import Settings
from queues import liveness
from queues.declare import Register, Task
from queues.doorbell import Doorbell


class Why(enum.StrEnum):
    """Why something in hand has to end early."""

    STOPPING = "stopping"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    LOST = "lost"


@dataclass(eq=False, slots=True)
class Activity:
    """One run or one pass of a drain that this process has in hand."""

    task: Task
    run_id: int | None = None
    row: int | None = None
    """The ledger row, where there is a ledger."""
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    why: Why | None = None

    def end(self, why: Why) -> None:
        """Ask for an early end; the first reason stands."""
        if self.why is None:
            self.why = why
            self.ending.set()


class Contact:
    """When this process last reached the database, so that a sweep trusts no silence too early.

    After a suspend or an outage everybody looks silent, although all of them are about to speak.
    """

    def __init__(self, heartbeat: float) -> None:
        self.heartbeat = heartbeat
        # Starting counts as coming back: the others may be starting as well.
        self._resumed = self._last = clock.boottime()

    def note(self) -> None:
        """The database was reached."""
        now = clock.boottime()
        if now - self._last > 2 * self.heartbeat:
            self._resumed = now
        self._last = now

    def patience(self) -> float:
        """Seconds until silence means something again."""
        now = clock.boottime()
        if now - self._last > 2 * self.heartbeat:
            return 1.5 * self.heartbeat
        return max(0.0, self._resumed + 1.5 * self.heartbeat - now)


@dataclass(eq=False, slots=True)
class Process:
    """One worker process of a group."""

    settings: Settings
    group: str
    register: Register
    database: Database
    bell: Doorbell
    contact: Contact
    worker_id: int = 0
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    active: set[Activity] = field(default_factory=set)

    def begin(self, task: Task) -> Activity:
        """Take something in hand."""
        activity = Activity(task)
        if self.stopping.is_set():
            activity.end(Why.STOPPING)
        self.active.add(activity)
        return activity

    def end_all(self, why: Why) -> None:
        """Ask everything in hand to end."""
        for activity in list(self.active):
            activity.end(why)

    async def enrol(self) -> None:
        """Write the row by whose heartbeat this process counts as alive."""
        pid = os.getpid()
        async with self.database.unit_of_work() as uow:
            self.worker_id = await uow.sql.fetchval(
                "INSERT INTO worker (host, group_name, pid, pid_started, version)"
                " VALUES ($1, $2, $3, $4, $5) RETURNING id",
                liveness.host(),
                self.group,
                pid,
                liveness.born(pid) or 0,
                version.current(),
            )
        self.contact.note()
        log.get().info("worker enrolled", worker_id=self.worker_id)

    async def beat(self, database: Database) -> None:
        """One sign of life; a process that was declared dead begins anew with empty hands."""
        async with database.unit_of_work() as uow:
            alive = await uow.sql.fetchval(
                "UPDATE worker SET heartbeat_at = now() WHERE id = $1 AND settled_at IS NULL RETURNING id",
                self.worker_id,
            )
        self.contact.note()
        if alive is None and not self.stopping.is_set():
            log.get().warning("worker was declared dead, began anew", worker_id=self.worker_id)
            # Its rows belong to others now; what is still in hand could only waste time.
            self.end_all(Why.LOST)
            await self.enrol()
