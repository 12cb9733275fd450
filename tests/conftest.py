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
from migrations.run import upgrade_database
from tests.servers import Servers, start_servers


# TRUNCATE makes new files for each table and index, which takes longer than most tests. Deleting the few
# rows of a small table costs nothing; triggers and foreign keys are off, since everything goes.
EMPTY = """
DO $$
DECLARE t record; large bool := false; tables text := '';
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR t IN SELECT quote_ident(relname) AS name, pg_relation_size(oid) AS bytes FROM pg_class
             WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'alembic_version'
    LOOP
        tables := tables || CASE tables WHEN '' THEN '' ELSE ', ' END || t.name;
        large := large OR t.bytes > 500000;
        IF t.bytes BETWEEN 1 AND 500000 THEN EXECUTE 'DELETE FROM ' || t.name; END IF;
    END LOOP;
    IF large THEN EXECUTE 'TRUNCATE ' || tables || ' CASCADE'; END IF;
    PERFORM setval(quote_ident(sequencename)::regclass, 1, false) FROM pg_sequences
    WHERE schemaname = 'public' AND last_value IS NOT NULL;
END $$
"""


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
    async with migrated.engine.begin() as connection:
        await connection.execute(text(EMPTY))
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
