"""Servers that go away: the worker lives on, resumes by itself, and says it once."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from appliance.core import db as databases
from appliance.core import facts
from appliance.core.db import Database, open_database
from appliance.core.settings import Settings
from appliance.runtime.pgwire import Answer
from migrations.run import upgrade_database
from queues.doorbell import Doorbell
from queues.process import Contact, Process
from queues.valkey import connect
from queues.worker import Group
from tests.queues.conftest import INSTALLATION, until
from tests.queues.tables import TestBase, Yard
from tests.queues.test_drain import add, crates, states
from tests.servers import Servers, start_servers, wait_until


class Fragile:
    """Servers of this test alone, which may be killed and started again."""

    def __init__(self, servers: Servers) -> None:
        self.servers = servers
        self.postgres, self.valkey = servers.processes

    def kill_database(self) -> None:
        self.postgres.send_signal(signal.SIGKILL)
        self.postgres.wait()

    def start_database(self) -> None:
        def ready() -> bool:
            if self.postgres.poll() is not None:
                # Its former children may still hold the shared memory.
                self.postgres = self.servers.postgres.start()
            return self.servers.postgres.answer() is Answer.READY

        wait_until(ready, "the database is back")

    def kill_doorbell(self) -> None:
        self.valkey.send_signal(signal.SIGKILL)
        self.valkey.wait()

    def start_doorbell(self) -> None:
        self.valkey = self.servers.valkey.start()
        wait_until(self.servers.valkey.answers, "the doorbell is back")


@pytest.fixture
async def fragile() -> AsyncIterator[Fragile]:
    made = Fragile(start_servers())
    yield made
    for process in (made.postgres, made.valkey):
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
    for process in (made.postgres, made.valkey):
        process.wait(20)
    made.servers.stop()


@pytest.fixture
async def own(fragile: Fragile) -> AsyncIterator[Database]:
    database = open_database(fragile.servers.database_url, pool=5)
    await upgrade_database(database)
    async with database.engine.begin() as connection:
        await connection.run_sync(TestBase.metadata.create_all)
        # The servers of the tests are hasty; here what was committed must survive a kill.
        await connection.execute(text("ALTER DATABASE vitrine SET synchronous_commit = on"))
    await database.engine.dispose()
    databases.use(database)
    yield database
    databases.use(None)
    await database.close()


@pytest.fixture
async def group(fragile: Fragile, own: Database, settings: Settings) -> AsyncIterator[Any]:
    made = settings.with_(
        database_url=fragile.servers.database_url,
        redis_url=fragile.servers.redis_url,
        heartbeat=0.5,
        silence=5,
    )
    yard = Yard(parallel=2)
    bell = Doorbell(connect(made.redis_url, blocking=True), INSTALLATION, yard.register)
    process = Process(made, "quick", yard.register, own, bell, Contact(0.5))
    facts.ring_with(bell.heard)
    serving = asyncio.create_task(Group(process).serve())
    await until(lambda: process.worker_id, "enrolled")
    yield yard, process
    process.stopping.set()
    await asyncio.wait({serving}, timeout=60)
    await bell.close()
    assert serving.done()


def _more_than(yard: Yard, count: int) -> bool:
    return len(yard.seen) > count


async def test_a_killed_database_costs_nothing_but_time(
    fragile: Fragile, own: Database, group: Any, capfd: Any
) -> None:
    yard, process = group
    body = yard._stow

    async def slowly(item: Any) -> str:
        await asyncio.sleep(0.01)
        return await body(item)

    yard._stow = slowly
    await add(own, 300)
    for _ in range(2):
        seen = len(yard.seen)
        await until(partial(_more_than, yard, seen + 20), "in the middle")
        await asyncio.to_thread(fragile.kill_database)
        await asyncio.to_thread(fragile.start_database)

    async def done() -> bool:
        with contextlib.suppress(Exception):
            return await states(own) == {"complete": 300}
        return False

    await until(done, "all stowed")
    found = await crates(own)
    assert {c["effects"] for c in found} == {1}
    assert {c["deliveries"] for c in found} == {0}
    assert {c["reason"] for c in found} == {None}

    async def alive() -> bool:
        async with own.unit_of_work() as uow:
            return bool(
                await uow.sql.fetchval(
                    "SELECT heartbeat_at > now() - interval '2 s' AND settled_at IS NULL"
                    " FROM worker WHERE id = $1",
                    process.worker_id,
                )
            )

    await until(alive, "its heart beats again")
    assert len(capfd.readouterr().err.splitlines()) < 60


async def test_what_was_rung_while_the_doorbell_was_away_is_found_when_it_is_back(
    fragile: Fragile, own: Database, group: Any, tmp_path: Path
) -> None:
    yard, _ = group
    await asyncio.to_thread(fragile.kill_doorbell)
    await add(own, 3)
    assert await states(own) == {"pending": 3}

    await asyncio.to_thread(fragile.start_doorbell)

    async def done() -> bool:
        return await states(own) == {"complete": 3}

    await until(done, "found without a further ring")
    assert len(yard.seen) == 3
