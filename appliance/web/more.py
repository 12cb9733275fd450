"""Everything that the bar of a phone has no room for."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, get

from appliance.core import db
from appliance.web.guards import EVERYBODY
from appliance.web.hypermedia import Screen, shell_page


@get("/more", opt=EVERYBODY)
async def more(request: Request[Any, Any, Any]) -> Response[Any]:
    """The places behind More."""
    async with db.unit_of_work() as uow:
        return await shell_page(request, uow.sql, "more/index.html", Screen("plain", "More", "more"))


HANDLERS = (more,)
