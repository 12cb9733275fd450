"""The failure inbox: every file that could not be read, why, and what can be done about it."""

from __future__ import annotations

from typing import Any

from litestar import Controller, Request, Response, get, post

from appliance.core import db, names
from appliance.core.errors import Invalid
from appliance.ingest import inbox
from appliance.ingest.inbox import Retried, Which
from appliance.media.reasons import Reason
from appliance.web import words
from appliance.web.hypermedia import Screen, shell_page, toast, wants_fragment
from appliance.web.imports import done, show_page


AnyRequest = Request[Any, Any, Any]
SCREEN = Screen("import", "Files that could not be read", "import")
PAGE = 100


def _which(reason: str, entry: int) -> Which:
    if reason and reason not in set(Reason):
        raise Invalid("There is no such class of failure", "Choose one of the list.")
    return Which(entry or None, reason or None)


def said(result: Retried) -> str:
    """What became of trying again, in words."""
    parts = []
    if result.queued:
        parts.append(f"{words.count(result.queued, 'file is', 'files are')} tried again.")
    if result.folders:
        parts.append(f"{words.count(result.folders, 'folder is', 'folders are')} looked at again.")
    parts += [
        f"{words.count(away.count, 'file stays', 'files stay')} as they are:"
        f" {names.display(away.root)} cannot be read ({away.cause})."
        for away in result.away
    ]
    return " ".join(parts) or "Nothing was left to try."


class InboxController(Controller):
    """Lists of failures and the actions on them."""

    path = "/import/failures"

    @get("/")
    async def show(self, request: AnyRequest, reason: str = "", after: int = 0) -> Response[Any]:
        """All classes; of one class its files, a page at a time."""
        chosen = _which(reason, 0).reason
        async with db.unit_of_work() as uow:
            files = await inbox.files(uow.sql, chosen, PAGE + 1, after=after) if chosen else []
            return await shell_page(
                request,
                uow.sql,
                "import/failures.html",
                SCREEN,
                groups=await inbox.groups(uow.sql),
                ignored=await inbox.any_ignored(uow.sql),
                chosen=chosen,
                files=files[:PAGE],
                more=files[PAGE - 1].id if len(files) > PAGE else None,
            )

    @get("/ignored")
    async def ignored(self, request: AnyRequest, after: int = 0) -> Response[Any]:
        """Files that are left alone."""
        async with db.unit_of_work() as uow:
            files = await inbox.ignored(uow.sql, PAGE + 1, after=after)
            return await shell_page(
                request,
                uow.sql,
                "import/ignored.html",
                Screen("import", "Ignored files", "import"),
                files=files[:PAGE],
                more=files[PAGE - 1].id if len(files) > PAGE else None,
            )

    @post("/retry", status_code=200)
    async def retry(self, request: AnyRequest, reason: str = "", entry: int = 0) -> Response[Any]:
        """Try one file, a class, or everything again."""
        result = await inbox.retry(_which(reason, entry))
        bad = bool(result.away)
        if wants_fragment(request):
            return toast(said(result), bad=bad)
        # Without scripts the answer is the page itself: the explanation must not get lost on the way.
        return await show_page(request, said=said(result), bad=bad)

    @post("/ignore", status_code=200)
    async def ignore(self, request: AnyRequest, reason: str = "", entry: int = 0) -> Response[Any]:
        """Leave one file or a class alone for good."""
        count = await inbox.ignore(_which(reason, entry))
        return done(request, f"{words.count(count, 'file is', 'files are')} left alone until they change.")

    @post("/take-back", status_code=200)
    async def take_back(self, request: AnyRequest, entry: int = 0) -> Response[Any]:
        """Put ignored files back into the inbox."""
        count = await inbox.take_back(Which(id=entry or None))
        text = f"{words.count(count, 'file is', 'files are')} in the inbox again."
        return done(request, text, to="/import/failures/ignored")


HANDLERS = (InboxController,)
