"""What people and pages ask of the library."""

from __future__ import annotations

from appliance.core.db import UnitOfWork
from appliance.library.facts import PreviewWanted
from appliance.library.renditions import NEIGHBOUR, URGENT


async def want_preview(uow: UnitOfWork, asset_id: int, *, neighbours: list[int] | None = None) -> str:
    """Ask that an asset's preview be made before everything else, then those beside it.

    The answer is the preview's status: `complete`, `pending`, `processing`, `failed`, or `none`
    where there is no such rendition.
    """
    await uow.sql.execute(
        "UPDATE rendition SET priority = CASE WHEN asset_id = $1 THEN $3::smallint ELSE $4::smallint END"
        " WHERE asset_id = ANY($2::bigint[]) AND name = 'preview' AND status = 'pending'"
        " AND priority > CASE WHEN asset_id = $1 THEN $3::smallint ELSE $4::smallint END",
        asset_id,
        [asset_id, *(neighbours or [])],
        URGENT,
        NEIGHBOUR,
    )
    status: str | None = await uow.sql.fetchval(
        "SELECT status FROM rendition WHERE asset_id = $1 AND name = 'preview'", asset_id
    )
    if status == "pending":
        uow.record(PreviewWanted())
    return status or "none"


async def redraw(uow: UnitOfWork, asset_id: int, name: str) -> None:
    """Have a picture made again whose file is gone or empty: deleted by hand, or lost with the power."""
    asked = await uow.sql.execute(
        "UPDATE rendition SET status = 'pending', priority = $3::smallint, queued_at = now(), deliveries = 0,"
        " interruptions = 0 WHERE asset_id = $1 AND name = $2 AND status = 'complete'",
        asset_id,
        name,
        NEIGHBOUR,
    )
    if asked == "UPDATE 1":
        uow.record(PreviewWanted())
