"""The history page: what was done to pictures, to one or to many at once, by whom, and the way back."""

from __future__ import annotations

from typing import Any

from litestar import Controller, Request, Response, get
from litestar.params import Parameter

from appliance.core import db
from appliance.operations import history, services
from appliance.operations.kinds import Kind
from appliance.web import said
from appliance.web.hypermedia import Screen, fragment, go, shell_page, wants_fragment


AnyRequest = Request[Any, Any, Any]
SCREEN = Screen("history", "History", "history")
PAGE = 50
GROUPS: dict[str, tuple[str, tuple[Kind, ...]]] = {
    "": ("All", ()),
    "tags": ("Tags", (Kind.TAG, Kind.UNTAG)),
    "ratings": ("Ratings", (Kind.RATE, Kind.FAVOURITE, Kind.UNFAVOURITE)),
    "places": ("Archive and trash", (Kind.ARCHIVE, Kind.KEEP, Kind.TRASH, Kind.RESTORE, Kind.PURGE)),
    "words": ("Titles and notes", (Kind.TITLE, Kind.NOTE)),
    "dates": ("Dates", (Kind.DATE, Kind.OWN_DATE)),
    "turned": ("Turned", (Kind.TURN,)),
    "duplicates": ("Duplicates", (Kind.KEEP_ONE, Kind.ALTERNATE, Kind.DIFFERENT)),
    "private": ("Private", (Kind.PRIVATE, Kind.PUBLIC)),
    "undone": ("Undone", (Kind.UNDO,)),
}


class HistoryController(Controller):
    """The page; asked for in part, its list."""

    path = "/history"

    @get("/")
    async def show(
        self, request: AnyRequest, kind: str = "", before: int | None = Parameter(default=None, ge=1)
    ) -> Response[Any]:
        """Newest first, in pages by number."""
        group = kind if kind in GROUPS else ""
        async with db.unit_of_work() as uow:
            found = await history.latest(uow.sql, limit=PAGE + 1, before=before, kinds=GROUPS[group][1])
            values: dict[str, Any] = {
                "operations": found[:PAGE],
                "more": found[PAGE - 1].id if len(found) > PAGE else None,
                "group": group,
                "groups": {key: label for key, (label, _) in GROUPS.items()},
                "before": before,
                "said": said,
                "days": services.KEPT_FOR.days,
            }
            if wants_fragment(request):
                return fragment("history/_list.html", **values)
            return await shell_page(request, uow.sql, "history/index.html", SCREEN, **values)


class TrashController(Controller):
    """What stands above the pictures in the trash."""

    @get("/trash")
    async def bar(self, request: AnyRequest) -> Response[Any]:
        """How much lies there; asked for plainly, the trash itself."""
        if not wants_fragment(request):
            return go("/?q=is%3Atrashed")
        async with db.unit_of_work() as uow:
            weight = await history.weight(uow.sql, "SELECT id FROM asset WHERE state = 'trashed'", [])
        return fragment("operations/_trash_bar.html", weight=weight, days=services.KEPT_FOR.days)


HANDLERS = (HistoryController, TrashController)
