"""One worker process: the lanes of its group, its heartbeat, and an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from saq import CronJob

from appliance.core import db, facts, log
from appliance.core import settings as process_settings
from appliance.core.db import open_database
from appliance.core.settings import Settings
from queues import clock, control, runs, settling
from queues.declare import Lane, Register, Task, load
from queues.doorbell import Doorbell, installation_id
from queues.drain import Runner
from queues.outage import Outages, is_outage, surely
from queues.process import Contact, Process, Why
from queues.reaping import settle, settle_host
from queues.valkey import BLOCK_S, ClockQueue, ClockWorker, LaneWorker, connect
from queues.waiting import waiting


__all__ = ["run_group", "serve", "settle", "settle_host"]

TICK_LIMIT_S = 10
"""A tick is a few statements; an orphaned one frees its key within a minute."""
WATCH_S = 2.0
CONNECTIONS = {"quick": 8, "heavy": 10, "long": 4}
STOP_S = 4.0


def run_group(settings: Settings, group: str) -> None:
    """Serve the lanes of one group until SIGTERM; runs to its end inside this process."""
    process_settings.use(settings)
    log.configure(settings, process=group)
    asyncio.run(serve(settings, group, load()))


async def serve(
    settings: Settings, group: str, register: Register, *, installation: str | None = None
) -> None:
    """Everything that a worker process does, between its first and its last act."""
    pool = CONNECTIONS[group] + (settings.decoders if group == "heavy" else 0)
    database = open_database(settings.database_url, pool=pool, application=f"vitrine {group}")
    bell = Doorbell(
        connect(settings.redis_url, blocking=True), installation or installation_id(settings), register
    )
    process = Process(settings, group, register, database, bell, Contact(settings.heartbeat))
    db.use(database)
    facts.ring_with(bell.heard)
    try:
        await Group(process).serve()
    finally:
        await bell.close()
        await database.close()


class Group:
    """The running parts of a worker process."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.runners = {
            t.name: Runner(process, t, drain)
            for t, drain in process.register.drains()
            if t.lane.group == process.group
        }
        self.wakes: set[asyncio.Task[Any]] = set()
        self.pulse = open_database(
            process.settings.database_url, pool=1, application=f"vitrine {process.group} heartbeat"
        )

    async def serve(self) -> None:
        """Enrol, work, and end in an orderly way when asked to."""
        self._hear_signals()
        workers = self._workers()
        loops: list[asyncio.Task[Any]] = []
        if await surely(self._enrol, until=self.process.stopping.is_set):
            loops = [asyncio.create_task(c) for c in (self._beats(), self._watch(), self._begin())]
            loops += [asyncio.create_task(w.start()) for w in workers]
            await self.process.stopping.wait()
        await self._stop(workers, loops)

    async def _enrol(self) -> bool:
        await control.pause_by_environment(self.process.settings, self.process.register)
        await self.process.enrol()
        return True

    def _hear_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(ValueError, RuntimeError):
                loop.add_signal_handler(number, self.process.stopping.set)

    # -- taking wakes

    def _workers(self) -> list[LaneWorker]:
        lanes = self.process.register.group(self.process.group)
        workers = [self._lane_worker(lane) for lane in lanes if self.process.register.of(lane)]
        if self.process.group == "quick":
            workers.append(self._clock_worker())
        return workers

    def _lane_worker(self, lane: Lane) -> LaneWorker:
        return LaneWorker(
            self.process.bell.queue(lane.name),
            functions=[(t.name, self._wake(t)) for t in self.process.register.of(lane)],
            concurrency=lane.slots_for(self.process.settings),
            dequeue_timeout=BLOCK_S,
        )

    def _clock_worker(self) -> ClockWorker:
        bell = self.process.bell
        jobs = [
            CronJob(self._tick(t), cron=t.cron or "", timeout=TICK_LIMIT_S, retries=1, ttl=-1)
            for t in self.process.register.scheduled()
        ]
        return ClockWorker(
            ClockQueue(bell.redis, f"{bell.installation}:clock"),
            functions=[],
            concurrency=1,
            cron_jobs=jobs,
            cron_tz=self.process.settings.zone,
            dequeue_timeout=BLOCK_S,
            timers={"schedule": 5, "sweep": 60, "abort": 60, "worker_info": 60},
        )

    def _tick(self, task: Task) -> Callable[..., Awaitable[None]]:
        async def ticked(_context: Any) -> None:
            await self._guarded("clock", self._clock())

        # SAQ names a schedule by this.
        ticked.__qualname__ = task.name
        return ticked

    async def _clock(self) -> None:
        p = self.process
        await clock.tick(p.database, p.bell, p.register, p.settings)

    def _wake(self, task: Task) -> Callable[..., Awaitable[None]]:
        async def woken(_context: Any, *, row: int | None = None) -> None:
            await self.process.bell.begun(task, row)
            await self._guarded(task.name, self.work(task, row))

        return woken

    async def work(self, task: Task, row: int | None) -> None:
        """One wake."""
        if self.process.stopping.is_set():
            return
        with structlog.contextvars.bound_contextvars(lane=task.lane.name, task=task.name):
            if task.name in self.runners:
                await self.runners[task.name].wake()
            else:
                await runs.execute(self.process, task, row)

    async def _guarded(self, what: str, act: Awaitable[None]) -> None:
        """The queues' edge: an error is written down here and never reaches SAQ."""
        me = asyncio.current_task()
        if me is not None:
            self.wakes.add(me)
        try:
            await act
        except Exception as error:  # noqa: BLE001 - nothing above could do better than say it
            if is_outage(error):
                log.get().warning("wake met an outage", what=what, error=runs.describe(error))
            else:
                log.get().error("wake failed", what=what, error=runs.describe(error), exc_info=error)
        finally:
            self.wakes.discard(me)

    # -- staying alive

    async def _begin(self) -> None:
        """Look once at everything that may have been missed while nobody ran."""
        p = self.process
        async with p.database.unit_of_work() as uow:
            tasks = [t for t in await waiting(uow.sql, p.register) if t.lane.group == p.group]
        for task in tasks:
            await p.bell.ring(task, force=True)
        if p.group == "quick":
            await self._clock()
        for task in p.register.tasks:
            if task.at_start and task.lane.group == p.group:
                await self._start(task)

    async def _start(self, task: Task) -> None:
        async with self.process.database.unit_of_work() as uow:
            ring = await clock.queue(uow, task, asked_by=None, silence=self.process.settings.silence)
        if isinstance(ring, clock.Ring):
            await self.process.bell.ring(ring.task, ring.row)

    async def _beats(self) -> None:
        """A sign of life each heartbeat; an outage is said once."""
        seen, away = Outages.count, False
        every = self.process.settings.heartbeat
        while True:
            self._arm()
            try:
                async with asyncio.timeout(max(5.0, every)):
                    await self.process.beat(self.pulse)
                    if seen != Outages.count:
                        seen = Outages.count
                        await self._settle_strays()
            except Exception as error:  # noqa: BLE001 - a heart that stops beating is the worst answer
                if not away:
                    log.get().warning("heartbeat failed", error=runs.describe(error))
                away = True
                Outages.count += 1
                await asyncio.sleep(min(1.0, every))
                continue
            if away:
                log.get().info("heartbeat came back")
            away = False
            await asyncio.sleep(every)

    def _arm(self) -> None:
        # A loop that stands still cannot say so: this thread ends the process with a traceback, and
        # the supervisor settles and restarts it. Far beyond what a slow disk or a busy box explains.
        if self.process.settings.silence >= 60:
            faulthandler.dump_traceback_later(2 * self.process.settings.silence, exit=True, file=sys.stderr)

    async def _settle_strays(self) -> None:
        held = [(a.row, a.run_id) for a in self.process.active]
        rows = [row for row, _ in held if row is not None]
        condition = settling.strays(self.process.worker_id, rows, [r for _, r in held if r is not None])
        async with self.pulse.unit_of_work() as uow:
            settled = await settling.settle(uow.sql, self.process.register, condition)
        for task in settled.tasks:
            await self.process.bell.ring(task, force=True)

    async def _watch(self) -> None:
        """While something is in hand, see whether its lane was paused or it was cancelled."""
        while True:
            await asyncio.sleep(WATCH_S)
            if self.process.active:
                with contextlib.suppress(Exception):
                    await self._look()

    async def _look(self) -> None:
        known = {a.run_id: a for a in self.process.active if a.run_id is not None}
        async with self.pulse.unit_of_work() as uow:
            paused = {r[0] for r in await uow.sql.fetch(_PAUSED)}
            cancelled = [r[0] for r in await uow.sql.fetch(_CANCELLED, list(known))]
        for run_id in cancelled:
            known[run_id].end(Why.CANCELLED)
        for activity in list(self.process.active):
            if activity.task.drain and activity.task.lane.name in paused:
                activity.end(Why.PAUSED)

    # -- ending

    async def _stop(self, workers: list[LaneWorker], loops: list[asyncio.Task[Any]]) -> None:
        """Take nothing new, give back what is in hand, and say that this worker has ended."""
        log.get().info("worker is stopping", in_hand=len(self.process.active))
        self.process.end_all(Why.STOPPING)
        me = asyncio.current_task()
        if waiting_for := {w for w in self.wakes if w is not me}:
            await asyncio.wait(waiting_for, timeout=STOP_S)
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*(w.stop() for w in workers), *loops, return_exceptions=True)
        faulthandler.cancel_dump_traceback_later()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(1), self.pulse.unit_of_work() as uow:
                await settling.settle_worker(uow.sql, self.process.register, self.process.worker_id)
        await self.pulse.close()


_PAUSED = "SELECT lane FROM lane_state WHERE paused_at IS NOT NULL"
_CANCELLED = (
    "SELECT id FROM task_run WHERE id = ANY($1::bigint[])"
    " AND cancel_asked_at IS NOT NULL AND status = 'running'"
)
