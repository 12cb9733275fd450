"""Integrity: when originals were last checked, which of them are not as they came in, and checks by hand."""

from __future__ import annotations

from typing import Any, NamedTuple

from litestar import Controller, Request, Response, get, post

from appliance.core import db, settings
from appliance.library import verifying
from appliance.web.admin import reads
from appliance.web.admin.activity import RUN_HEALTH, result_of
from appliance.web.admin.reads import RunView
from appliance.web.hypermedia import Screen, fragment, go, shell_page, toast, wants_fragment
from appliance.web.visitor import Visitor
from queues import control


AnyRequest = Request[Any, Any, Any]
SCREEN = Screen("import", "Integrity", "activity")
PAGE = 100

FAULTS = {
    "altered": (
        "Changed bytes",
        "Nobody wrote the file, yet its content differs: the disk may be failing. Restore it from a backup.",
    ),
    "missing": ("Missing", "The file is not where it was; the next scan of its folder looks for it."),
    "unreadable": (
        "Cannot be read",
        "The disk or the permissions forbid it; check them, then check the file again.",
    ),
    "undecodable": (
        "Cannot be decoded any more",
        "The bytes are the ones that came in, but today's decoder refuses them. Its pictures stay.",
    ),
}


class Chore(NamedTuple):
    """One of the two tasks of this page."""

    task: str
    title: str
    about: str
    button: str


CHORES = (
    Chore(
        "integrity.verify_integrity",
        "Check the originals",
        "Each night for a while those that were checked longest ago are read, hashed and decoded.",
        "Check now",
    ),
    Chore(
        "integrity.backfill_renditions",
        "Draw missing pictures",
        "Each night pictures are looked for that are missing, lost, or failed for want of disk.",
        "Look now",
    ),
)


class Line(NamedTuple):
    """A task with its last execution."""

    chore: Chore
    run: RunView | None
    health: tuple[str, str]
    result: str


async def _line(sql: Any, chore: Chore) -> Line:
    run = await reads.last_run(sql, chore.task)
    if run is None:
        return Line(chore, None, ("off", "Has not run yet"), "")
    return Line(chore, run, RUN_HEALTH[run.status], result_of(run))


class IntegrityController(Controller):
    """The page, and its two buttons."""

    path = "/admin/integrity"

    @get("/")
    async def show(self, request: AnyRequest, after: int = 0) -> Response[Any]:
        """What is wrong, a page at a time, and how the checks go."""
        async with db.unit_of_work() as uow:
            values = await self._values(uow.sql, after)
            if wants_fragment(request):
                return fragment("integrity/_body.html", **values)
            return await shell_page(request, uow.sql, "integrity/index.html", SCREEN, **values)

    async def _values(self, sql: Any, after: int) -> dict[str, Any]:
        files = await verifying.listed(sql, PAGE + 1, after=after)
        return {
            "lines": [await _line(sql, chore) for chore in CHORES],
            "files": files[:PAGE],
            "count": await verifying.faults(sql),
            "more": files[PAGE - 1].id if len(files) > PAGE else None,
            "after": after,
            "oldest": await verifying.oldest(sql),
            "faults": FAULTS,
        }

    @post("/run", status_code=200)
    async def run(self, request: AnyRequest, task: str) -> Response[Any]:
        """Start one of the two now."""
        person = Visitor.of(request).person
        by = person.name if person else ""
        started = await control.ask(settings.current(), task, asked_by=by)
        if wants_fragment(request):
            return toast(started.refusal or "It begins in a moment.", bad=bool(started.refusal))
        return go("/admin/integrity")


HANDLERS = (IntegrityController,)
