"""What the search box offers while one writes, and the page that teaches the language."""

from __future__ import annotations

from typing import Any, NamedTuple

from litestar import Controller, Request, Response, get

from appliance.core import db
from appliance.search import completion
from appliance.search.completion import Suggestion
from appliance.search.plan import Scope
from appliance.tagging.names import KINDS
from appliance.web import places
from appliance.web.guards import EVERYBODY
from appliance.web.hypermedia import Screen, fragment, go, shell_page, wants_fragment
from appliance.web.language import ADMIN, LANGUAGE
from appliance.web.visitor import Visitor


AnyRequest = Request[Any, Any, Any]


class Option(NamedTuple):
    """One line below the box: what the whole text becomes, and where the caret stands then."""

    label: str
    prefix: str
    kind: str
    note: str
    uses: int | None
    text: str
    at: int
    insert: str
    unfinished: bool
    """A key still wants its value: choosing it goes on writing."""


def option(q: str, found: Suggestion) -> Option:
    """A suggestion, put into the text."""
    unfinished = found.kind == "key"
    rest = q[found.end :].lstrip()
    put = found.insert + ("" if unfinished else " ")
    prefix, label = ("", found.label)
    if found.kind in KINDS and found.kind != "general":
        prefix = found.kind
    text = q[: found.start] + put + rest
    return Option(
        label,
        prefix,
        found.kind if found.kind in KINDS else "general",
        found.note,
        found.count,
        text,
        found.start + len(put),
        put,
        unfinished,
    )


class SearchController(Controller):
    """Fragments and pages around the search box."""

    opt = EVERYBODY

    @get("/search/complete")
    async def complete(self, request: AnyRequest, q: str = "", at: int = 0) -> Response[Any]:
        """Suggestions for the word at the caret."""
        if not wants_fragment(request):
            return go(places.gallery(q))
        person = Visitor.of(request).person
        at = max(0, min(at, len(q)))
        async with db.unit_of_work() as uow:
            found = await completion.complete(uow.sql, q, at, Scope(admin=bool(person and person.admin)))
        return fragment("gallery/_found.html", options=[option(q, s) for s in found])

    @get("/search/help")
    async def help(self, request: AnyRequest) -> Response[Any]:
        """The language, by examples that work."""
        person = Visitor.of(request).person
        parts = (*LANGUAGE, ADMIN) if person and person.admin else LANGUAGE
        async with db.unit_of_work() as uow:
            return await shell_page(
                request,
                uow.sql,
                "gallery/help.html",
                Screen("folders", "What a search can say"),
                parts=parts,
                gallery=places.gallery,
            )


HANDLERS = (SearchController,)
