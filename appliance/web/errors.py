"""Errors at the edge of the web: a page, a toast, or problem JSON under /api."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import asyncpg
import msgspec
import sqlalchemy.exc
from asyncpg import DataError, DiskFullError
from litestar import Request, Response
from litestar.exceptions import HTTPException

from appliance.accounts import sessions
from appliance.core import db, log
from appliance.core.errors import Unavailable, VitrineError
from appliance.web import outage
from appliance.web.guards import NotSetUp, NotSignedIn, token_of
from appliance.web.hypermedia import Screen, go, page, toast, wants_fragment


AnyRequest = Request[Any, Any, Any]
RETRY_SECONDS = 3
LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
)
SAID: dict[int, tuple[str, str]] = {
    404: ("There is nothing here", "The address may be old, or a letter of it is wrong."),
    405: ("This address cannot do that", ""),
    413: ("Too much at once", "The server refused to read it. Nothing was changed."),
    400: ("This request cannot be understood", "Nothing was changed."),
    422: ("This request cannot be understood", "Nothing was changed."),
}
BROKEN = (
    "This page could not be built",
    "Nothing was changed or lost. The error is in the log under this number, and the next try often works.",
)
AWAY = (
    "The database does not answer",
    "Nothing is lost. This page tries again by itself, usually for a few seconds only.",
)
AWAY_LONG = (
    "The database still does not answer",
    (
        "Nothing is lost, and this page goes on trying. On the server, `vitrine doctor` says what is wrong;"
        " the log of Vitrine's own database is logs/postgres.log in the data directory."
    ),
)
CROSSED = (
    "Somebody else changed the same at this moment",
    "Nothing was changed. Do it once more: it usually works at once.",
)


def on_refusal(request: AnyRequest, error: VitrineError) -> Response[Any]:
    """Words of our own, with their own way out."""
    if isinstance(error, NotSetUp):
        return go("/setup", request=request)
    if isinstance(error, NotSignedIn):
        return go(_login_path(request), request=request)
    return _say(request, error.status, error.title, error.hint)


def _login_path(request: AnyRequest) -> str:
    if wants_fragment(request) or request.method != "GET" or request.url.path == "/":
        return "/login"
    query = f"?{request.url.query}" if request.url.query else ""
    return "/login?next=" + quote(request.url.path + query, safe="")


def on_http(request: AnyRequest, error: HTTPException) -> Response[Any]:
    """Refusals of the framework, in our words."""
    status = error.status_code
    if status >= 500:
        return on_fault(request, error)
    title, hint = SAID.get(status, (HTTPStatus(status).phrase, ""))
    return _say(request, status, title, hint)


def on_nonsense(request: AnyRequest, _error: DataError) -> Response[Any]:
    """A value that the database cannot even hold (too many digits, a NUL): nothing has that name."""
    return _say(request, 422, "That cannot be looked up", "A number is too large, or a letter is not one.")


def on_full_disk(request: AnyRequest, _error: DiskFullError) -> Response[Any]:
    """Nothing can be written down; what was asked is undone as a whole."""
    return _say(
        request, 507, "The disk is full", "Nothing was changed. Make room on the disk of the data directory."
    )


def on_fault(request: AnyRequest, error: Exception) -> Response[Any]:
    """What nobody foresaw: logged with the number that the page shows."""
    full = error.orig.__cause__ if isinstance(error, sqlalchemy.exc.DBAPIError) and error.orig else None
    if isinstance(full, DiskFullError):
        return on_full_disk(request, full)
    if is_away(error):
        log.get().warning("database did not answer", path=request.url.path, error=str(error)[:200])
        return _later(request, AWAY_LONG if outage.lasts() else AWAY)
    if db.collided(error):
        log.get().warning("request gave way to another", path=request.url.path, error=str(error)[:200])
        return _later(request, CROSSED)
    log.get().error("request failed", path=request.url.path, exc_info=error)
    return _say(request, 500, *BROKEN)


def is_away(error: Exception) -> bool:
    """Whether this is the database being down rather than a fault of ours."""
    if isinstance(error, (Unavailable, sqlalchemy.exc.TimeoutError, asyncio.TimeoutError)):
        return True
    if isinstance(error, sqlalchemy.exc.DBAPIError):
        return error.connection_invalidated or _is_lost(error.orig)
    return _is_lost(error)


def _is_lost(error: BaseException | None) -> bool:
    while error is not None:
        # Arguments of the wrong type are an InterfaceError too, and a fault of ours.
        lost = isinstance(error, LOST) and not isinstance(error, ValueError)
        if lost or (isinstance(error, OSError) and _from_driver(error)):
            return True
        error = error.__cause__
    return False


def _from_driver(error: BaseException) -> bool:
    # A socket that is not there looks like any missing file; only the frames tell whose it was.
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_globals.get("__name__", "").startswith("asyncpg"):
            return True
        step = step.tb_next
    return False


def _later(request: AnyRequest, said: tuple[str, str]) -> Response[Any]:
    # A page that was asked for comes again by itself; a form that was sent is the person's to send again.
    by_itself = said is not CROSSED or request.method == "GET"
    response = _say(request, 503, *said, retry=RETRY_SECONDS if by_itself else None)
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


def _say(
    request: AnyRequest, status: int, title: str, hint: str, *, retry: int | None = None
) -> Response[Any]:
    number = request.scope.get("state", {}).get("request_id", "")
    if request.url.path.startswith("/api/"):
        return _problem(status, title, hint, number)
    if wants_fragment(request):
        return toast(f"{title}. {hint}" if hint else title, bad=True, status=status)
    _recall(request)
    return page(
        request,
        "errors/page.html",
        Screen("entry", title),
        status=status,
        title=title,
        hint=hint,
        request_id=number if status >= 500 else "",
        retry=retry,
        again=request.url.path if status >= 500 and request.method == "GET" else "",
    )


def _recall(request: AnyRequest) -> None:
    # An unknown route has no guard; whoever was looked up a moment ago still gets the frame with the rail.
    state = request.scope.setdefault("state", {})
    token = token_of(request)
    if "person" not in state and token:
        state["person"] = sessions.remembered(token)


def _problem(status: int, title: str, hint: str, number: str) -> Response[bytes]:
    body = {"type": "about:blank", "title": title, "status": status, "detail": hint, "request_id": number}
    return Response(msgspec.json.encode(body), status_code=status, media_type="application/problem+json")


EXCEPTIONS: dict[Any, Any] = {
    VitrineError: on_refusal,
    HTTPException: on_http,
    DataError: on_nonsense,
    DiskFullError: on_full_disk,
    Exception: on_fault,
}
