"""SAQ bent to our rules: rows own recovery, Valkey may vanish, and nothing here may raise or spin."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from saq import Job, Status, Worker
from saq.queue.redis import RedisQueue
from saq.utils import now

from appliance.core import log


UNREACHABLE = (RedisError, OSError, TimeoutError)
BLOCK_S = 30.0
"""How long one look into an empty queue waits."""
_RETRY_S = 1.0


def connect(url: str, *, blocking: bool) -> Redis:
    """A client; a blocking one waits longer than its longest look, the other must not hold a page up."""
    return Redis.from_url(
        url,
        socket_connect_timeout=2,
        socket_timeout=BLOCK_S + 10 if blocking else 3,
        retry=Retry(NoBackoff(), 1),
    )


def _nothing() -> None:
    """Nobody has to know."""


class LaneQueue(RedisQueue):
    """A lane's queue of wakes."""

    def __init__(self, redis: Redis, name: str) -> None:
        super().__init__(redis, name=name)
        self.away = False
        self.when_back: Callable[[], None] = _nothing
        """Called when the server answers again; it may have forgotten everything."""

    async def sweep(self, lock: int = 60, abort: float = 5.0) -> list[str]:  # noqa: ARG002
        """Nothing: rows are the truth, and stewards recover them."""
        return []

    async def dequeue(self, timeout: float = 0.0, poll_interval: float = 0.0) -> Job | None:  # noqa: ASYNC109
        """The next wake; while Valkey is away it waits instead of spinning."""
        try:
            if self.away:
                # A look into an empty queue would say for half a minute nothing about the server.
                await self.redis.ping()  # type: ignore[misc]
                self._note(None)
            job = await super().dequeue(timeout, poll_interval)
        except UNREACHABLE as error:
            self._note(error)
            await asyncio.sleep(_RETRY_S)
            return None
        self._note(None)
        return job

    async def retry(self, job: Job, error: str | None) -> None:
        """An orderly stop gives rows back; putting the wake back would start it a second time."""
        await self.finish(job, Status.ABORTED, error=error)

    async def _update(self, job: Job, status: Status | None = None, **kwargs: Any) -> None:
        await self._quietly(super()._update(job, status, **kwargs))

    async def _finish(
        self, job: Job, status: Status, *, result: Any = None, error: str | None = None
    ) -> None:
        await self._quietly(super()._finish(job, status, result=result, error=error))

    async def _quietly(self, act: Awaitable[None]) -> None:
        # The job's record is of no use to us; failing to write it must not fail the work.
        try:
            await act
        except UNREACHABLE as error:
            self._note(error)

    async def tidy(self) -> int:
        """Forget wakes that died with their worker; their rows have long been found again."""
        gone = 0
        active: list[bytes] = await self.redis.lrange(self._active, 0, -1)  # type: ignore[misc]
        for job_id in active:
            job = await self._get_job_by_id(job_id)
            if job is None or _overdue(job):
                await self.redis.lrem(self._active, 0, job_id)  # type: ignore[misc,arg-type]
                await self.redis.zrem(self._incomplete, job_id)
                gone += await self.redis.delete(job_id)
        return gone

    def _note(self, error: BaseException | None) -> None:
        if (error is not None) != self.away:
            self.away = error is not None
            if error is None:
                log.get().info("lane came back", queue=self.name)
                self.when_back()
            else:
                log.get().warning("lane lost its server", queue=self.name, error=str(error))


def _overdue(job: Job) -> bool:
    began = job.started or job.queued
    return bool(began) and now() - began > 1000 * (job.timeout + 60)


class ClockQueue(LaneQueue):
    """The queue of ticks; here SAQ's sweeper stays, or an orphaned tick would block its schedule."""

    async def sweep(self, lock: int = 60, abort: float = 5.0) -> list[str]:
        """Free the keys of orphaned ticks."""
        swept: list[str] = await RedisQueue.sweep(self, lock, abort)
        return swept


class LaneWorker(Worker[Any]):
    """Takes wakes of one lane; the process decides about signals, and nothing needs upkeep."""

    SIGNALS = []  # noqa: RUF012 - SAQ's own spelling

    async def upkeep(self) -> list[asyncio.Task[None]]:
        """Lanes have no schedules, no sweeper and no aborts: the rows say all of it."""
        return []


class ClockWorker(LaneWorker):
    """Keeps the schedules alive."""

    async def upkeep(self) -> list[asyncio.Task[None]]:
        """Put the next ticks in place and free the orphaned ones."""
        every: list[tuple[Callable[[int], Awaitable[Any]], float]] = [
            (self.schedule, self.timers["schedule"]),
            (self.queue.sweep, self.timers["sweep"]),
        ]
        return [asyncio.create_task(self._poll(act, pause)) for act, pause in every]

    async def _poll(self, act: Callable[[int], Awaitable[Any]], pause: float) -> None:
        while not self.event.is_set():
            # An outage is said once by the queue itself; ticks go on when the server is back.
            with contextlib.suppress(*UNREACHABLE):
                await act(max(1, int(pause)))
            await asyncio.sleep(pause)
