"""Setting up, signing in, signing out, and view settings: all of it works without scripts."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Controller, Request, Response, get, post
from litestar.datastructures import Cookie
from litestar.exceptions import ClientException

from appliance.accounts import services
from appliance.accounts.errors import BadName, NoMatch, SetUpAlready, TooManyTries, WeakPassword, WrongCode
from appliance.accounts.services import Caller
from appliance.accounts.sessions import ABSOLUTE_DAYS
from appliance.core.errors import VitrineError
from appliance.web.guards import OPEN, TLS_COOKIE, cookie_name, set_up_done, token_of, who
from appliance.web.hypermedia import Screen, go, page, safe_path
from appliance.web.visitor import DENSITIES, THEMES, remember


AnyRequest = Request[Any, Any, Any]
SIGN_IN, SET_UP = Screen("entry", "Sign in"), Screen("entry", "Set up")
FIELDS: dict[type[VitrineError], str] = {WrongCode: "code", BadName: "name", WeakPassword: "password"}


class Credentials(msgspec.Struct):
    """The sign-in form."""

    name: str = ""
    password: str = ""
    next: str = "/"


class FirstAccount(msgspec.Struct):
    """The set-up form."""

    code: str = ""
    name: str = ""
    password: str = ""


async def form(request: AnyRequest, kind: type[Any]) -> Any:
    """Fields of a form as text; unknown ones and files are left aside."""
    try:
        sent = await request.form()
    except ValueError:
        raise ClientException("bad form") from None
    values = {f: sent.get(f) for f in kind.__struct_fields__}
    return kind(**{f: v for f, v in values.items() if isinstance(v, str)})


def caller_of(request: AnyRequest) -> Caller:
    """Address and browser behind a request."""
    address = request.client.host if request.client else "local"
    return Caller(address, request.headers.get("User-Agent", ""))


def _session_cookie(request: AnyRequest, token: str, *, seconds: int = ABSOLUTE_DAYS * 86400) -> Cookie:
    name = cookie_name(request)
    return Cookie(
        key=name,
        value=token,
        path="/",
        max_age=seconds,
        httponly=True,
        samesite="lax",
        secure=name == TLS_COOKIE,
    )


def _host(request: AnyRequest) -> str:
    return request.headers.get("Host", "")


class EntryController(Controller):
    """The doors."""

    opt = OPEN

    @get("/login")
    async def show_sign_in(self, request: AnyRequest, next: str = "/") -> Response[Any]:  # noqa: A002
        """The sign-in page; before there is an account set-up stands here, and who is in already passes."""
        if not await set_up_done():
            return _set_up_page(request, FirstAccount())
        if await who(request) is not None:
            return go(safe_path(next))
        return _sign_in_page(request, where=safe_path(next))

    @post("/login", status_code=200)
    async def sign_in(self, request: AnyRequest) -> Response[Any]:
        """Check name and password; the session that begins has an id that nobody knew before."""
        sent = await form(request, Credentials)
        where = safe_path(sent.next)
        try:
            token = await services.sign_in(sent.name, sent.password, caller=caller_of(request))
        except (NoMatch, TooManyTries) as refusal:
            return _sign_in_page(request, where=where, name=sent.name[:64], refusal=refusal)
        return go(where, cookies=[_session_cookie(request, token)])

    @post("/logout", status_code=200)
    async def sign_out(self, request: AnyRequest) -> Response[Any]:
        """End the session on both sides."""
        token = token_of(request)
        if token:
            await services.sign_out(token, caller=caller_of(request))
        return go("/login", cookies=[_session_cookie(request, "", seconds=0)])

    @get("/setup")
    async def show_set_up(self, request: AnyRequest, code: str = "") -> Response[Any]:
        """The form for the first account; it exists only until there is one."""
        if await set_up_done():
            return go("/login")
        return _set_up_page(request, FirstAccount(code=code[:40]))

    @post("/setup", status_code=200)
    async def set_up(self, request: AnyRequest) -> Response[Any]:
        """Make the first account and sign it in."""
        sent = await form(request, FirstAccount)
        try:
            token = await services.set_up(
                sent.code, name=sent.name, password=sent.password, caller=caller_of(request)
            )
        except SetUpAlready:
            await set_up_done()
            return go("/login")
        except (WrongCode, BadName, WeakPassword, TooManyTries) as refusal:
            return _set_up_page(request, sent, refusal=refusal)
        await set_up_done()
        return go("/", cookies=[_session_cookie(request, token)])

    @get("/look")
    async def look(self, theme: str = "", density: str = "", to: str = "/") -> Response[Any]:
        """Keep a view setting in a cookie and go back: the way without scripts."""
        cookies = []
        if theme in THEMES or theme == "auto":
            cookies.append(remember("theme", theme))
        if density in DENSITIES:
            cookies.append(remember("density", density))
        return go(safe_path(to), cookies=cookies)


def _sign_in_page(
    request: AnyRequest, *, where: str, name: str = "", refusal: VitrineError | None = None
) -> Response[str]:
    problem = refusal.line() if isinstance(refusal, TooManyTries) else refusal.title + "." if refusal else ""
    return page(
        request,
        "login/index.html",
        SIGN_IN,
        status=refusal.status if refusal else 200,
        next=where,
        name=name,
        problem=problem,
        host=_host(request),
    )


def _set_up_page(
    request: AnyRequest, sent: FirstAccount, *, refusal: VitrineError | None = None
) -> Response[str]:
    wrong = FIELDS.get(type(refusal), "other") if refusal else ""
    return page(
        request,
        "setup/index.html",
        SET_UP,
        status=refusal.status if refusal else 200,
        wrong=wrong,
        problem=refusal.line() if refusal else "",
        code=sent.code[:40],
        name=sent.name[:64],
        host=_host(request),
    )


HANDLERS = (EntryController,)
