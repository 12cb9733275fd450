"""What is shown only within another asset: who may see it, and when it steps out of it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from appliance.library.models import VISIBLE


if TYPE_CHECKING:
    from asyncpg import Connection


SEEN = f"""({VISIBLE} OR a.state = 'inside' AND NOT a.private AND EXISTS (
    SELECT FROM volume_page o JOIN asset v ON v.id = o.volume_id
    WHERE o.asset_id = a.id AND v.state IN ('inbox', 'kept') AND NOT v.private))"""
"""SQL: whether viewers may see asset `a`: by itself, or within something that they may see."""


async def step_out(sql: Connection[Any], asset_id: int, effective_at: datetime, source: str) -> bool:
    """A first file of its own was found: from now on it stands on the timeline, under that file's date.

    A date that was read from its bytes, or set by a person, stays what it was. The film of a still stays
    within it, however often it is brought.
    """
    done: str = await sql.execute(
        "UPDATE asset SET state = 'kept', added_at = now(),"
        " effective_at = CASE WHEN date_source = 'human' THEN effective_at ELSE coalesce(taken_at, $2) END,"
        " date_source = CASE WHEN date_source = 'human' THEN 'human' WHEN taken_at IS NULL THEN $3"
        " ELSE 'exif' END"
        " WHERE id = $1 AND state = 'inside'"
        " AND NOT EXISTS (SELECT FROM live_pair WHERE film_id = $1)"
        " AND (SELECT count(*) FROM asset_file f WHERE f.asset_id = $1) = 1",
        asset_id,
        effective_at,
        source,
    )
    return done == "UPDATE 1"
