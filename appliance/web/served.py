"""Static files, from memory."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, get

from appliance.core.errors import NotFound
from appliance.web.assets import PREFIX, assets
from appliance.web.guards import OPEN


FOREVER = "public, max-age=31536000, immutable"


@get(PREFIX + "{path:path}", opt=OPEN)
async def static_file(request: Request[Any, Any, Any], path: str) -> Response[Any]:
    """One static file under its content's address."""
    found = assets().at(PREFIX + path.lstrip("/"))
    if found is None:
        raise NotFound("There is no such file")
    headers = {"Cache-Control": FOREVER, "Vary": "Accept-Encoding"}
    if found.packed is not None and "gzip" in request.headers.get("Accept-Encoding", ""):
        return Response(found.packed, media_type=found.mime, headers=headers | {"Content-Encoding": "gzip"})
    return Response(found.body, media_type=found.mime, headers=headers)


@get("/favicon.ico", opt=OPEN)
async def favicon() -> Response[bytes]:
    """What browsers ask for unasked."""
    found = assets().named("favicon.svg")
    return Response(found.body, media_type=found.mime, headers={"Cache-Control": "public, max-age=86400"})


@get("/robots.txt", opt=OPEN)
async def robots() -> Response[str]:
    """A home collection is nobody's index."""
    return Response("User-agent: *\nDisallow: /\n", media_type="text/plain")


HANDLERS = (static_file, favicon, robots)
