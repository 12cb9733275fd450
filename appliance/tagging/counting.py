"""How often tags are used: folded from the deltas that triggers append, and audited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from appliance.library.models import VISIBLE


if TYPE_CHECKING:
    from asyncpg import Connection


# One statement holds no more rows than this, whatever an import or a bulk action left behind.
_AT_ONCE = 50_000
_FOLDING = 0x5654524E0011
_FOLD = f"""
WITH gone AS (
    DELETE FROM tag_delta WHERE id IN (SELECT id FROM tag_delta ORDER BY id LIMIT {_AT_ONCE})
    RETURNING tag_id, uses
), sums AS (SELECT tag_id, sum(uses) AS uses, count(*) AS n FROM gone GROUP BY tag_id),
held AS (
    SELECT t.id FROM tag t WHERE t.id IN (SELECT tag_id FROM sums) ORDER BY t.id FOR NO KEY UPDATE
), folded AS (
    UPDATE tag SET uses = tag.uses + sums.uses FROM sums JOIN held ON held.id = sums.tag_id
    WHERE tag.id = sums.tag_id AND sums.uses <> 0
) SELECT coalesce(sum(n), 0)::bigint FROM sums
"""
# One statement sees one moment: a change, its delta and its fold are in it together or not at all.
_MEND = f"""
WITH truth AS (
    SELECT x.tag_id, count(*) AS n FROM asset_tag x JOIN asset a ON a.id = x.asset_id
    WHERE {VISIBLE} GROUP BY x.tag_id
), waiting AS (SELECT tag_id, sum(uses) AS n FROM tag_delta GROUP BY tag_id),
drift AS (
    SELECT t.id, coalesce(truth.n, 0) - t.uses - coalesce(waiting.n, 0) AS off
    FROM tag t LEFT JOIN truth ON truth.tag_id = t.id LEFT JOIN waiting ON waiting.tag_id = t.id
), mended AS (INSERT INTO tag_delta (tag_id, uses) SELECT id, off FROM drift WHERE off <> 0 RETURNING uses)
SELECT count(*) AS tags, coalesce(sum(abs(uses)), 0)::bigint AS off FROM mended
"""


class Drift(msgspec.Struct, frozen=True):
    """How many tags were counted wrongly, and by how much in all."""

    tags: int
    off: int


async def fold(sql: Connection[Any]) -> int:
    """Add waiting deltas to the counts; the answer is how many were folded. Nobody who assigns waits."""
    # One at a time: two would hold the same tags.
    if not await sql.fetchval("SELECT pg_try_advisory_xact_lock($1)", _FOLDING):
        return 0
    folded: int = await sql.fetchval(_FOLD)
    return folded


async def mend(sql: Connection[Any]) -> Drift:
    """Count all tags anew and correct what drifted; corrections are deltas, so nothing has to stop for it."""
    rows = await sql.fetch(_MEND)
    return Drift(rows[0]["tags"], rows[0]["off"])
