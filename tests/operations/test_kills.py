"""A worker that is killed in the middle of a large action costs nothing but time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator

from appliance.core.paths import PROJECT
from appliance.core.settings import Settings
from appliance.operations import services
from appliance.operations.kinds import Kind
from queues import operations, settling
from queues.declare import REGISTER
from tests.operations.conftest import Library
from tests.queues.conftest import until


COUNT = 25_000


@contextlib.asynccontextmanager
async def worker(settings: Settings) -> AsyncIterator[subprocess.Popen[bytes]]:
    environ = {
        "PATH": os.environ["PATH"],
        "VITRINE_DATABASE_URL": settings.database_url,
        "VITRINE_REDIS_URL": settings.redis_url,
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.operations.worker_process", str(settings.data)],
        cwd=PROJECT,
        env=environ,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await asyncio.to_thread(process.wait, 10)


async def test_a_killed_worker_leaves_an_action_that_goes_on_exactly(
    library: Library, settings: Settings, redis_url: str
) -> None:
    assert redis_url
    ids = await library.fill(COUNT)
    await library.act("tag", ids[:300], tags="sea")
    async with library.db.unit_of_work() as uow:
        wish = await services.wish(uow, Kind.TAG, {"tags": "sea"})
        asked = await services.act(uow, Kind.TAG, ids, wish, person=None)

    async def begun() -> bool:
        return bool((await library.operation(asked.id))["done"] >= 2_000)

    async with worker(settings) as first:
        await until(begun, "the action has begun", limit=60)
        first.send_signal(signal.SIGKILL)
        await asyncio.to_thread(first.wait, 10)
    half = await library.operation(asked.id)
    assert half["status"] == "running"
    assert half["done"] < COUNT
    assert await library.tagged("sea") == max(half["done"], 300)
    # What the supervisor does for a child that it reaped.
    async with library.db.unit_of_work() as uow:
        await settling.settle_worker(uow.sql, REGISTER, half["worker_id"])
    waiting = await library.operation(asked.id)
    assert (waiting["status"], waiting["done"]) == ("pending", half["done"])

    async def done() -> bool:
        return bool((await library.operation(asked.id))["status"] == "done")

    async def noted() -> bool:
        runs = await library.rows("SELECT task FROM task_run WHERE status = 'done'")
        return operations.apply.name in {row["task"] for row in runs}

    async with worker(settings):
        await until(done, "the action is done", limit=90)
        # The run is written down after what it did.
        await until(noted, "the run is written down", limit=30)

    ended = await library.operation(asked.id)
    assert (ended["done"], ended["changed"]) == (COUNT, COUNT - 300)
    assert await library.tagged("sea") == COUNT == await library.uses("sea")
