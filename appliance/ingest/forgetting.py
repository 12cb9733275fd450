"""What is listed only for as long as its cause lasts, and dropped when a whole walk did not meet it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from appliance.ingest import vanished
from appliance.ingest.walking import Walking


if TYPE_CHECKING:
    from asyncpg import Connection


FAILURE = """
e.outcome = 'failed' AND e.asset_id IS NULL AND NOT EXISTS (SELECT FROM sidecar s WHERE s.entry_id = e.id)
"""
"""SQL: an entry `e` that is nothing but the failure of a file or folder."""
# Nothing inside a folder that was closed to the walk is known to be gone.
_PASSED = """
root_id = $1 AND seen_batch <> $2 AND NOT EXISTS (
    SELECT FROM unnest($3::bytea[], $4::bytea[]) AS closed(low, high) WHERE path >= low AND path < high)
"""
_WITHIN = "path >= $5 AND path < $6"
# A walk lists only those folders that are closed to it.
_REOPENED = f"""
DELETE FROM root_entry e WHERE {_PASSED} AND ({_WITHIN} OR path = $7) AND {FAILURE}
    AND reason = 'unreadable' AND inode = 0 AND mtime_ns = 0 AND size = 0
"""
# A walk that met nothing at all says nothing: that is what a disk looks like that is not connected. What a
# person told us to leave alone is remembered also while it is away.
_VANISHED = f"""
DELETE FROM root_entry e WHERE {_PASSED} AND {_WITHIN} AND {FAILURE} AND NOT ignored
    AND EXISTS (SELECT FROM import_batch b WHERE b.id = $2 AND b.files > 0)
"""
_FOLDERS = f"DELETE FROM root_folder WHERE {_PASSED} AND {_WITHIN}"


async def forget(sql: Connection[Any], walking: Walking) -> None:
    """Drop failures, closed folders and times of folders that are not there any more.

    Only for a walk whose misses were judged: where much is gone at once, nothing is forgotten either.
    """
    shut = await vanished.closed(sql, walking)
    if shut is None:
        return
    bounds = [low for low, _ in shut], [high for _, high in shut]
    ours = (walking.root_id, walking.batch_id, *bounds, *walking.span)
    await sql.execute(_REOPENED, *ours, walking.under)
    await sql.execute(_VANISHED, *ours)
    await sql.execute(_FOLDERS, *ours)
