"""The unit of work: one connection, one explicit transaction, two faces (session and driver)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from asyncpg import DeadlockDetectedError, SerializationError
from sqlalchemy import event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession, create_async_engine

from appliance.core import clock, facts
from appliance.core.errors import SettingsError
from appliance.core.facts import Fact


if TYPE_CHECKING:
    from asyncpg import Connection


class UnitOfWork:
    """One transaction; facts recorded in it ring when, and only when, it was committed."""

    def __init__(self, connection: AsyncConnection, sql: Connection[Any]) -> None:
        self.connection = connection
        self.sql = sql
        self._session: AsyncSession | None = None
        self._facts: dict[type[Fact], None] = {}

    @property
    def session(self) -> AsyncSession:
        """The mapped face; made when it is first asked for, since most work needs only the driver's."""
        if self._session is None:
            self._session = AsyncSession(
                bind=self.connection, join_transaction_mode="control_fully", expire_on_commit=False
            )
        return self._session

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
        if self._session is not None:
            await self._session.flush()
        await self.connection.commit()
        kinds, self._facts = list(self._facts), {}
        await facts.ring(kinds)

    async def _close(self) -> None:
        # After a commit this ends an empty transaction; after an exception it undoes everything.
        if self._session is not None:
            await self._session.close()
        await self.connection.rollback()


class Database:
    """The process's pool of connections."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    @asynccontextmanager
    async def unit_of_work(self) -> AsyncIterator[UnitOfWork]:
        """Commit when the block ends well, store nothing when it does not."""
        async with self.engine.connect() as connection:
            await _begin(connection)
            uow = UnitOfWork(connection, await _driver(connection))
            try:
                yield uow
                await uow._finish()  # noqa: SLF001 - the block's own ending
            finally:
                await uow._close()  # noqa: SLF001 - the same

    @asynccontextmanager
    async def one_statement(self) -> AsyncIterator[Connection[Any]]:
        """The driver outside any transaction: for a single statement, which is one by itself.

        Half of the cost of a unit of work, for what happens once for every file. It rings nothing.
        """
        async with self.engine.connect() as connection:
            yield await _driver(connection)

    async def close(self) -> None:
        """Give all connections back to the server."""
        await self.engine.dispose()


async def _driver(connection: AsyncConnection) -> Connection[Any]:
    return cast("Connection[Any]", (await connection.get_raw_connection()).driver_connection)


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
        connect_args={"server_settings": {"application_name": application}, "timeout": 10},
    )
    _distrust_stale_connections(engine)
    return Database(engine)


# Younger than this, a connection that was not closed is believed to be good.
FRESH_S = 20.0


def _distrust_stale_connections(engine: AsyncEngine) -> None:
    """A restarted server must not cost one failed request for each pooled connection.

    The driver hears at once when the server closes a connection; only the silence of a lost network has
    to be asked about, and asking each time would be three round trips for every single statement.
    """

    @event.listens_for(engine.sync_engine, "checkin")
    def _returned(_connection: Any, record: Any) -> None:
        record.info["returned"] = clock.monotonic()

    @event.listens_for(engine.sync_engine, "checkout")
    def _taken(connection: Any, record: Any, _fairy: Any) -> None:
        if connection.driver_connection.is_closed():
            raise DisconnectionError("the server closed this connection")
        if clock.monotonic() - record.info.get("returned", clock.monotonic()) > FRESH_S:
            _ask(engine, connection)


def _ask(engine: AsyncEngine, connection: Any) -> None:
    try:
        engine.dialect.do_ping(connection)
    except engine.dialect.loaded_dbapi.Error as error:
        raise DisconnectionError("the server does not answer on this connection") from error


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what it came from, each once."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def collided(error: BaseException) -> bool:
    """Whether two transactions waited for each other and this one was undone: done again, it goes through."""
    return any(isinstance(e, (DeadlockDetectedError, SerializationError)) for e in causes(error))


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
