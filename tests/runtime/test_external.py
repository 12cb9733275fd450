"""A database that somebody else runs: waited for, and refused when it is the wrong one."""

from __future__ import annotations

import asyncio
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from appliance.runtime.account import service_account
from tests.runtime.running import begin, instance
from tests.servers import Servers, describe, private_folder, wait_until


@pytest.fixture
def empty_database(servers: Servers) -> Iterator[str]:
    """A new database on the tests' server."""
    name = f"external_{uuid.uuid4().hex[:8]}"
    asyncio.run(execute(servers.database_url, f"CREATE DATABASE {name}"))
    yield servers.database_url.replace("/vitrine?", f"/{name}?")
    asyncio.run(execute(servers.database_url, f"DROP DATABASE {name} WITH (FORCE)"))


async def execute(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


def refused(data: Path, url: str) -> str:
    started = begin(data, database_url=url)
    try:
        assert started.process.wait(timeout=60) == 1, started.said()
        return started.said().strip().splitlines()[-1]
    finally:
        started.end_at_once()


def test_runs_on_it_and_starts_no_database_of_its_own(data, empty_database):
    with instance(data, database_url=empty_database) as running:
        assert set(running.pids()) == {"valkey", "web", "quick", "heavy", "long"}
        assert running.page()
        assert not (data / "pg").exists()


def test_waits_for_a_database_that_is_not_up_yet(data):
    account = service_account(Path("/nonexistent"))
    home = private_folder(account)
    postgres, _ = describe(home, account)
    postgres.create()
    started = begin(data, database_url=postgres.url)
    wait_until(lambda: "Waiting for the database" in started.said(), "it says that it waits")
    server = postgres.start()
    try:
        started.until_ready()
        assert started.page()
    finally:
        started.end()
        server.send_signal(signal.SIGINT)
        server.wait(timeout=60)


def test_database_of_another_program_is_refused_and_unchanged(data, empty_database):
    asyncio.run(execute(empty_database, "CREATE TABLE invoices (id int)"))

    assert "tables of another program" in refused(data, empty_database)


def test_database_of_another_installation_is_refused(data, empty_database):
    with instance(data.with_name("first"), database_url=empty_database):
        pass

    assert "belongs to another Vitrine" in refused(data, empty_database)


def test_a110_empty_database_under_a_known_directory_is_refused_and_stays_empty(used, empty_database):
    line = refused(used, empty_database)

    assert "is empty, but this data directory has been in use" in line
    assert asyncio.run(tables(empty_database)) == 0


async def tables(url: str) -> int:
    connection = await asyncpg.connect(url)
    count: int = await connection.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
    await connection.close()
    return count


def test_wrong_database_name_is_refused_and_not_waited_for(data, servers):
    url = servers.database_url.replace("/vitrine?", "/no_such_database?")

    assert "refuses us" in refused(data, url)
