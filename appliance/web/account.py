"""One's own account: password, and the browsers that are signed in."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from litestar import Controller, Request, Response, get, post

from appliance.accounts import services, sessions
from appliance.accounts.errors import TooManyTries, WeakPassword, WrongPassword
from appliance.accounts.sessions import Person
from appliance.core import db
from appliance.core.errors import Invalid, VitrineError
from appliance.web.entry import caller_of, form
from appliance.web.guards import EVERYBODY
from appliance.web.hypermedia import go
from appliance.web.settings_pages import section


AnyRequest = Request[Any, Any, Any]
# The first that is found wins: browsers claim to be the ones before them.
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "Mac"),
    ("Linux", "Linux"),
)


def device(agent: str) -> str:
    """A browser in words: Firefox on Windows."""
    browser = next((name for mark, name in BROWSERS if mark in agent), "")
    system = next((name for mark, name in SYSTEMS if mark in agent), "")
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or re.split(r"[/ ]", agent)[0][:40] or "Unknown device"


class NewPassword(msgspec.Struct):
    """The form for one's own password."""

    old: str = ""
    new: str = ""


def myself(request: AnyRequest) -> Person:
    """Whoever is signed in: the guard let nobody else pass."""
    person: Person = request.scope["state"]["person"]
    return person


class AccountController(Controller):
    """What everybody may do to their own account."""

    path = "/settings"
    opt = EVERYBODY

    @get("/")
    async def show(self, request: AnyRequest) -> Response[Any]:
        """Who I am here, and the form for another password."""
        return await _account(request)

    @post("/password", status_code=200)
    async def change_password(self, request: AnyRequest) -> Response[Any]:
        """Replace one's own password."""
        sent, me = await form(request, NewPassword), myself(request)
        try:
            await services.change_password(
                me.id, me.session_id, old=sent.old, new=sent.new, caller=caller_of(request)
            )
        except (WrongPassword, WeakPassword, TooManyTries) as refusal:
            return await _account(request, refusal=refusal)
        return go("/settings?said=password")

    @get("/sessions")
    async def show_sessions(self, request: AnyRequest) -> Response[Any]:
        """The browsers in which this person is signed in."""
        async with db.unit_of_work() as uow:
            found = await sessions.of_person(uow.sql, myself(request).id)
        return await section(
            request, "account/sessions.html", "sessions", found=found, device=device, me=myself(request)
        )

    @post("/sessions/{session_id:int}/end", status_code=200)
    async def end_session(self, request: AnyRequest, session_id: int) -> Response[Any]:
        """Sign out another browser."""
        if session_id == myself(request).session_id:
            raise Invalid("This is the browser that you use", "Sign out in the menu above instead.")
        async with db.unit_of_work() as uow:
            if await sessions.end_one(uow.sql, myself(request).id, session_id):
                await services.audit(
                    uow.sql, "ended a session", user_id=myself(request).id, caller=caller_of(request)
                )
        return go("/settings/sessions?said=ended")

    @post("/sessions/end-others", status_code=200)
    async def end_others(self, request: AnyRequest) -> Response[Any]:
        """Sign out everywhere but here."""
        me = myself(request)
        async with db.unit_of_work() as uow:
            await sessions.end_all(uow.sql, me.id, but=me.session_id)
            await services.audit(
                uow.sql, "ended all other sessions", user_id=me.id, caller=caller_of(request)
            )
        return go("/settings/sessions?said=others")


async def _account(request: AnyRequest, *, refusal: VitrineError | None = None) -> Response[Any]:
    return await section(
        request,
        "account/index.html",
        "account",
        status=refusal.status if refusal else 200,
        wrong="new" if isinstance(refusal, WeakPassword) else "old" if refusal else "",
        problem=refusal.line() if refusal else "",
        me=myself(request),
    )


HANDLERS = (AccountController,)
