"""The paths of what a person deleted for good: passed over with the next scan, without being read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any


if TYPE_CHECKING:
    from asyncpg import Connection


async def forget(sql: Connection[Any], asset_ids: Sequence[int]) -> None:
    """Note on every path that led to these assets that it is passed over while its file stays the same.

    Before the rows of the assets go: afterwards nobody knows which paths they were. Not a failure,
    so it stands in no inbox.
    """
    await sql.execute(
        "UPDATE root_entry SET outcome = 'skipped', reason = 'tombstoned', detail = NULL, changed_at = now()"
        " WHERE asset_id = ANY($1::bigint[])",
        asset_ids,
    )
