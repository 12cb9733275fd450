"""Answers for people: a page, or the fragment of it that htmx asked for."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from litestar import Request, Response
from litestar.datastructures import Cookie
from litestar.enums import MediaType

from appliance.web import pages, pulse
from appliance.web.visitor import Visitor


if TYPE_CHECKING:
    from asyncpg import Connection


AnyRequest = Request[Any, Any, Any]


class Screen(NamedTuple):
    """Which page is shown: its bundle, its title and its place in the rail."""

    bundle: str
    title: str
    place: str = ""


def wants_fragment(request: AnyRequest) -> bool:
    """True only for an explicit partial request; anything else gets the whole page."""
    return request.headers.get("HX-Request-Type") == "partial"


def html(text: str, *, status: int = 200, headers: dict[str, str] | None = None) -> Response[str]:
    """HTML that depends on the kind of request and is never kept by a shared cache."""
    kept = {"Vary": "HX-Request-Type, Cookie", "Cache-Control": "private, no-cache"}
    return Response(text, media_type=MediaType.HTML, status_code=status, headers=kept | (headers or {}))


def page(
    request: AnyRequest, template: str, screen: Screen, *, status: int = 200, **values: Any
) -> Response[str]:
    """A whole page in the layout."""
    visitor = Visitor.of(request)
    values |= {"screen": screen, "visitor": visitor, "path": request.url.path, "status": status}
    text = pages.render(template, **values)
    return html(text, status=status)


async def shell_page(
    request: AnyRequest, sql: Connection[Any], template: str, screen: Screen, **values: Any
) -> Response[str]:
    """A whole page with rail and top bar, which say what is being imported and how the house is."""
    return page(request, template, screen, pulse=await pulse.pulse(sql), **values)


def fragment(
    template: str, *, status: int = 200, headers: dict[str, str] | None = None, **values: Any
) -> Response[str]:
    """One piece of a page, for htmx."""
    return html(pages.render(template, **values), status=status, headers=headers)


def toast(text: str, *, bad: bool = False, status: int = 200) -> Response[str]:
    """A line at the lower edge; errors stay until they are dismissed."""
    return fragment(
        "shared/_toast.html",
        status=status,
        text=text,
        bad=bad,
        headers={"HX-Retarget": "#toasts", "HX-Reswap": "beforeend"},
    )


def nothing() -> Response[bytes]:
    """Nothing changed: htmx swaps nothing."""
    return Response(
        b"",
        media_type="text/plain",
        status_code=204,
        headers={"Vary": "HX-Request-Type, Cookie", "Cache-Control": "no-store"},
    )


def go(
    path: str, *, request: AnyRequest | None = None, cookies: list[Cookie] | None = None
) -> Response[bytes]:
    """Send the browser elsewhere on this site: 303 for a page, a header for htmx."""
    where = quote(path, safe="/?&=#%._-~:+,")
    if request is not None and wants_fragment(request):
        headers, status = {"HX-Redirect": where}, 200
    else:
        headers, status = {"Location": where}, 303
    return Response(
        b"",
        media_type="text/plain",
        status_code=status,
        cookies=cookies,
        headers=headers | {"Cache-Control": "no-store"},
    )


def kept(request: AnyRequest, response: Response[str], *, seconds: int) -> Response[Any]:
    """Let the browser keep a fragment for a while and ask again with its mark."""
    mark = '"' + hashlib.sha256(response.content.encode()).hexdigest()[:20] + '"'
    headers = {
        "ETag": mark,
        "Cache-Control": f"private, max-age={seconds}",
        "Vary": "HX-Request-Type, Cookie",
    }
    if mark in request.headers.get("If-None-Match", ""):
        return Response(b"", media_type="text/plain", status_code=304, headers=headers)
    for name, value in headers.items():
        response.headers[name] = value
    return response


def safe_path(text: str | None) -> str:
    """A path on this site, or the front page: never another origin."""
    if not text or not text.startswith("/") or text[1:2] in {"/", "\\"}:
        return "/"
    # Browsers drop tabs and line breaks inside a URL, which could join "/" and "/".
    return "/" if any(ord(c) < 0x20 or c == "\\" for c in text) else text
