"""Who may pass: everything is closed unless its route says otherwise.

A route without a word is for administrators. `opt=EVERYBODY` lets viewers in as well, `opt=OPEN` strangers.
"""

from __future__ import annotations

from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from appliance.accounts import services, sessions
from appliance.accounts.sessions import Person
from appliance.core import db
from appliance.core.errors import VitrineError


Connection = ASGIConnection[Any, Any, Any, Any]
OPEN = {"open": True}
EVERYBODY = {"everybody": True}
PLAIN_COOKIE, TLS_COOKIE = "vitrine", "__Host-vitrine"


class NotSignedIn(VitrineError):
    """The page belongs to somebody who is signed in."""

    status = 401


class NotAllowed(VitrineError):
    """A viewer looks; changing things is for administrators."""

    status = 403


class NotSetUp(VitrineError):
    """There is no account yet, so nothing but set-up is open."""

    status = 401


def cookie_name(connection: Connection) -> str:
    """Over TLS the name itself promises that no other host can have set it."""
    return TLS_COOKIE if connection.url.scheme == "https" else PLAIN_COOKIE


def token_of(connection: Connection) -> str | None:
    """The session token that this request carries."""
    token = connection.cookies.get(cookie_name(connection))
    return token if token and len(token) <= 100 else None


async def who(connection: Connection) -> Person | None:
    """The person behind the request; remembered for the rest of it."""
    token = token_of(connection)
    if token is None:
        return None
    person = sessions.remembered(token)
    if person is None:
        async with db.unit_of_work() as uow:
            person = await sessions.look_up(uow.sql, token)
    connection.scope.setdefault("state", {})["person"] = person
    return person


async def set_up_done() -> bool:
    """Whether an account exists."""
    if services.known_set_up():
        return True
    async with db.unit_of_work() as uow:
        return await services.is_set_up(uow.sql)


async def signed_in(connection: Connection, handler: BaseRouteHandler) -> None:
    """The guard of the whole application; runs before any body is read."""
    if handler.opt.get("open"):
        return
    person = await who(connection)
    if person is not None:
        if person.admin or handler.opt.get("everybody"):
            return
        raise NotAllowed("Only administrators may do this", "Ask whoever looks after this Vitrine.")
    if not await set_up_done():
        raise NotSetUp("Vitrine is not set up yet")
    raise NotSignedIn("Sign in first")
