"""The unit of work: one connection, one explicit transaction, two faces (session and driver)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy.engine import URL, make_url
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession, create_async_engine

from appliance.core import facts
from appliance.core.errors import SettingsError
from appliance.core.facts import Fact


if TYPE_CHECKING:
    from asyncpg import Connection


class UnitOfWork:
    """One transaction; facts recorded in it ring when, and only when, it was committed."""

    def __init__(self, connection: AsyncConnection, session: AsyncSession, sql: Connection[Any]) -> None:
        self.connection = connection
        self.session = session
        self.sql = sql
        self._facts: dict[type[Fact], None] = {}

    def record(self, fact: Fact) -> None:
        """Note that something happened; the lanes that care are rung after the commit."""
        self._facts[type(fact)] = None

    async def commit(self) -> None:
        """Make it true, ring, and begin the next transaction on the same connection.

        Handlers call this themselves, so that a violated constraint can still become their answer.
        """
        await self._finish()
        await _begin(self.connection)

    async def _finish(self) -> None:
        await self.session.flush()
        await self.connection.commit()
        kinds, self._facts = list(self._facts), {}
        await facts.ring(kinds)


class Database:
    """The process's pool of connections."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    @asynccontextmanager
    async def unit_of_work(self) -> AsyncIterator[UnitOfWork]:
        """Commit when the block ends well, store nothing when it does not."""
        async with self.engine.connect() as connection:
            await _begin(connection)
            raw = await connection.get_raw_connection()
            session = AsyncSession(
                bind=connection, join_transaction_mode="control_fully", expire_on_commit=False
            )
            uow = UnitOfWork(connection, session, cast("Connection[Any]", raw.driver_connection))
            try:
                yield uow
                await uow._finish()  # noqa: SLF001 - the block's own ending
            finally:
                # After a commit this ends an empty transaction; after an exception it undoes everything.
                await session.close()
                await connection.rollback()

    async def close(self) -> None:
        """Give all connections back to the server."""
        await self.engine.dispose()


async def _begin(connection: AsyncConnection) -> None:
    # SQLAlchemy begins lazily: without a statement of its own, the raw face would run in autocommit.
    await connection.begin()
    await connection.exec_driver_sql("SELECT 1")


def driver_url(url: str) -> URL:
    """The same server through asyncpg; any common spelling of a PostgreSQL URL is accepted."""
    parsed = make_url(url)
    if parsed.get_backend_name() not in {"postgresql", "postgres"}:
        raise SettingsError("VITRINE_DATABASE_URL is not a PostgreSQL URL", "postgresql://user@host/name")
    return parsed.set(drivername="postgresql+asyncpg")


def open_database(url: str, *, pool: int = 5, application: str = "vitrine") -> Database:
    """Prepare a pool; connections are opened when they are first needed."""
    engine = create_async_engine(
        driver_url(url),
        pool_size=pool,
        max_overflow=0,
        pool_timeout=30,
        # A restarted server must not cost one failed request for each pooled connection.
        pool_pre_ping=True,
        connect_args={"server_settings": {"application_name": application}, "timeout": 10},
    )
    return Database(engine)


_database: Database | None = None


def use(database: Database | None) -> None:
    """Make this the process's database."""
    global _database  # noqa: PLW0603 - one pool per process is the point
    _database = database


def current() -> Database:
    """The process's database."""
    if _database is None:
        raise SettingsError("No database is in use yet")
    return _database


@asynccontextmanager
async def unit_of_work() -> AsyncIterator[UnitOfWork]:
    """A unit of work on the process's database."""
    async with current().unit_of_work() as uow:
        yield uow
