"""One worker process: the lanes of its group, from its first act to an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import structlog
from saq import CronJob

from appliance.core import db, facts, log
from appliance.core import settings as process_settings
from appliance.core.db import open_database
from appliance.core.settings import Settings
from queues import clock, control, runs
from queues.declare import Lane, Register, Task, load
from queues.doorbell import Doorbell, installation_id
from queues.drain import Runner
from queues.heart import Heart
from queues.outage import is_outage, surely
from queues.process import Contact, Process, Why
from queues.reaping import settle, settle_host
from queues.valkey import BLOCK_S, ClockQueue, ClockWorker, LaneQueue, LaneWorker, connect
from queues.waiting import waiting


__all__ = ["run_group", "serve", "settle", "settle_host"]

TICK_LIMIT_S = 10
"""A tick is a few statements; an orphaned one frees its key within a minute."""
CONNECTIONS = {"quick": 8, "heavy": 10, "long": 4}
STOP_S = 4.0
LET_GO_S, STOP_TRIES = 0.2, 5


def run_group(settings: Settings, group: str) -> None:
    """Serve the lanes of one group until SIGTERM; runs to its end inside this process."""
    process_settings.use(settings)
    log.configure(settings, process=group)
    # Its warnings are about wakes that end early, which is how an orderly stop looks from there.
    logging.getLogger("saq").setLevel(logging.ERROR)
    asyncio.run(serve(settings, group, load()))


async def serve(
    settings: Settings, group: str, register: Register, *, installation: str | None = None
) -> None:
    """Everything that a worker process does, between its first and its last act."""
    pool = CONNECTIONS[group] + (settings.decoders if group == "heavy" else 0)
    database = open_database(settings.database_url, pool=pool, application=f"vitrine {group}")
    bell = Doorbell(
        connect(settings.redis_url, blocking=False), installation or installation_id(settings), register
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
        self.heart = Heart(process)
        # Apart from the doorbell's: a look into an empty queue may wait, a ring may not.
        self.valkey = connect(process.settings.redis_url, blocking=True)
        self.runners = {
            t.name: Runner(process, t, drain)
            for t, drain in process.register.drains()
            if t.lane.group == process.group
        }
        self.wakes: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Enrol, work, and end in an orderly way when asked to."""
        self._hear_signals()
        workers = self._workers()
        loops: list[asyncio.Task[Any]] = []
        if await surely(self._enrol, until=self.process.stopping.is_set):
            beating = (self.heart.beat_for_ever(), self.heart.watch_for_ever(), self._begin())
            loops = [asyncio.create_task(c) for c in beating]
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

    def _queue(self, kind: type[LaneQueue], name: str) -> LaneQueue:
        made = kind(self.valkey, f"{self.process.bell.installation}:{name}")
        made.when_back = self._look_again
        return made

    def _lane_worker(self, lane: Lane) -> LaneWorker:
        return LaneWorker(
            self._queue(LaneQueue, lane.name),
            functions=[(t.name, self._wake(t)) for t in self.process.register.of(lane)],
            concurrency=lane.slots_for(self.process.settings),
            dequeue_timeout=BLOCK_S,
        )

    def _clock_worker(self) -> ClockWorker:
        jobs = [
            CronJob(self._tick(t), cron=t.cron or "", timeout=TICK_LIMIT_S, retries=1, ttl=-1)
            for t in self.process.register.scheduled()
        ]
        return ClockWorker(
            self._queue(ClockQueue, "clock"),
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

    async def _guarded(self, what: str, act: Coroutine[Any, Any, None]) -> None:
        """The queues' edge: an error is written down here, and SAQ's own limit cuts nothing off.

        What was begun ends by the limits of its rows, in a task that only the process may cancel.
        """
        working = asyncio.create_task(self._written_down(what, act))
        self.wakes.add(working)
        working.add_done_callback(self.wakes.discard)
        await asyncio.shield(working)

    async def _written_down(self, what: str, act: Coroutine[Any, Any, None]) -> None:
        try:
            await act
        except Exception as error:  # noqa: BLE001 - nothing above could do better than say it
            if is_outage(error):
                log.get().warning("wake met an outage", what=what, error=runs.describe(error))
            else:
                log.get().error("wake failed", what=what, error=runs.describe(error), exc_info=error)

    # -- what may have been missed

    async def _begin(self) -> None:
        """Start what is started by a start, and look at everything that came while nobody ran."""
        await self._written_down("start", self._ring_waiting())
        for task in self.process.register.tasks:
            if task.at_start and task.lane.group == self.process.group:
                await self._written_down("start", self._start(task))

    def _look_again(self) -> None:
        """The doorbell was away: what was rung meanwhile is lost."""
        if not self.process.stopping.is_set():
            working = asyncio.create_task(self._written_down("doorbell", self._ring_waiting()))
            self.wakes.add(working)
            working.add_done_callback(self.wakes.discard)

    async def _ring_waiting(self) -> None:
        tasks = await surely(self._waiting, until=self.process.stopping.is_set)
        for task in tasks or ():
            await self.process.bell.ring(task, force=True)
        if self.process.group == "quick":
            await self._clock()

    async def _waiting(self) -> list[Task]:
        async with self.process.database.unit_of_work() as uow:
            tasks = await waiting(uow.sql, self.process.register)
        return [t for t in tasks if t.lane.group == self.process.group]

    async def _start(self, task: Task) -> None:
        async with self.process.database.unit_of_work() as uow:
            ring = await clock.queue(uow, task, asked_by=None, silence=self.process.settings.silence)
        if isinstance(ring, clock.Ring):
            await self.process.bell.ring(ring.task, ring.row)

    # -- ending

    async def _stop(self, workers: list[LaneWorker], loops: list[asyncio.Task[Any]]) -> None:
        """Take nothing new, give back what is in hand, and say that this worker has ended."""
        log.get().info("worker is stopping", in_hand=len(self.process.active))
        self.process.end_all(Why.STOPPING)
        if self.wakes:
            await asyncio.wait(set(self.wakes), timeout=STOP_S)
        for loop in (*loops, *self.wakes):
            loop.cancel()
        left = {*loops, *(t for w in workers for t in w.tasks)}
        left |= {asyncio.create_task(w.stop()) for w in workers}
        # A connection that is just being made can swallow a cancellation, and then looks into its empty
        # queue for half a minute.
        for _ in range(STOP_TRIES):
            if left:
                _, left = await asyncio.wait(left, timeout=LET_GO_S)
            for task in left:
                task.cancel()
        await self.heart.stop()
        await self.valkey.aclose()
