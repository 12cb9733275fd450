"""Files that are still being written: they are read when they rested and a second look saw the same.

The first look is the walk's, the second that of the import, which opens the file and reads nothing where its
size or time is another one. It then looks again, the later the longer the file has grown, and never gives up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from appliance.core.drains import Claimed
from appliance.ingest import seeing


if TYPE_CHECKING:
    from asyncpg import Connection


SETTLE_S = seeing.YOUNG_NS / 1e9
"""A file that changed just now is read after this, if it is still the same by then."""
DUE = "(t.run_at IS NULL OR t.run_at <= now())"
"""SQL: this task need not wait for its file to rest."""


async def soonest(sql: Connection[Any]) -> float | None:
    """In how many seconds the next file may be read that was just written."""
    left: float | None = await sql.fetchval(
        "SELECT extract(epoch FROM min(run_at) - now())::float8 FROM import_task"
        " WHERE status = 'pending' AND run_at IS NOT NULL AND run_at > now()"
    )
    return left


_POSTPONED = """
WITH again AS (
    UPDATE import_task SET status = 'pending', claim = NULL, worker_id = NULL, claimed_at = NULL,
           started_at = NULL,
           run_at = now() + least(greatest((now() - queued_at) / 2, make_interval(secs => $3)), '1 minute')
    WHERE id = $1 AND claim = $2 AND status = 'processing'
    RETURNING entry_id
)
UPDATE root_entry e SET size = coalesce($4, e.size), mtime_ns = coalesce($5, e.mtime_ns)
FROM again WHERE e.id = again.entry_id
"""


async def postponed(
    sql: Connection[Any],
    claimed: Claimed,
    seen: tuple[int, int] | None,
) -> None:
    """Look again later at a file that is still being written; the longer it has grown, the later."""
    size, mtime_ns = seen or (None, None)
    await sql.execute(_POSTPONED, claimed.id, claimed.claim, SETTLE_S, size, mtime_ns)
