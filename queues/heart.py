"""The signs of life of a worker process, and what it notices while it works."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import sys

from appliance.core import log
from appliance.core.db import open_database
from queues import settling
from queues.outage import Outages
from queues.process import Process, Why
from queues.runs import describe
from queues.waiting import paused_lanes


WATCH_S = 2.0
"""How often something in hand is looked after: a cancel has to reach its body within 5 s."""
HANGS_FROM_S = 60.0


class Heart:
    """Beats over a connection of its own, so that a busy pool never makes a process look dead."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.every = process.settings.heartbeat
        self.database = open_database(
            process.settings.database_url, pool=1, application=f"vitrine {process.group} heartbeat"
        )
        self._outages = 0
        self._away = False

    async def beat_for_ever(self) -> None:
        """A sign of life each heartbeat; an outage is said once."""
        while True:
            self._arm()
            await asyncio.sleep(self.every if await self._beat() else min(1.0, self.every))

    async def _beat(self) -> bool:
        try:
            async with asyncio.timeout(max(5.0, self.every)):
                await self.process.beat(self.database)
                await self._settle_strays()
        except Exception as error:  # noqa: BLE001 - a heart that stops beating is the worst answer
            Outages.count += 1
            self._say(describe(error))
            return False
        self._say(None)
        return True

    def _say(self, error: str | None) -> None:
        if (error is not None) == self._away:
            return
        self._away = error is not None
        if error is None:
            log.get().info("heartbeat came back")
        else:
            log.get().warning("heartbeat failed", error=error)

    def _arm(self) -> None:
        # A loop that stands still cannot say so: this thread ends the process with a traceback, and
        # the supervisor settles and restarts it. Far beyond what a slow disk or a busy box explains.
        silence = self.process.settings.silence
        if silence >= HANGS_FROM_S:
            faulthandler.dump_traceback_later(2 * silence, exit=True, file=sys.stderr)

    async def _settle_strays(self) -> None:
        """After an outage: executions that were stored as ours although their answer never came."""
        if self._outages == Outages.count:
            return
        seen = Outages.count
        held = list(self.process.active)
        condition = settling.strays(
            self.process.worker_id,
            [a.row for a in held if a.row is not None],
            [a.run_id for a in held if a.run_id is not None],
        )
        async with self.database.unit_of_work() as uow:
            settled = await settling.settle(uow.sql, self.process.register, condition)
        self._outages = seen
        for task in settled.tasks:
            await self.process.bell.ring(task, force=True)

    async def watch_for_ever(self) -> None:
        """While something is in hand, see whether its lane was paused or it was cancelled."""
        while True:
            await asyncio.sleep(WATCH_S)
            if self.process.active:
                # The heartbeat says when the database is away.
                with contextlib.suppress(Exception):
                    await self._look()

    async def _look(self) -> None:
        known = {a.run_id: a for a in self.process.active if a.run_id is not None}
        async with self.database.unit_of_work() as uow:
            paused = set(await paused_lanes(uow.sql))
            cancelled = [r[0] for r in await uow.sql.fetch(_CANCELLED, list(known))]
        for run_id in cancelled:
            known[run_id].end(Why.CANCELLED)
        for activity in list(self.process.active):
            if activity.task.drain and activity.task.lane.name in paused:
                activity.end(Why.PAUSED)

    async def stop(self) -> None:
        """Say that this worker has ended, and settle what it could not give back."""
        faulthandler.cancel_dump_traceback_later()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(1), self.database.unit_of_work() as uow:
                await settling.settle_worker(uow.sql, self.process.register, self.process.worker_id)
        await self.database.close()


_CANCELLED = (
    "SELECT id FROM task_run WHERE id = ANY($1::bigint[])"
    " AND cancel_asked_at IS NOT NULL AND status = 'running'"
)
