"""The first look at a database: is it there, is it ours, is it the one that this data directory knows."""

from __future__ import annotations

from enum import StrEnum

from asyncpg.exceptions import (
    CannotConnectNowError,
    InvalidAuthorizationSpecificationError,
    InvalidCatalogNameError,
    PostgresError,
    TooManyConnectionsError,
)
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from appliance.core.db import Database
from appliance.core.errors import VitrineError


OLDEST = 160000
EXTENSIONS = ("vector", "pg_trgm")
INSTALLATION = "installation"


class Found(StrEnum):
    """What a database turned out to be."""

    OURS = "ours"
    UNNAMED = "unnamed"  # our tables without an identity: an interrupted first start
    EMPTY = "empty"
    OTHER = "other"
    FOREIGN = "foreign"
    DOWN = "down"


class DatabaseRefused(VitrineError):
    """The database is not the one that belongs here; nothing in it was changed."""


async def look(database: Database, instance: str) -> tuple[Found, str]:
    """What the database is, and why when it does not answer."""
    try:
        async with database.engine.connect() as connection:
            return await _identify(connection, instance), ""
    except (OSError, TimeoutError, DBAPIError, PostgresError) as error:
        return Found.DOWN, _reason(error)


async def adopt(database: Database, instance: str) -> None:
    """Write the installation's identity into its database, once."""
    statement = text(
        "INSERT INTO setting (name, value) VALUES (:name, to_jsonb(CAST(:id AS text))) ON CONFLICT DO NOTHING"
    )
    async with database.engine.begin() as connection:
        await connection.execute(statement, {"name": INSTALLATION, "id": instance})


def judge(found: Found, *, established: bool) -> None:
    """Refuse what must not be touched; A110: an empty database under a known directory is a wrong one."""
    if found is Found.FOREIGN:
        raise DatabaseRefused(
            "The database holds tables of another program", "Name an empty database in VITRINE_DATABASE_URL."
        )
    if found is Found.OTHER:
        raise DatabaseRefused(
            "The database belongs to another Vitrine than this data directory",
            "Correct VITRINE_DATABASE_URL or --data so that both belong together.",
        )
    if established and found is not Found.OURS:
        raise DatabaseRefused(
            "The database is empty, but this data directory has been in use",
            "Point VITRINE_DATABASE_URL at its database, restore a backup, or name a new --data directory.",
        )


async def _identify(connection: AsyncConnection, instance: str) -> Found:
    await _require(connection)
    tables = set((await connection.scalars(text(_TABLES))).all())
    if "setting" not in tables or "alembic_version" not in tables:
        return Found.FOREIGN if tables else Found.EMPTY
    statement = text("SELECT value #>> '{}' FROM setting WHERE name = :name")
    identity = await connection.scalar(statement, {"name": INSTALLATION})
    if identity is None:
        return Found.UNNAMED
    return Found.OURS if identity == instance else Found.OTHER


_TABLES = """
SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
   AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = pg_class.oid AND d.deptype = 'e')
"""


async def _require(connection: AsyncConnection) -> None:
    number = int(await connection.scalar(text("SHOW server_version_num")) or 0)
    if number < OLDEST:
        raise DatabaseRefused(
            f"The database server is PostgreSQL {number // 10000}", "Vitrine needs version 16 or newer."
        )
    there = await connection.scalars(
        text("SELECT name FROM pg_available_extensions WHERE name = ANY(:names)"), {"names": list(EXTENSIONS)}
    )
    if missing := set(EXTENSIONS) - set(there.all()):
        raise DatabaseRefused(
            f"The database server lacks {' and '.join(sorted(missing))}",
            "Install the package there (pgvector).",
        )


def _reason(error: BaseException) -> str:
    """A dependency that is down is waited for; a wrong name or password never mends itself."""
    cause = getattr(error, "orig", None) or error
    root = getattr(cause, "__cause__", None) or cause
    if isinstance(root, CannotConnectNowError | TooManyConnectionsError):
        return str(root)
    if isinstance(root, InvalidAuthorizationSpecificationError | InvalidCatalogNameError):
        raise DatabaseRefused(f"The database refuses us: {root}", "Correct VITRINE_DATABASE_URL.") from None
    if isinstance(root, OSError):
        return root.strerror or str(root) or type(root).__name__
    return str(root).partition("\n")[0] or type(root).__name__
