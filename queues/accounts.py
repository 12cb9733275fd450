"""Task bodies that forget what accounts no longer need."""

from __future__ import annotations

from appliance.accounts import services, sessions, throttle
from appliance.core import db
from queues import lanes
from queues.declare import seconds, task
from queues.runs import Run


@task(lane=lanes.MAINTENANCE, limit=seconds(120), cron="50 4 * * *", quiet=True)
async def forget_old_visits(run: Run) -> None:
    """Drop ended sessions, waits after failed sign-ins, and audit entries older than a year."""
    async with db.unit_of_work() as uow:
        run.counts["sessions"] = await sessions.forget(uow.sql)
        run.counts["waits"] = await throttle.sweep(uow.sql)
        run.counts["audit"] = await services.forget_audit(uow.sql)
