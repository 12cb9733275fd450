"""Task bodies that keep the counts of tags and months true."""

from __future__ import annotations

from appliance.core import db
from appliance.core.errors import Conflict
from appliance.library import months
from appliance.tagging import services as tagging
from appliance.tagging.facts import MergeAsked
from appliance.tagging.models import TagMerge
from queues import lanes
from queues.declare import Ledger, days, minutes, seconds, task
from queues.runs import Run


# A pass folds this often before it lets others have the slot: a large import leaves many deltas.
_ROUNDS = 40


@task(lane=lanes.MAINTENANCE, limit=seconds(120), cron="* * * * *", quiet=True)
async def fold_counts(run: Run) -> None:
    """Add up how often tags are used and how many pictures a month holds."""
    for _ in range(_ROUNDS):
        async with db.unit_of_work() as uow:
            tags = await tagging.fold(uow.sql)
            counted = await months.fold(uow.sql)
        run.counts["tags"] += tags
        run.counts["months"] += counted
        if not tags and not counted:
            return


@task(lane=lanes.MAINTENANCE_LONG, limit=minutes(30), cron="10 5 * * 0", button=True)
async def count_again(run: Run) -> None:
    """Count all tags and months anew, mend what drifted, and say how much that was."""
    async with db.unit_of_work() as uow:
        drift = await tagging.mend(uow.sql)
        run.counts["tags"] = drift.tags
        run.counts["off"] = drift.off
    async with db.unit_of_work() as uow:
        run.counts["months"] = await months.mend(uow.sql)


MERGES = Ledger(TagMerge, live={"running"}, stalled="pending", keep=days(30), asked=[MergeAsked])


@task(lane=lanes.MAINTENANCE, limit=minutes(9), ledger=MERGES)
async def merge_tags(run: Run) -> None:
    """Merge one tag into another that many assets carry; all of it or nothing."""
    async with db.unit_of_work() as uow:
        wish = await tagging.asked(uow.sql, run.row)
        done = await tagging.merge(uow, wish.source_id, wish.target_id)
        run.counts["moved"], run.counts["both"] = done.moved, done.both
        if not await run.finish(uow, "done", moved=done.moved, shared=done.both):
            # Whoever took the row over does the same; undone, this one has changed nothing.
            raise Conflict("This merge belongs to another worker now")
