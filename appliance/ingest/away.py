"""Roots that went away while something under them was read."""

from __future__ import annotations

from appliance.core import db
from appliance.ingest import looking, services


async def cause(root_id: int, path: bytes) -> str | None:
    """Ask why a root cannot be read; one that cannot is left alone until a scan has read it again."""
    causes = await looking.away([path])
    if not causes:
        return None
    async with db.unit_of_work() as uow:
        await services.mark_unavailable(uow.sql, root_id, causes[path])
    return causes[path]


async def went(root_id: int, path: bytes) -> bool:
    """Whether a root cannot be read, as `cause` finds it."""
    return await cause(root_id, path) is not None
