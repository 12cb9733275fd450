"""How many visible assets each month holds: folded from the deltas that triggers append, and audited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from appliance.library.models import VISIBLE


if TYPE_CHECKING:
    from asyncpg import Connection


# One statement holds no more rows than this, whatever an import left behind.
_AT_ONCE = 50_000
_FOLDING = 0x5654524E0012
_FOLD = f"""
WITH gone AS (
    DELETE FROM month_delta WHERE id IN (SELECT id FROM month_delta ORDER BY id LIMIT {_AT_ONCE})
    RETURNING month, assets
), sums AS (SELECT month, sum(assets)::bigint AS assets, count(*) AS n FROM gone GROUP BY month),
folded AS (
    INSERT INTO month_count (month, assets) SELECT month, assets FROM sums
    ON CONFLICT (month) DO UPDATE SET assets = month_count.assets + excluded.assets
) SELECT coalesce(sum(n), 0)::bigint FROM sums
"""
# One statement sees one moment: a change, its delta and its fold are in it together or not at all.
_MEND = f"""
WITH truth AS (
    SELECT date_trunc('month', effective_at)::date AS month, count(*) AS n FROM asset
    WHERE {VISIBLE} GROUP BY 1
), shown AS (
    SELECT month, sum(assets) AS n FROM (
        SELECT month, assets FROM month_count UNION ALL SELECT month, assets FROM month_delta
    ) kept GROUP BY month
), mended AS (
    INSERT INTO month_delta (month, assets)
    SELECT month, coalesce(truth.n, 0) - coalesce(shown.n, 0) FROM truth FULL JOIN shown USING (month)
    WHERE coalesce(truth.n, 0) <> coalesce(shown.n, 0) RETURNING month
) SELECT count(*) FROM mended
"""


async def fold(sql: Connection[Any]) -> int:
    """Add waiting deltas to the counts; the answer is how many were folded. Nobody who imports waits."""
    # One at a time: two would hold the same months.
    if not await sql.fetchval("SELECT pg_try_advisory_xact_lock($1)", _FOLDING):
        return 0
    folded: int = await sql.fetchval(_FOLD)
    # A month that was emptied by hand has nothing to show.
    await sql.execute("DELETE FROM month_count WHERE assets = 0")
    return folded


async def mend(sql: Connection[Any]) -> int:
    """Count all months anew; corrections are deltas, so nothing stops meanwhile. How many were wrong."""
    mended: int = await sql.fetchval(_MEND)
    return mended
