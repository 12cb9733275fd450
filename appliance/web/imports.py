"""The import page: what runs, what ran, and how much of the machine it may use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from litestar import Controller, Request, Response, get, post

from appliance.core import db, settings
from appliance.core.errors import Conflict, Invalid
from appliance.ingest import cancelling, inbox, progress, roots, throttle
from appliance.ingest.facts import FilesFound, ScanQueued
from appliance.ingest.progress import OUTCOMES
from appliance.ingest.throttle import Throttle
from appliance.web import batches
from appliance.web.batches import LANES, MODES
from appliance.web.entry import form
from appliance.web.hypermedia import Screen, fragment, go, shell_page, toast, wants_fragment
from appliance.web.uploads import limit as upload_limit
from appliance.web.visitor import Visitor
from queues import control
from queues.declare import REGISTER


if TYPE_CHECKING:
    from asyncpg import Connection


AnyRequest = Request[Any, Any, Any]
SCREEN = Screen("import", "Import", "import")
HISTORY, MORE_HISTORY, LINES = 8, 50, 100
SHOWN = {
    "": "All",
    "imported": "Added",
    "duplicate": "Already here",
    "unchanged": "Unchanged",
    "moved": "Moved",
    "returned": "Back again",
    "failed": "Failed",
    "skipped": "Passed over",
}


class Limits(msgspec.Struct):
    """The form for cores and hours; empty means no limit."""

    cores: str = ""
    begins: str = ""
    ends: str = ""


def done(request: AnyRequest, text: str, *, to: str = "/import") -> Response[Any]:
    """It is done: a toast for htmx (the script then refreshes the live part), else the page again."""
    return toast(text) if wants_fragment(request) else go(to)


async def live_values(sql: Connection[Any]) -> dict[str, Any]:
    """Everything in the live part of the page, in a fixed number of statements."""
    now = await batches.standing(sql)
    running, room = await batches.active(sql, now)
    return {
        "now": now,
        "running": running,
        "room": room,
        "fresh": await progress.just_added(sql) if running else [],
        "groups": await inbox.groups(sql),
        "ignored": await inbox.any_ignored(sql),
        "roots": await roots.roots(sql),
        "history": await progress.history(sql, HISTORY),
        "outcome": batches.outcome,
        "modes": MODES,
    }


async def show_page(request: AnyRequest, *, said: str = "", bad: bool = False) -> Response[Any]:
    """The page, or its live part; `said` stands at its top."""
    async with db.unit_of_work() as uow:
        values = await live_values(uow.sql)
        if wants_fragment(request):
            return fragment("import/_live.html", **values)
        values |= {
            "said": said,
            "bad": bad,
            "cores": settings.current().decoders,
            "upload_limit": upload_limit(),
        }
        return await shell_page(request, uow.sql, "import/index.html", SCREEN, **values)


async def _batch_values(sql: Connection[Any], batch_id: int) -> dict[str, Any]:
    found = await progress.batch(sql, batch_id)
    run = await batches.one(sql, found, await batches.standing(sql))
    return {"batch": found, "run": run, "outcome": batches.outcome(found)}


def _number(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 4):
        raise Invalid("That is not a number", "Choose one of the list.")
    return int(text)


class ImportController(Controller):
    """Batches, pauses and limits."""

    path = "/import"

    @get("/")
    async def show(self, request: AnyRequest) -> Response[Any]:
        """What runs, what failed, the folders, and what ran before."""
        return await show_page(request)

    @get("/history")
    async def history(self, request: AnyRequest, before: int = 0) -> Response[Any]:
        """Everything that ran, a page at a time."""
        async with db.unit_of_work() as uow:
            found = await progress.history(uow.sql, MORE_HISTORY + 1, before=before or None)
            return await shell_page(
                request,
                uow.sql,
                "import/history.html",
                SCREEN,
                history=found[:MORE_HISTORY],
                more=found[MORE_HISTORY - 1].id if len(found) > MORE_HISTORY else None,
                outcome=batches.outcome,
            )

    @get("/{batch_id:int}")
    async def one(self, request: AnyRequest, batch_id: int, shown: str = "", after: int = 0) -> Response[Any]:
        """One batch with its files."""
        kind = shown if shown in OUTCOMES else ""
        async with db.unit_of_work() as uow:
            values = await _batch_values(uow.sql, batch_id)
            if wants_fragment(request):
                return fragment("import/_batch_live.html", **values)
            lines = await progress.lines(uow.sql, batch_id, LINES + 1, outcome=kind, after=after)
            values |= {"lines": lines[:LINES], "kind": kind, "shown": SHOWN}
            values["more"] = lines[LINES - 1].id if len(lines) > LINES else None
            screen = Screen("import", f"Import {batch_id}", "import")
            return await shell_page(request, uow.sql, "import/batch.html", screen, **values)

    @post("/{batch_id:int}/cancel", status_code=200)
    async def cancel(self, request: AnyRequest, batch_id: int) -> Response[Any]:
        """Give a batch up."""
        await cancelling.cancel(batch_id)
        return done(request, f"Import {batch_id} was cancelled. What was read stays.")

    @post("/pause", status_code=200)
    async def pause(self, request: AnyRequest) -> Response[Any]:
        """Stop scans and imports within seconds; what is in work ends."""
        person = Visitor.of(request).person
        for lane in LANES:
            await control.pause(REGISTER, lane, by=person.name if person else "somebody")
        return done(request, "Imports are paused.")

    @post("/resume", status_code=200)
    async def resume(self, request: AnyRequest) -> Response[Any]:
        """Let scans and imports go on."""
        async with db.unit_of_work() as uow:
            for lane in LANES:
                await control.let_go_on(uow, REGISTER, lane)
            uow.record(FilesFound())
            uow.record(ScanQueued())
        return done(request, "Imports go on.")

    @post("/limits", status_code=200)
    async def limit(self, request: AnyRequest) -> Response[Any]:
        """Cores and hours that imports may use."""
        sent = await form(request, Limits)
        asked = Throttle(_number(sent.cores), _number(sent.begins), _number(sent.ends))
        if asked.begins is not None and asked.begins == asked.ends:
            raise Conflict("Both hours are the same", "Leave both empty to allow imports at any time.")
        async with db.unit_of_work() as uow:
            await throttle.write(uow, asked, settings.current())
            uow.record(FilesFound())
        return done(request, "Saved. Imports heed it within a minute.")


HANDLERS = (ImportController,)
