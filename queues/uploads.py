"""Task bodies that look after uploads."""

from __future__ import annotations

from appliance.core import db
from appliance.ingest import services, sweeps, uploads
from queues import lanes
from queues.declare import minutes, seconds, task
from queues.runs import Run


@task(lane=lanes.MAINTENANCE, limit=seconds(120), cron="* * * * *", at_start=True, quiet=True)
async def settle_uploads(run: Run) -> None:
    """Hand over sent files whose last step was cut off, and end sessions whose sender went away."""
    run.counts["handed_over"] = await sweeps.hand_over_arrived(run.settings.home)
    async with db.unit_of_work() as uow:
        run.counts["ended"] = await uploads.seal_silent(uow.sql)
        await uploads.find_again(uow.sql)
        if run.counts["ended"]:
            await services.close_batches(uow.sql)


@task(lane=lanes.MAINTENANCE, limit=minutes(5), cron="50 * * * *", quiet=True)
async def sweep_uploads(run: Run) -> None:
    """Drop unfinished uploads that nobody continued for a day, and sent files that are to be ignored."""
    home = run.settings.home
    run.counts["abandoned"] = await sweeps.drop_abandoned(home)
    run.counts["ignored"] = await sweeps.drop_ignored(home)
    async with db.unit_of_work() as uow:
        run.counts["left_behind"] = await sweeps.drop_left_behind(uow.sql, home)
        run.counts["strays"] = await sweeps.drop_strays(uow.sql, home)
