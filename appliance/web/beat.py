"""Live parts that every page shares, and the answers for those who watch the house from outside."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, get

from appliance.core import db
from appliance.web import outage
from appliance.web.guards import OPEN
from appliance.web.hypermedia import fragment, go, wants_fragment
from appliance.web.pulse import pulse


@get("/pulse")
async def show_pulse(request: Request[Any, Any, Any]) -> Response[Any]:
    """The running import and the health of the house, in words."""
    if not wants_fragment(request):
        return go("/admin/activity")
    async with db.unit_of_work() as uow:
        return fragment("shared/_pulse.html", pulse=await pulse(uow.sql))


@get("/health/live", opt=OPEN)
async def live() -> Response[str]:
    """The process answers."""
    return Response("ok\n", media_type="text/plain", headers={"Cache-Control": "no-store"})


@get("/health/ready", opt=OPEN)
async def ready() -> Response[str]:
    """The process and its database answer."""
    async with db.unit_of_work() as uow:
        await uow.sql.fetchval("SELECT 1")
    outage.over()
    return Response("ok\n", media_type="text/plain", headers={"Cache-Control": "no-store"})


HANDLERS = (show_pulse, live, ready)
