"""The outermost layer: host names, origins, request ids and security headers, before any body is read."""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

import structlog
from litestar.datastructures import Headers
from litestar.enums import ScopeType

from appliance.core.settings import Settings
from appliance.web import pages
from appliance.web.assets import PREFIX
from appliance.web.hypermedia import Screen
from appliance.web.visitor import Visitor


if TYPE_CHECKING:
    from litestar.types import ASGIApp, Message, Receive, Scope, Send


CSP = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)
HEADERS: dict[bytes, bytes] = {
    b"content-security-policy": CSP.encode(),
    b"x-content-type-options": b"nosniff",
    # Not no-referrer: with that, browsers send "Origin: null" with our own forms, and on plain http in
    # a home network Origin is the only thing that tells our form from a stranger's. Other sites see nothing.
    b"referrer-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
}
# Browsers take it from secure origins only, and complain in the console about any other.
SECURE_ONLY = {b"cross-origin-opener-policy": b"same-origin"}
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_.-]{1,253})(?::(?P<port>\d{1,5}))?", re.IGNORECASE)
SUFFIXES = (".local", ".lan", ".home.arpa", ".localhost")


class Hosts:
    """The names under which the pages may be reached; others are how a foreign page rebinds DNS to us."""

    def __init__(self, further: Iterable[str]) -> None:
        # Not the full name: asking for it may wait for a name server that is not there.
        own = {socket.gethostname()}
        own |= {n.partition(".")[0] for n in own}
        self._names = {n.lower().rstrip(".") for n in own | set(further) | {"localhost"} if n}

    def allows(self, header: str) -> bool:
        """Whether a Host header names this machine."""
        found = HOST.fullmatch(header)
        if found is None:
            return False
        name = found["name"].lower().rstrip(".")
        return name in self._names or name.endswith(SUFFIXES) or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def same_site(method: str, headers: dict[bytes, bytes]) -> bool:
    """Whether an unsafe request comes from our own pages or from no page at all."""
    if method in SAFE:
        return True
    fetch = headers.get(b"sec-fetch-site")
    if fetch is not None:
        return fetch in {b"same-origin", b"none"}
    origin = headers.get(b"origin")
    if origin is None:
        # Browsers send one of the two with every cross-site POST; a program that sends neither holds no
        # one's cookies but its own.
        return True
    return origin.partition(b"://")[2].lower() == headers.get(b"host", b"").lower()


class Proxies:
    """The reverse proxies that may speak for somebody else: who asked, and whether by TLS."""

    def __init__(self, named: Iterable[str]) -> None:
        self._networks = tuple(ipaddress.ip_network(text, strict=False) for text in named)

    def believe(self, scope: Scope) -> None:
        """Put the visitor's own address and scheme in place, if one of ours passed the request on."""
        client = scope.get("client")
        if not self._networks or client is None or not self._ours(client[0]):
            return
        headers = Headers.from_scope(scope)
        if headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower() == "https":
            scope["scheme"] = "https"
        passed_on = ",".join(headers.getall("x-forwarded-for", [])).split(",")
        if visitor := self._visitor([part.strip() for part in passed_on]):
            scope["client"] = (visitor, 0)

    def _visitor(self, chain: list[str]) -> str:
        """The last address that is not a proxy of ours; anybody can claim what stands before it."""
        found = ""
        for part in reversed(chain):
            address = _bare(part)
            if not address:
                return found
            found = address
            if not self._ours(address):
                return found
        return found

    def _ours(self, text: str) -> bool:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return False
        mapped = getattr(address, "ipv4_mapped", None)
        return any((mapped or address) in network for network in self._networks)


def _bare(text: str) -> str:
    """An address without its port, empty when it is none."""
    for candidate in (text, text.rpartition(":")[0].strip("[]"), text.strip("[]")):
        if _is_address(candidate):
            return candidate
    return ""


class Gate:
    """Wraps the whole application, so that unknown routes and errors pass through it too."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        self.hosts = Hosts(settings.hosts)
        self.proxies = Proxies(settings.proxy)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what is not meant for us, then let the application answer."""
        if scope["type"] != ScopeType.HTTP:
            await self.app(scope, receive, send)
            return
        self.proxies.believe(scope)
        request_id = f"req-{secrets.token_hex(5)}"
        scope.setdefault("state", {})["request_id"] = request_id
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        secure = scope["scheme"] == "https" or is_loopback(host)
        guarded = _guarded(send, request_id, HEADERS | SECURE_ONLY if secure else HEADERS)
        # Static files are the same for everyone and give the refusal page its look.
        if not self.hosts.allows(host) and not scope["path"].startswith(PREFIX):
            await _refuse(guarded, 403, f"Vitrine does not answer to “{host[:80]}”", _host_hint(host))
        elif not same_site(scope["method"], headers):
            await _refuse(
                guarded,
                403,
                "This came from another site",
                "Nothing was changed. Open Vitrine and try again there.",
            )
        else:
            await _answer(self.app, scope, receive, guarded)


def _host_hint(host: str) -> str:
    name = host.rpartition(":")[0] or host
    return f"If this name is yours, start Vitrine with VITRINE_HOSTS={name[:80]} and open the page again."


async def _answer(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["method"] != "HEAD":  # type: ignore[typeddict-item]
        await app(scope, receive, send)
        return
    # Every page can be asked for without its body; routes declare GET only.
    # A copy: the server reads its own scope to know that no body follows.
    asked = cast("Scope", {**scope, "method": "GET"})

    async def bodiless(message: Message) -> None:
        if message["type"] == "http.response.body":
            message["body"] = b""
        await send(message)

    await app(asked, receive, bodiless)


def is_loopback(host: str) -> bool:
    """Whether a Host header names this very machine, which browsers trust without TLS."""
    found = HOST.fullmatch(host)
    name = found["name"].lower().strip("[]") if found else ""
    return (
        name == "localhost"
        or name.endswith(".localhost")
        or (_is_address(name) and ipaddress.ip_address(name).is_loopback)
    )


def _guarded(send: Send, request_id: str, added: dict[bytes, bytes]) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [
                *message["headers"],
                *((n, v) for n, v in added.items() if n not in present),
                (b"x-request-id", request_id.encode()),
            ]
        await send(message)

    return guarded


async def _refuse(send: Send, status: int, title: str, hint: str) -> None:
    body = pages.render(
        "errors/page.html",
        screen=Screen("entry", title),
        visitor=Visitor("", "m", "wide", None),
        path="/",
        status=status,
        title=title,
        hint=hint,
        request_id="",
        again="",
        retry=None,
    ).encode()
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
