"""The doorbell: the only way a wake gets into Valkey, and it may be lost or doubled at any time."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from redis.asyncio import Redis
from saq import Job

from appliance.core import facts, log
from appliance.core.errors import SettingsError
from appliance.core.facts import Fact
from appliance.core.settings import Settings
from queues.declare import REGISTER, Register, Task, load
from queues.valkey import UNREACHABLE, LaneQueue, connect


# Longer than any wake waits on an idle lane, short enough that a wake lost together with its worker
# is rung again by the refill after next.
RUNG_S = 90


class Doorbell:
    """Rings tasks; never raises: what it cannot ring is found by the refill within a minute."""

    def __init__(self, redis: Redis, installation: str, register: Register = REGISTER) -> None:
        self.redis = redis
        self.installation = installation
        self.register = register
        self._queues: dict[str, LaneQueue] = {}
        self._away = False

    def queue(self, name: str) -> LaneQueue:
        """The queue of a lane, under the installation's prefix."""
        if name not in self._queues:
            self._queues[name] = LaneQueue(self.redis, f"{self.installation}:{name}")
        return self._queues[name]

    async def ring(self, task: Task, row: int | None = None, *, force: bool = False) -> bool:
        """Wake a task; many rings become one wake until that wake begins.

        `force` rings even when a wake seems to be on its way: it may have died with its worker.
        """
        try:
            if force:
                await self.redis.delete(self._rung(task, row))
            if await self.redis.set(self._rung(task, row), 1, nx=True, ex=RUNG_S):
                await self.queue(task.lane.name).enqueue(_wake(task, row))
        except UNREACHABLE as error:
            self._note(error)
            return False
        self._note(None)
        return True

    async def begun(self, task: Task, row: int | None) -> None:
        """The first act of a wake: from now on a ring means that something new has come."""
        try:
            await self.redis.delete(self._rung(task, row))
        except UNREACHABLE as error:
            self._note(error)

    async def heard(self, kinds: Sequence[type[Fact]]) -> None:
        """Ring every task that cares about one of these facts."""
        for task in self.register.tasks:
            asked = task.ledger.asked if task.ledger else ()
            if any(kind in task.on or kind in asked for kind in kinds):
                await self.ring(task)

    async def close(self) -> None:
        """End the connections."""
        await self.redis.aclose()

    def _rung(self, task: Task, row: int | None) -> str:
        base = f"{self.installation}:rung:{task.name}"
        return base if row is None else f"{base}:{row}"

    def _note(self, error: BaseException | None) -> None:
        # One line for each change of state: an outage of an hour must not fill the log.
        if (error is not None) != self._away:
            self._away = error is not None
            if error is None:
                log.get().info("doorbell came back")
            else:
                log.get().warning("doorbell went away", error=str(error))


def _wake(task: Task, row: int | None) -> Job:
    # A key of its own for each wake: a shared one swallows a ring that comes while its wake ends.
    return Job(
        function=task.name,
        kwargs={} if row is None else {"row": row},
        key=str(uuid.uuid4()),
        timeout=int(task.wake_timeout.total_seconds()),
        retries=1,
        ttl=-1,
    )


def installation_id(settings: Settings) -> str:
    """The identity of the installation, which prefixes every key."""
    try:
        known: dict[str, Any] = json.loads(settings.home.instance.read_text(encoding="utf-8"))
        return str(known["id"])
    except (OSError, ValueError, KeyError, TypeError):
        raise SettingsError(
            "The data directory has no identity yet", f"Start it once with: vitrine up --data {settings.data}"
        ) from None


_here: Doorbell | None = None


def here() -> Doorbell | None:
    """The doorbell that this process is connected to, if it is."""
    return _here


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Doorbell]:
    """A doorbell that hears the facts of this process."""
    global _here  # noqa: PLW0603 - like the facts that it hears, it belongs to the process
    bell = _here = Doorbell(connect(settings.redis_url, blocking=False), installation_id(settings), load())
    facts.ring_with(bell.heard)
    try:
        yield bell
    finally:
        _here = None
        facts.ring_with(facts._silent)  # noqa: SLF001 - the process ends or has no bell from here on
        await bell.close()
