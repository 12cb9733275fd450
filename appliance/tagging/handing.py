"""Tags of one asset that go over to another one; what a person took off there or here stays off."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core.db import UnitOfWork
from appliance.tagging import holding
from appliance.tagging.assigning import Removed


if TYPE_CHECKING:
    from asyncpg import Connection


class Handed(msgspec.Struct, frozen=True):
    """What an asset got: its new rows with the moments that they carry, and those that they stand for."""

    tags: list[tuple[int, datetime]]
    replaced: list[Removed]


# What a file said is said again by the file that takes its place, or is not true of it.
_CARRY = """
INSERT INTO asset_tag (asset_id, tag_id, effective_at, by, model_id, score, user_id, added_at)
SELECT a.id, t.tag_id, a.effective_at, t.by, t.model_id, t.score, t.user_id, t.added_at
FROM asset_tag t, (SELECT id, effective_at FROM asset WHERE id = $2 FOR SHARE) a
WHERE t.asset_id = $1 AND t.by <> 'sidecar' AND t.tag_id = ANY($3::bigint[])
ON CONFLICT (asset_id, tag_id) DO UPDATE SET by = excluded.by, model_id = NULL, score = NULL,
    user_id = excluded.user_id, added_at = excluded.added_at
    WHERE asset_tag.by <> 'human' AND excluded.by = 'human'
"""
_CARRY_REJECTED = """
INSERT INTO tag_rejection (asset_id, tag_id, user_id, rejected_at)
SELECT $2, r.tag_id, r.user_id, r.rejected_at FROM tag_rejection r
WHERE r.asset_id = $1 AND r.tag_id = ANY($3::bigint[]) AND NOT EXISTS (
    SELECT FROM asset_tag x WHERE x.asset_id = $2 AND x.tag_id = r.tag_id AND x.by = 'human')
ON CONFLICT DO NOTHING
"""
_LEAVE_REJECTED = """
DELETE FROM asset_tag x USING tag_rejection r
WHERE x.asset_id = $1 AND r.asset_id = $1 AND r.tag_id = x.tag_id AND x.by <> 'human'
"""
_OF_BOTH = """
SELECT tag_id FROM asset_tag WHERE asset_id = $1 UNION SELECT tag_id FROM tag_rejection WHERE asset_id = $1
ORDER BY 1
"""


async def carry(uow: UnitOfWork, asset_id: int, to: int) -> None:
    """Put the tags of one asset on another one that takes its place, with who put them there.

    What a person took off the one is taken off the other as well, where only a file or a model says it.
    """
    rows = await uow.sql.fetch(_OF_BOTH, asset_id)
    held = sorted(set((await holding.current(uow.sql, [row["tag_id"] for row in rows])).values()))
    await uow.sql.execute(_CARRY, asset_id, to, held)
    await uow.sql.execute(_CARRY_REJECTED, asset_id, to, held)
    await uow.sql.execute(_LEAVE_REJECTED, to)


# A person's word stands above what files and models say.
_MAKE_ROOM = """
DELETE FROM asset_tag mine USING asset_tag theirs
WHERE mine.asset_id = $2 AND theirs.asset_id = $1 AND mine.tag_id = theirs.tag_id
  AND theirs.by = 'human' AND mine.by <> 'human' AND theirs.tag_id = ANY($3::bigint[])
RETURNING mine.asset_id, mine.tag_id, mine.by, mine.model_id, mine.score, mine.user_id, mine.added_at
"""
# What a sidecar said of the one is said of the other by whoever hands it over: no file takes it off again.
_GIVE = """
INSERT INTO asset_tag (asset_id, tag_id, effective_at, by, model_id, score, user_id, added_at)
SELECT a.id, t.tag_id, a.effective_at, CASE t.by WHEN 'sidecar' THEN 'human' ELSE t.by END, t.model_id,
       t.score, CASE t.by WHEN 'sidecar' THEN $4::bigint ELSE t.user_id END, t.added_at
FROM asset_tag t JOIN asset a ON a.id = $2
WHERE t.asset_id = $1 AND t.tag_id = ANY($3::bigint[])
  AND NOT EXISTS (SELECT FROM tag_rejection r WHERE r.asset_id = $2 AND r.tag_id = t.tag_id)
ON CONFLICT DO NOTHING RETURNING tag_id, added_at
"""


async def hold_all(sql: Connection[Any], asset_id: int) -> list[int]:
    """Hold every tag of an asset, before the asset itself is."""
    rows = await sql.fetch("SELECT tag_id FROM asset_tag WHERE asset_id = $1 ORDER BY tag_id", asset_id)
    return sorted(set((await holding.current(sql, [row["tag_id"] for row in rows])).values()))


async def give(
    uow: UnitOfWork, asset_id: int, to: int, tag_ids: Sequence[int], *, user_id: int | None
) -> Handed:
    """Put those tags of one asset that are held on another one, which a person keeps in its place.

    Both assets are locked. Left out is what a person took off the other one.
    """
    replaced = await uow.sql.fetch(_MAKE_ROOM, asset_id, to, tag_ids)
    given = await uow.sql.fetch(_GIVE, asset_id, to, tag_ids, user_id)
    return Handed([(r["tag_id"], r["added_at"]) for r in given], [Removed(*r) for r in replaced])


async def rejected(sql: Connection[Any], asset_id: int) -> set[int]:
    """The tags that a person took off an asset."""
    rows = await sql.fetch("SELECT tag_id FROM tag_rejection WHERE asset_id = $1", asset_id)
    return {row["tag_id"] for row in rows}
