"""Two real transactions that wait for each other, so that PostgreSQL has to end one of them."""

from __future__ import annotations

import asyncio
from typing import Any

from appliance.core.db import Database, UnitOfWork
from tests.waiting import until


_HOLD = "SELECT pg_advisory_xact_lock(20121, $1)"
_WAITS = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = 20121 AND NOT granted"


class Rival:
    """Another connection that stands in the way once, or as often as it is told to."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.met = 0
        self._works: asyncio.Task[None] | None = None

    async def meet(self, uow: UnitOfWork) -> None:
        """Let the transaction of `uow` be the one that is ended."""
        await uow.sql.execute("SET LOCAL deadlock_timeout = '10ms'")
        await uow.sql.execute(_HOLD, 1)
        self.met += 1
        self._works = asyncio.create_task(self._stand_in_the_way())
        await until(self._waiting, "the rival waits for the other")
        await uow.sql.execute(_HOLD, 2)

    async def _stand_in_the_way(self) -> None:
        async with self.db.unit_of_work() as uow:
            # Whoever looks last finds the circle; this one does not look.
            await uow.sql.execute("SET LOCAL deadlock_timeout = '1min'")
            await uow.sql.execute(_HOLD, 2)
            await uow.sql.execute(_HOLD, 1)

    async def _waiting(self) -> list[Any]:
        async with self.db.unit_of_work() as uow:
            return list(await uow.sql.fetch(_WAITS))

    async def leave(self) -> None:
        """End well, as the one that was not ended."""
        if self._works is not None:
            await self._works
