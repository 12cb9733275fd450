"""The installable app: a manifest, a service worker for the shell, and the page for when nothing answers."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Request, Response, get

from appliance.web import pages
from appliance.web.assets import assets
from appliance.web.guards import OPEN
from appliance.web.hypermedia import Screen
from appliance.web.visitor import Visitor


MANIFEST = "application/manifest+json"
# Asked for at each start of the app; the answer is small and the same for everyone.
DAILY = "public, max-age=86400"
SIZES = (192, 512)


def manifest() -> dict[str, Any]:
    """What the device needs to know about the app."""
    return {
        "id": "/",
        "name": "Vitrine",
        "short_name": "Vitrine",
        "description": "Your pictures, videos and comics, at home.",
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": "#f9fafa",
        "theme_color": "#f9fafa",
        "categories": ["photo", "entertainment"],
        "icons": [_icon("app", n, "any") for n in SIZES] + [_icon("maskable", n, "maskable") for n in SIZES],
        "shortcuts": [{"name": "Upload", "url": "/upload"}, {"name": "Import", "url": "/import"}],
        "share_target": {
            "action": "/uploads/shared",
            "method": "POST",
            "enctype": "multipart/form-data",
            "params": {
                "title": "title",
                "text": "text",
                "url": "url",
                "files": [{"name": "files", "accept": ["image/*", "video/*"]}],
            },
        },
    }


def _icon(name: str, size: int, purpose: str) -> dict[str, str]:
    address = assets().url(f"icons/{name}-{size}.png")
    return {"src": address, "sizes": f"{size}x{size}", "type": "image/png", "purpose": purpose}


@get("/manifest.webmanifest", opt=OPEN)
async def show_manifest() -> Response[bytes]:
    """Open to everyone: browsers ask for it without cookies."""
    body = msgspec.json.encode(manifest())
    return Response(body, media_type=MANIFEST, headers={"Cache-Control": DAILY})


@get("/sw.js", opt=OPEN)
async def worker() -> Response[bytes]:
    """The service worker; it stands at the root, since it may only see what lies below it."""
    headers = {"Cache-Control": "no-cache"}
    return Response(assets().named("sw.js").body, media_type="text/javascript", headers=headers)


@get("/offline", opt=OPEN)
async def offline(request: Request[Any, Any, Any]) -> Response[str]:
    """Kept by the service worker, so it knows nobody and nothing."""
    theme = Visitor.of(request).theme
    text = pages.render(
        "pwa/offline.html",
        screen=Screen("entry", "No connection"),
        visitor=Visitor(theme, "m", "wide", None),
        path="/",
    )
    return Response(text, media_type="text/html", headers={"Cache-Control": "no-cache"})


HANDLERS = (show_manifest, worker, offline)
