"""The button "run now", pressed from outside."""

from __future__ import annotations

import asyncio

from appliance.core import db
from appliance.core.settings import load
from queues import control
from queues.doorbell import connected
from tests.journeys.instance import Instance, wait_for


def run_now(instance: Instance, task: str, *, limit: float = 120) -> None:
    """Ask for a run of a task and wait until it is over."""
    row = asyncio.run(_ask(instance, task))
    # A quiet run that found nothing to do leaves no row.
    over = "SELECT count(*) = 0 FROM task_run WHERE id = $1 AND status IN ('pending', 'running')"
    wait_for(lambda: instance.value(over, row), f"{task} is over", limit=limit)


async def _ask(instance: Instance, task: str) -> int:
    settings = load(
        {}, data=str(instance.data), database_url=instance.database_url, redis_url=instance.redis_url
    )
    database = db.open_database(settings.database_url, pool=1, application="chaos")
    db.use(database)
    try:
        async with connected(settings) as bell:
            started = await control.start(bell, settings, task, asked_by="chaos")
    finally:
        db.use(None)
        await database.close()
    assert started.row is not None, started.refusal
    return started.row
