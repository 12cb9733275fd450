"""The paths of what a person deleted for good: passed over with the next scan, or forgotten with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from appliance.ingest.finishing import SOURCE_STAYED


if TYPE_CHECKING:
    from asyncpg import Connection


# What was sent or moved in left its place, unless it says otherwise. A path that is read at this moment
# gets its outcome from that.
_EMPTY = f"""
DELETE FROM root_entry e USING root r
WHERE e.asset_id = ANY($1::bigint[]) AND r.id = e.root_id
  AND (e.outcome = 'missing' OR (r.purpose = 'uploads' OR r.mode = 'move')
       AND coalesce(e.detail, '') NOT LIKE '{SOURCE_STAYED}%')
  AND NOT EXISTS (SELECT FROM import_task t WHERE t.entry_id = e.id AND t.status IN ('pending', 'processing'))
"""


async def forget(sql: Connection[Any], asset_ids: Sequence[int]) -> None:
    """Note on every path that led to these assets that it is passed over while its file stays the same.

    Paths where no file lies any more are forgotten: there is nothing to pass over and nothing to let in.
    Before the rows of the assets go: afterwards nobody knows which paths they were. Not a failure,
    so it stands in no inbox; what is broken by now is another content, and stays there.
    """
    await sql.execute(_EMPTY, asset_ids)
    await sql.execute(
        "UPDATE root_entry SET outcome = 'skipped', reason = 'tombstoned', detail = NULL, changed_at = now()"
        " WHERE asset_id = ANY($1::bigint[]) AND (outcome <> 'failed' OR EXISTS ("
        "     SELECT FROM asset_file f WHERE f.root_id = root_entry.root_id AND f.path = root_entry.path))",
        asset_ids,
    )
