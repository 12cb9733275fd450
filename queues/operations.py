"""Task bodies of bulk actions."""

from __future__ import annotations

from appliance.core import db
from appliance.operations.facts import OperationQueued
from appliance.operations.models import Operation
from queues import lanes
from queues.declare import Ledger, days, minutes, task
from queues.runs import Run


OPERATIONS = Ledger(Operation, live={"running"}, stalled="pending", keep=days(30), asked=[OperationQueued])


@task(lane=lanes.MAINTENANCE, limit=minutes(9), wrap_up=minutes(1), ledger=OPERATIONS)
async def apply(run: Run) -> None:
    """Carry out a bulk action on the assets that were written down for it."""
    async with db.unit_of_work() as uow:
        await run.finish(uow, "done")
