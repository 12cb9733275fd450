"""What the supervisor does about worker processes that are gone: their rows are settled at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from appliance.core.db import Database, open_database
from appliance.core.settings import Settings
from queues import settling
from queues.declare import Register, Task, load
from queues.doorbell import Doorbell, installation_id
from queues.liveness import born, host
from queues.outage import surely
from queues.valkey import connect


def settle(settings: Settings, pid: int, pid_started: int) -> None:
    """Settle what a worker process held that the supervisor has just reaped."""
    asyncio.run(_settle(settings, lambda p, b: (p, b) == (pid, pid_started)))


def settle_host(settings: Settings) -> None:
    """Settle what all worker processes of this host held that no longer live."""
    asyncio.run(_settle(settings, lambda pid, since: born(pid) != since))


async def _settle(settings: Settings, is_dead: Callable[[int, int], bool]) -> None:
    register = load()
    database: Database = open_database(settings.database_url, pool=1, application="vitrine settling")
    bell = Doorbell(connect(settings.redis_url, blocking=False), installation_id(settings), register)
    try:
        tasks = await surely(lambda: _settle_once(database, register, is_dead))
        for task in tasks or ():
            await bell.ring(task, force=True)
    finally:
        await bell.close()
        await database.close()


async def _settle_once(
    database: Database, register: Register, is_dead: Callable[[int, int], bool]
) -> list[Task]:
    async with database.unit_of_work() as uow:
        rows = await uow.sql.fetch(
            "SELECT id, pid, pid_started FROM worker WHERE host = $1 AND settled_at IS NULL ORDER BY id",
            host(),
        )
        tasks: list[Task] = []
        for row in rows:
            if is_dead(row["pid"], row["pid_started"]):
                tasks += (await settling.settle_worker(uow.sql, register, row["id"])).tasks
    return tasks
