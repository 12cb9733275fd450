"""Real servers once per session; each test finds empty tables and an empty doorbell."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis
from sqlalchemy import text

from appliance.core import db as databases
from appliance.core import settings as settings_module
from appliance.core.db import Database, open_database
from appliance.core.settings import Settings
from migrations.models import METADATA
from migrations.run import upgrade_database
from tests.servers import Servers, start_servers


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """PostgreSQL and Valkey for the whole run."""
    running = start_servers()
    yield running
    running.stop()


@pytest.fixture(scope="session")
async def migrated(servers: Servers) -> AsyncIterator[Database]:
    """The migrated database."""
    database = open_database(servers.database_url, pool=10, application="tests")
    await upgrade_database(database)
    yield database
    await database.close()


@pytest.fixture
async def db(migrated: Database) -> AsyncIterator[Database]:
    """The process's database, empty when the test begins."""
    tables = ", ".join(f'"{t}"' for t in METADATA.tables)
    async with migrated.engine.begin() as connection:
        await connection.execute(text(f"TRUNCATE {tables} RESTART IDENTITY CASCADE"))
    databases.use(migrated)
    yield migrated
    databases.use(None)


@pytest.fixture
async def redis_url(servers: Servers) -> str:
    """The doorbell, empty when the test begins."""
    client = Redis.from_url(servers.redis_url)
    await client.flushall()
    await client.aclose()
    return servers.redis_url


@pytest.fixture
def settings(servers: Servers, tmp_path: Path) -> Settings:
    """Settings of a process that uses the test servers and a data directory of its own."""
    environ = {"VITRINE_DATABASE_URL": servers.database_url, "VITRINE_REDIS_URL": servers.redis_url}
    made = settings_module.load(environ, data=tmp_path / "data")
    for folder in (made.home.run, made.home.tmp, made.home.originals, made.home.renditions):
        folder.mkdir(parents=True)
    settings_module.use(made)
    return made
