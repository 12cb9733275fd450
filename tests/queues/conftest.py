"""A worker group inside the test's own loop, over real servers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from appliance.core import db as databases
from appliance.core import facts
from appliance.core.db import Database
from appliance.core.settings import Settings
from queues.doorbell import Doorbell
from queues.process import Contact, Process
from queues.valkey import connect
from queues.worker import Group
from tests.queues.tables import TestBase, Yard
from tests.waiting import until


__all__ = ["Make", "bell", "make_process", "quick", "serve", "store", "until"]


INSTALLATION = "test"


@pytest.fixture(scope="session")
async def _tables(migrated: Database) -> None:
    async with migrated.engine.begin() as connection:
        await connection.run_sync(TestBase.metadata.create_all)


@pytest.fixture
async def store(db: Database, _tables: None) -> Database:
    """The database with the test's own tables, empty."""
    async with db.unit_of_work() as uow:
        await uow.sql.execute("TRUNCATE q_crate, q_voyage RESTART IDENTITY")
    return db


@pytest.fixture
def quick(settings: Settings) -> Settings:
    """Settings whose heartbeat is fast enough for a test to wait for."""
    return settings.with_(heartbeat=0.5, silence=2.0)


@pytest.fixture
async def bell(redis_url: str) -> AsyncIterator[Doorbell]:
    """A doorbell without a register: each test gives its own."""
    made = Doorbell(connect(redis_url, blocking=False), INSTALLATION)
    yield made
    await made.close()


Make = Callable[..., Any]


@pytest.fixture
async def make_process(store: Database, redis_url: str, quick: Settings) -> AsyncIterator[Make]:
    """Builds the context of a worker process, not enrolled."""
    made: list[Process] = []

    async def make(yard: Yard, group: str = "quick") -> Process:
        bell = Doorbell(connect(redis_url, blocking=True), INSTALLATION, yard.register)
        process = Process(quick, group, yard.register, store, bell, Contact(quick.heartbeat))
        made.append(process)
        return process

    yield make
    for process in made:
        process.stopping.set()
        await process.bell.close()


@pytest.fixture
async def serve(make_process: Make, store: Database) -> AsyncIterator[Make]:
    """Runs a whole worker group until the test ends; yields its process."""
    running: list[tuple[Process, asyncio.Task[None]]] = []

    async def start(yard: Yard) -> Process:
        process = await make_process(yard)
        facts.ring_with(process.bell.heard)
        group = Group(process)
        running.append((process, asyncio.create_task(group.serve())))
        return process

    yield start
    for process, task in running:
        process.stopping.set()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(task, 60)
    facts.ring_with(facts._silent)
    databases.use(None)
