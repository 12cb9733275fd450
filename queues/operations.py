"""Task bodies of bulk actions."""

from __future__ import annotations

from appliance.core import db
from appliance.operations import services
from appliance.operations.facts import OperationQueued
from appliance.operations.models import Operation
from queues import lanes
from queues.declare import Ledger, days, minutes, task
from queues.runs import Run


# Two days longer than an action can be undone: an undo on the last day still finds what it undoes.
OPERATIONS = Ledger(Operation, live={"running"}, stalled="pending", keep=days(32), asked=[OperationQueued])


@task(lane=lanes.MAINTENANCE, limit=minutes(9), wrap_up=minutes(1), ledger=OPERATIONS)
async def apply(run: Run) -> None:
    """Carry out a bulk action on the assets that were written down for it."""
    state = await services.carry_out(db.current(), run.row, run.claim, stop=run.wrap_up.is_set)
    async with db.unit_of_work() as uow:
        # Whoever cancelled it does not want it to go on by itself.
        await run.finish(uow, "cancelled" if run.cancelled else state)
        if state == "pending" and not run.cancelled:
            uow.record(OperationQueued())


@task(lane=lanes.MAINTENANCE, limit=minutes(5), cron="20 4 * * *", button=True, quiet=True)
async def empty_trash(run: Run) -> None:
    """Delete for good what lay in the trash for 30 days."""
    async with db.unit_of_work() as uow:
        run.counts["deleted"] = await services.expired(uow)
