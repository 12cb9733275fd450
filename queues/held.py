"""Statements about rows of a drain that are in hand; all are fenced by the claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from appliance.core.columns import MAX_DELIVERIES
from appliance.core.drains import CRASHED, Claimed, Drain


if TYPE_CHECKING:
    from asyncpg import Connection


_FREE = "claim = NULL, worker_id = NULL, claimed_at = NULL, started_at = NULL"


async def mark_started(sql: Connection[Any], drain: Drain, item: Claimed) -> bool:
    """Write down that the risky part begins; False when the row is no longer ours."""
    # Losing this mark in a crash of the server only makes an interruption uncounted; waiting for the
    # disk would cost every single file its share.
    ours = await sql.fetchval(
        "WITH hasty AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))"
        f" UPDATE {drain.table} t SET started_at = clock_timestamp() FROM hasty"
        f" WHERE t.id = $1 AND t.claim = $2 AND t.status = '{drain.live}' RETURNING t.id",
        item.id,
        item.claim,
    )
    return ours is not None


async def give_back(
    sql: Connection[Any], drain: Drain, items: Sequence[Claimed], *, interrupted: bool
) -> int:
    """Put rows back to the waiting ones; `interrupted` counts against them."""
    rows = await sql.fetch(
        f"WITH mine AS (SELECT t.id FROM {drain.table} t"
        " JOIN unnest($1::bigint[], $2::uuid[]) AS held (id, claim)"
        " ON held.id = t.id AND held.claim = t.claim"
        f" WHERE t.status = '{drain.live}' ORDER BY t.id FOR UPDATE OF t)"
        f" UPDATE {drain.table} t SET status = '{drain.ready}', {_FREE},"
        " interruptions = LEAST(t.interruptions + $3, 30000) FROM mine WHERE t.id = mine.id RETURNING t.id",
        [i.id for i in items],
        [i.claim for i in items],
        int(interrupted),
    )
    return len(rows)


async def release_strays(sql: Connection[Any], drain: Drain, worker_id: int, known: Sequence[int]) -> int:
    """Put back rows that a claim of ours took although its answer was lost with the connection."""
    rows = await sql.fetch(
        f"UPDATE {drain.table} SET status = '{drain.ready}', {_FREE}"
        f" WHERE worker_id = $1 AND status = '{drain.live}' AND NOT (id = ANY($2::bigint[])) RETURNING id",
        worker_id,
        list(known),
    )
    return len(rows)


async def delivered(sql: Connection[Any], drain: Drain, item: Claimed, detail: str) -> str:
    """Count the death of the child that held this row; the third ends the row."""
    count = await sql.fetchval(
        f"UPDATE {drain.table} SET deliveries = deliveries + 1"
        f" WHERE id = $1 AND claim = $2 AND status = '{drain.live}' RETURNING deliveries",
        item.id,
        item.claim,
    )
    if count is None:
        return "stale"
    if count >= MAX_DELIVERIES:
        await drain.fail(sql, item, CRASHED, detail)
        return CRASHED
    await give_back(sql, drain, [item], interrupted=False)
    return "delivered"
