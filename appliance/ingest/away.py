"""Roots that went away while something under them was read."""

from __future__ import annotations

from appliance.core import db
from appliance.ingest import looking, services


async def went(root_id: int, path: bytes) -> bool:
    """Ask whether a root can be read; one that cannot is left alone until a scan has read it again."""
    causes = await looking.away([path])
    if not causes:
        return False
    async with db.unit_of_work() as uow:
        await services.mark_unavailable(uow.sql, root_id, causes[path])
    return True
