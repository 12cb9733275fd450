"""Giving up a batch: what was read stays, what was not is found again by a later scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from appliance.core import clock, db
from appliance.core.errors import Conflict, NotFound


if TYPE_CHECKING:
    from asyncpg import Connection


CHUNK = 5_000
PATIENCE_S = 4.0


async def cancel(batch_id: int) -> None:
    """End a batch now. Files in work end as they would; a page waits a moment for the rest to go.

    The state comes first and alone: a worker that claims meanwhile holds tasks and wants the batch.
    """
    async with db.unit_of_work() as uow:
        await _end(uow.sql, batch_id)
    until = clock.monotonic() + PATIENCE_S
    while clock.monotonic() < until:
        async with db.unit_of_work() as uow:
            if not await drop_waiting(uow.sql):
                return


async def _end(sql: Connection[Any], batch_id: int) -> None:
    row = await sql.fetchrow(
        "SELECT b.status, r.purpose FROM import_batch b JOIN root r ON r.id = b.root_id WHERE b.id = $1",
        batch_id,
    )
    if row is None:
        raise NotFound(f"There is no import {batch_id}")
    if row["purpose"] == "uploads":
        raise Conflict(
            "An upload is not cancelled here", "Its files are here already and come in by themselves."
        )
    if not await end_those(sql, "import_batch.id = $1", batch_id):
        raise Conflict(f"Import {batch_id} is over already", "There is nothing left to cancel.")


async def end_those(sql: Connection[Any], which: str, value: int) -> list[int]:
    """Mark live batches as cancelled and ask their walks to stop; the ids that this ended."""
    rows = await sql.fetch(
        "UPDATE import_batch SET status = 'cancelled', claim = NULL, worker_id = NULL, finished_at = now()"
        f" WHERE {which} AND status IN ('pending', 'walking', 'importing') RETURNING id",
        value,
    )
    ended = [r["id"] for r in rows]
    await sql.execute(
        "UPDATE task_run SET cancel_asked_at = now()"
        " WHERE task = 'ingest.scan' AND status = 'running' AND ledger_id = ANY($1::bigint[])",
        ended,
    )
    return ended


# The subquery is fenced off, so that only the few cancelled batches are looked into, never all that waits.
# What had failed before it was tried again has failed still, unless its folder was taken out, and what a
# deletion kept out stays out; anything else waits for a scan.
_DROP = """
WITH gone AS (
    DELETE FROM import_task WHERE id = ANY(ARRAY(
        SELECT t.id FROM (SELECT id FROM import_batch WHERE status = 'cancelled'
                          AND finished_at > now() - interval '1 day' OFFSET 0) b,
        LATERAL (SELECT id FROM import_task WHERE batch_id = b.id AND status = 'pending'
                 ORDER BY batch_id, id LIMIT $1 FOR UPDATE SKIP LOCKED) t
        LIMIT $1))
    RETURNING entry_id
), back AS (
    UPDATE root_entry e
    SET outcome = CASE WHEN e.reason = 'tombstoned' THEN 'skipped' WHEN r.status = 'retired' THEN 'pending'
                       ELSE 'failed' END,
        reason = CASE WHEN e.reason = 'tombstoned' OR r.status <> 'retired' THEN e.reason END
    FROM gone, root r
    WHERE e.id = gone.entry_id AND r.id = e.root_id AND e.outcome = 'pending' AND e.reason IS NOT NULL
)
SELECT count(*) FROM gone
"""


async def drop_waiting(sql: Connection[Any]) -> int:
    """Drop tasks of cancelled batches, those included that a worker gave back since; how many went."""
    dropped: int = await sql.fetchval(_DROP, CHUNK)
    return dropped
