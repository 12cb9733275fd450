"""Migrations: one head, and exactly the tables that the program maps."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from appliance.core.db import Database
from migrations.models import METADATA
from migrations.run import applied, config, head, upgrade_database


def test_there_is_one_head() -> None:
    assert ScriptDirectory.from_config(config()).get_heads() == [head()]


async def test_migrated_database_equals_the_mapped_tables(migrated: Database) -> None:
    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
        )
        return list(compare_metadata(context, METADATA))

    async with migrated.engine.connect() as connection:
        assert await connection.run_sync(differences) == []


async def test_second_upgrade_does_nothing(migrated: Database) -> None:
    assert await upgrade_database(migrated) is False
    assert await applied(migrated) == head()
