"""Bring the database to the newest revision; forward only, one transaction, safe to run twice."""

from __future__ import annotations

import asyncio
from functools import cache

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from appliance.core.db import Database, open_database
from appliance.core.errors import VitrineError
from appliance.core.paths import MIGRATIONS
from appliance.core.settings import Settings


# Any number that only migrations use: two starting hosts take turns.
LOCK = 8_420_001
EXTENSIONS = ("vector", "pg_trgm")


class NewerDatabase(VitrineError):
    """The database was made by a newer Vitrine."""


def config(connection: Connection | None = None) -> Config:
    """Where the revisions lie, and the connection they run on."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


@cache
def head() -> str:
    """The newest revision that this program knows."""
    revision = ScriptDirectory.from_config(config()).get_current_head()
    if revision is None:
        raise VitrineError("The program lacks its migrations", "Install Vitrine again.")
    return revision


async def applied(database: Database) -> str | None:
    """The revision of the database, None when it holds no tables of ours."""
    async with database.engine.connect() as connection:
        exists = await connection.scalar(text("SELECT to_regclass('alembic_version') IS NOT NULL"))
        if not exists:
            return None
        revision: str | None = await connection.scalar(text("SELECT version_num FROM alembic_version"))
        return revision


def known(revision: str) -> bool:
    """Whether this program has that revision."""
    return any(s.revision == revision for s in ScriptDirectory.from_config(config()).walk_revisions())


async def upgrade_database(database: Database) -> bool:
    """Apply what is missing; True when something was."""
    revision = await applied(database)
    if revision == head():
        return False
    if revision is not None and not known(revision):
        raise NewerDatabase(
            f"The database has revision {revision}, which this Vitrine does not know",
            "It was used by a newer version: start that one.",
        )
    async with database.engine.begin() as connection:
        await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        for extension in EXTENSIONS:
            await connection.execute(text(f"CREATE EXTENSION IF NOT EXISTS {extension}"))
        await connection.run_sync(lambda c: command.upgrade(config(c), "head"))
    return True


async def _upgrade(settings: Settings) -> None:
    database = open_database(settings.database_url, pool=1, application="vitrine migrate")
    try:
        await upgrade_database(database)
    finally:
        await database.close()


def upgrade(settings: Settings) -> None:
    """The whole step, for a process of its own."""
    asyncio.run(_upgrade(settings))
