"""What is made on demand: wished for by looking, used for a while, and let go again."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from appliance.core.db import Database, UnitOfWork
from appliance.core.paths import Home
from appliance.library.facts import PreviewWanted
from appliance.library.renditions import URGENT


if TYPE_CHECKING:
    from asyncpg import Connection

UNUSED_DAYS = 14
MOST_BYTES = 20 << 30
MOST_SHARE = 0.1
"""Of the whole disk: on a small one 20 GB would be all of it."""
_BATCH = 200


async def want_full(uow: UnitOfWork, asset_id: int) -> str:
    """Wish for the full size of a picture before everything else; answers its status.

    A failure stays, with its reason, until the original changes or a person asks for it again.
    """
    status: str = await uow.sql.fetchval(
        "INSERT INTO rendition (asset_id, name, priority) VALUES ($1, 'full', $2::smallint)"
        " ON CONFLICT (asset_id, name) DO UPDATE SET priority ="
        " CASE WHEN rendition.status = 'pending' THEN EXCLUDED.priority ELSE rendition.priority END"
        " RETURNING status",
        asset_id,
        URGENT,
    )
    if status == "pending":
        uow.record(PreviewWanted())
    return status


async def used(sql: Connection[Any], asset_id: int, name: str) -> None:
    """Note that it was looked at; to the hour, since a film is asked for in hundreds of parts."""
    await sql.execute(
        "UPDATE rendition SET used_at = now() WHERE asset_id = $1 AND name = $2 AND status = 'complete'"
        " AND (used_at IS NULL OR used_at < now() - interval '1 hour')",
        asset_id,
        name,
    )


_UNUSED = """
DELETE FROM rendition r USING asset a
WHERE a.id = r.asset_id AND r.id = ANY(ARRAY(
    SELECT id FROM rendition WHERE name IN ('full', 'play')
    AND used_at < now() - make_interval(days => $1) ORDER BY used_at, id LIMIT $2))
RETURNING a.sha256, r.name
"""
# The ones used last stay; the running sum says where the room ends.
_BEYOND = """
DELETE FROM rendition r USING asset a
WHERE a.id = r.asset_id AND r.id = ANY(ARRAY(
    SELECT id FROM (
        SELECT id, used_at, sum(bytes) OVER (ORDER BY used_at DESC NULLS FIRST, id DESC) AS so_far
        FROM rendition WHERE name IN ('full', 'play') AND status = 'complete'
    ) kept WHERE so_far > $1 AND used_at < now() - interval '1 hour' ORDER BY used_at, id LIMIT $2))
RETURNING a.sha256, r.name
"""


async def sweep(database: Database, home: Home, *, most_bytes: int | None = None) -> int:
    """Remove what nobody looked at for long, then what is more than the room for it."""
    most = min(MOST_BYTES, int(shutil.disk_usage(home.data).total * MOST_SHARE))
    removed = 0
    for statement, argument in (
        (_UNUSED, UNUSED_DAYS),
        (_BEYOND, most if most_bytes is None else most_bytes),
    ):
        while True:
            async with database.unit_of_work() as uow:
                rows = await uow.sql.fetch(statement, argument, _BATCH)
            for row in rows:
                home.rendition(row["sha256"], row["name"]).unlink(missing_ok=True)
            removed += len(rows)
            if len(rows) < _BATCH:
                break
    return removed
