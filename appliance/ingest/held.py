"""Answers of a person to a scan that missed too much at once, or met another disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appliance.core.errors import Conflict
from appliance.ingest import roots, services


if TYPE_CHECKING:
    from appliance.core.db import UnitOfWork


async def confirm(uow: UnitOfWork, root_id: int, batch_id: int) -> int:
    """Let what this very scan missed be missing: it is looked for once more; the id of that scan."""
    found = await roots.root(uow.sql, root_id)
    ours = await uow.sql.fetchval(
        "UPDATE root SET held_batch = NULL, held_gone = 0, held_known = 0"
        " WHERE id = $1 AND held_batch = $2 RETURNING id",
        root_id,
        batch_id,
    )
    if ours is None:
        raise Conflict("The folder was looked at again in the meantime", "See what it says now.")
    again = await services.queue_scan(uow, found.place)
    await uow.sql.execute("UPDATE import_batch SET confirms = $2 WHERE id = $1", again, batch_id)
    return again


async def accept(uow: UnitOfWork, root_id: int) -> int:
    """Take whatever is mounted there now for this folder; the id of the scan."""
    batch_id = await roots.scan_now(uow, root_id)
    if await uow.sql.fetchval("SELECT status FROM import_batch WHERE id = $1", batch_id) == "walking":
        # It knows the disk that was there and would say once more that this is another one.
        raise Conflict(
            "This folder is being scanned at the moment",
            "Wait for that scan to end or cancel it, and say then that the disk is right.",
        )
    await uow.sql.execute("UPDATE root SET identity = NULL WHERE id = $1", root_id)
    return batch_id
