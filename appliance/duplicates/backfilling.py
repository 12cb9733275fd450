"""Assets that have no hashes of today's version: found by a pass over all, and left to the drain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from appliance.media import phash
from appliance.media.reasons import Reason


if TYPE_CHECKING:
    from asyncpg import Connection


NAME = "phash"
CHUNK = 1000
MOST = 50_000
"""So many are asked for by one pass: a day's work for the drain; the next pass goes on behind them."""
# Failures of the disk and of the moment, not of the file: another day may go better.
_OUTSIDE = [
    str(reason)
    for reason in (Reason.NO_SPACE, Reason.UNREADABLE, Reason.VANISHED, Reason.CHANGED, Reason.TIMEOUT)
]

# Pages of volumes take no part in the search, and a volume is seen by its pages.
_STEP = """
WITH looked AS MATERIALIZED (
    SELECT id, state, kind FROM asset WHERE id > $1 ORDER BY id LIMIT $2 FOR KEY SHARE
), made AS (
    INSERT INTO fingerprint (asset_id, version)
    SELECT l.id, $3 FROM looked l LEFT JOIN fingerprint f ON f.asset_id = l.id
    WHERE f.id IS NULL AND l.state <> 'inside' AND l.kind <> 'volume'
    ORDER BY l.id ON CONFLICT (asset_id) DO NOTHING RETURNING 1
), again AS (
    UPDATE fingerprint f SET status = 'pending', queued_at = now(), finished_at = NULL, deliveries = 0,
           interruptions = 0, reason = NULL, detail = NULL
    FROM looked l WHERE f.asset_id = l.id
      AND (f.status IN ('complete', 'failed') AND f.version <> $3
           OR f.status = 'failed' AND f.reason = ANY($4::text[]))
    RETURNING 1
)
SELECT coalesce((SELECT max(id) FROM looked), 0), (SELECT count(*) FROM looked),
       (SELECT count(*) FROM made) + (SELECT count(*) FROM again)
"""


class Step(msgspec.Struct, frozen=True):
    """What one step of the pass came to."""

    position: int
    """The last asset that was looked at; 0 at the end."""
    assets: int
    wanted: int


async def begin(sql: Connection[Any]) -> int:
    """Where the pass stands: after this asset. 0 begins a new one."""
    position: int = await sql.fetchval(
        "INSERT INTO backfill (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET began_at ="
        " CASE WHEN backfill.position = 0 THEN now() ELSE backfill.began_at END RETURNING position",
        NAME,
    )
    return position


async def step(sql: Connection[Any], after: int, *, assets: int = CHUNK) -> Step:
    """Ask for the hashes that the next assets lack, and remember how far that is."""
    row = await sql.fetchrow(_STEP, after, assets, phash.VERSION, _OUTSIDE)
    assert row is not None  # noqa: S101 - a query without FROM answers one row
    await sql.execute("UPDATE backfill SET position = $2 WHERE name = $1", NAME, row[0])
    return Step(*row)
