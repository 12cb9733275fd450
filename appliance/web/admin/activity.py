"""What the house is doing: imports, failures, lanes, runs, processes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NamedTuple

from litestar import Controller, Request, Response, get
from litestar.params import Parameter

from appliance.core import clock, db, settings
from appliance.ingest import inbox
from appliance.library import verifying
from appliance.web import words
from appliance.web.admin import reads
from appliance.web.admin.reads import RunView
from appliance.web.hypermedia import Screen, fragment, shell_page, wants_fragment
from appliance.web.pulse import House, house
from queues import reads as queue_reads
from queues.declare import REGISTER
from queues.reads import LaneView


AnyRequest = Request[Any, Any, Any]
SCREEN = Screen("activity", "Activity", "activity")
STATES = {"": "All", "running": "Running", "error": "Failed", "recovered": "Recovered"}
LONG_WAIT = 600
"""Seconds after which something that waits in a lane where nothing runs is worth a look."""
RUN_HEALTH = {
    "pending": ("off", "Waits"),
    "running": ("run", "Running"),
    "done": ("ok", "Done"),
    "error": ("bad", "Failed"),
    "cancelled": ("off", "Cancelled"),
    "recovered": ("warn", "Recovered"),
}
PROCESS_HEALTH = {
    "running": ("ok", "Runs"),
    "restarting": ("warn", "Starts again"),
    "degraded": ("bad", "Keeps failing"),
    "starting": ("run", "Starts"),
    "stopping": ("off", "Stops"),
}
PROCESS_NAMES = {
    "postgres": "Database",
    "postgresql": "Database",
    "valkey": "Doorbell",
    "web": "Pages",
    "quick": "Quick work",
    "heavy": "Imports and pictures",
    "long": "Long work",
}


class Line(NamedTuple):
    """One run as a row of the table."""

    run: RunView
    name: str
    health: tuple[str, str]
    took: timedelta | None
    share: int | None
    result: str


def _line(run: RunView) -> Line:
    task = REGISTER.find(run.task)
    began = run.claimed_at or run.queued_at
    took = (run.finished_at or clock.now()) - began if run.status != "pending" else None
    share = (
        min(100, int(took / task.limit * 100)) if task and took is not None and task.kind == "run" else None
    )
    return Line(run, task_name(run.task), RUN_HEALTH[run.status], took, share, result_of(run))


def task_name(name: str) -> str:
    """`ingest.close_batches` -> Close batches."""
    return name.rpartition(".")[2].replace("_", " ").capitalize()


def result_of(run: RunView) -> str:
    """What a run came to: its error, or what it counted."""
    if run.error:
        return run.error.partition("\n")[0]
    counted = [
        f"{value:,} {key.replace('_', ' ')}"
        for key, value in run.counts.items()
        if isinstance(value, int) and value
    ]
    return ", ".join(counted)


def lane_state(lane: LaneView) -> tuple[str, str]:
    """Shape and word of a lane's state."""
    if lane.paused:
        return "off", f"Paused by {lane.paused_by}" if lane.paused_by else "Paused"
    if lane.running:
        return "run", "Running"
    if not lane.depth:
        return "ok", "Idle"
    return ("warn", "Waits long") if (lane.oldest_s or 0) > LONG_WAIT else ("ok", "Waits its turn")


def lane_hint(lane: LaneView) -> str:
    """The small word beside the depth."""
    if not lane.depth:
        return "nothing waits"
    return "wait" if lane.oldest_s is None else f"oldest {words.duration(lane.oldest_s)}"


def summary(found: House, *, away: int, failed: int) -> str:
    """The sentence under the title."""
    troubles = len(found.down) + away + bool(found.imports_paused_reason) + failed
    if not troubles:
        return "Everything runs."
    return f"{words.count(troubles, 'thing wants', 'things want')} a look."


class ActivityController(Controller):
    """The activity page; asked for in part, everything below its title."""

    path = "/admin/activity"

    @get("/")
    async def show(
        self, request: AnyRequest, shown: str = Parameter(query="state", default="")
    ) -> Response[Any]:
        """All of it in a fixed number of statements."""
        state = shown if shown in STATES else ""
        async with db.unit_of_work() as uow:
            values = await self._values(uow.sql, state)
            if wants_fragment(request):
                return fragment("activity/_body.html", **values)
            return await shell_page(request, uow.sql, "activity/index.html", SCREEN, **values)

    async def _values(self, sql: Any, state: str) -> dict[str, Any]:
        found = house()
        failed, away = await inbox.groups(sql), await reads.away(sql)
        faults = await verifying.faults(sql)
        return {
            "house": found,
            "failed": failed,
            "away": away,
            "faults": faults,
            "state": state,
            "states": STATES,
            "batches": await reads.batches(sql),
            "lanes": await queue_reads.lanes(sql, REGISTER, settings.current()),
            "lines": [_line(r) for r in await reads.runs(sql, state=state)],
            "summary": summary(found, away=len(away), failed=bool(failed) + bool(faults)),
            "lane_state": lane_state,
            "lane_hint": lane_hint,
            "process_health": PROCESS_HEALTH,
            "process_names": PROCESS_NAMES,
        }


HANDLERS = (ActivityController,)
