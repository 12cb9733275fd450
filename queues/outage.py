"""Telling "the database is away" and "someone else was there first" from "this row is at fault"."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg
from sqlalchemy import exc

from appliance.core import log
from appliance.core.db import Database, causes, collided


T = TypeVar("T")
_LOST = (
    ConnectionError,
    exc.TimeoutError,
    exc.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    # Leaving a transaction after kill -9 of the server can raise this one.
    asyncpg.InternalClientError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    # The server waits for room on its disk as well; no statement was wrong.
    asyncpg.DiskFullError,
)
_RETRY = 0.5


class Outages:
    """How often this process lost the database: what was in flight then has an unknown end."""

    count = 0


def is_outage(error: BaseException) -> bool:
    """True when the error says that a server went away, not that a statement was wrong."""
    return any(_says_lost(e) for e in causes(error))


def transient(error: BaseException) -> bool:
    """True when the same is likely to work when it is done again."""
    return is_outage(error) or collided(error)


def _says_lost(error: BaseException) -> bool:
    if isinstance(error, exc.DBAPIError) and error.connection_invalidated:
        return True
    # A unix socket without its server: the file is gone, or nobody listens.
    missing = isinstance(error, FileNotFoundError) and error.filename is None
    return missing or isinstance(error, _LOST)


async def answers(database: Database) -> bool:
    """True when the database answers at this moment."""
    try:
        async with asyncio.timeout(5), database.unit_of_work() as uow:
            await uow.sql.execute("SELECT 1")
    except Exception:  # noqa: BLE001 - whatever it raises, it does not answer
        return False
    return True


async def surely(what: Callable[[], Awaitable[T]], *, until: Callable[[], bool] = lambda: False) -> T | None:
    """Do it through an outage of any length: again each half second until it works or `until` says stop.

    What only stood in the way of another transaction is done again in the same manner, and is no outage.
    """
    told = False
    while True:
        try:
            return await what()
        except Exception as error:
            if not transient(error):
                raise
            if is_outage(error):
                Outages.count += 1
                if not told:
                    log.get().warning("database went away, waiting", error=str(error))
                    told = True
            if until():
                return None
            await asyncio.sleep(_RETRY)
