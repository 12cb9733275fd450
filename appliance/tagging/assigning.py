"""Putting tags on assets and taking them off: whole sets at once, remembered so that `undoing` is exact.

What a person takes off is remembered, and nobody else puts it there again; a person may.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core.db import UnitOfWork
from appliance.tagging import holding


if TYPE_CHECKING:
    from asyncpg import Connection


class Rejected(msgspec.Struct, frozen=True):
    """A tag that a person had taken off an asset."""

    asset_id: int
    tag_id: int
    user_id: int | None
    rejected_at: datetime


class Removed(msgspec.Struct, frozen=True):
    """A tag that was taken off an asset, with all that putting it back needs."""

    asset_id: int
    tag_id: int
    by: str
    model_id: int | None
    score: float | None
    user_id: int | None
    added_at: datetime


class Put(msgspec.Struct, frozen=True):
    """What a person put on: the assignments that are new, and what taking them back needs."""

    new: list[tuple[int, int]]
    accepted: list[Rejected]
    """What a person had taken off before, and did not any more."""
    replaced: list[Removed]
    """What files or models had said, where the person's word stands in their place now."""


_ASSIGN = """
INSERT INTO asset_tag (asset_id, tag_id, effective_at, by, user_id)
SELECT a.id, t.id, a.effective_at, $3, $4
FROM (SELECT id, effective_at FROM asset WHERE id = ANY($1::bigint[]) ORDER BY id FOR SHARE) a
CROSS JOIN unnest($2::bigint[]) AS t(id)
WHERE NOT EXISTS (SELECT 1 FROM tag_rejection r WHERE r.asset_id = a.id AND r.tag_id = t.id)
ON CONFLICT DO NOTHING RETURNING asset_id, tag_id
"""
# Held in one order, a person's own as well: nobody takes any of them off before this transaction ends.
_THERE = """
SELECT asset_id, tag_id, by, model_id, score, user_id, added_at FROM asset_tag
WHERE asset_id = ANY($1::bigint[]) AND tag_id = ANY($2::bigint[]) ORDER BY asset_id, tag_id FOR UPDATE
"""
# A person's word stands above what files and models say, which may be taken back by whoever said it.
_PUT = """
INSERT INTO asset_tag (asset_id, tag_id, effective_at, by, user_id)
SELECT a.id, t.id, a.effective_at, 'human', $3
FROM asset a CROSS JOIN unnest($2::bigint[]) AS t(id) WHERE a.id = ANY($1::bigint[]) ORDER BY a.id, t.id
ON CONFLICT (asset_id, tag_id) DO UPDATE SET by = excluded.by, model_id = NULL, score = NULL,
    user_id = excluded.user_id, added_at = excluded.added_at
    WHERE asset_tag.by <> 'human' RETURNING asset_id, tag_id
"""
_UNASSIGN = """
DELETE FROM asset_tag WHERE asset_id = ANY($1::bigint[]) AND tag_id = ANY($2::bigint[])
RETURNING asset_id, tag_id, by, model_id, score, user_id, added_at
"""
_REJECT = """
INSERT INTO tag_rejection (asset_id, tag_id, user_id)
SELECT asset_id, tag_id, $3 FROM unnest($1::bigint[], $2::bigint[]) AS r(asset_id, tag_id)
JOIN asset ON asset.id = r.asset_id
ON CONFLICT (asset_id, tag_id) DO UPDATE SET user_id = excluded.user_id, rejected_at = now()
"""
_ACCEPT = """
DELETE FROM tag_rejection r USING unnest($1::bigint[], $2::bigint[]) AS x(asset_id, tag_id)
WHERE r.asset_id = x.asset_id AND r.tag_id = x.tag_id
RETURNING r.asset_id, r.tag_id, r.user_id, r.rejected_at
"""
# An undo asks what is said while it holds the asset: it sees all of this, or comes before it.
_HOLD_ALONE = "SELECT 1 FROM asset WHERE id = $1 FOR NO KEY UPDATE"
_LEAVE = "DELETE FROM asset_tag WHERE asset_id = $1 AND tag_id = ANY($2::bigint[]) AND by = $3"


async def assign(
    uow: UnitOfWork,
    asset_ids: Sequence[int],
    tag_ids: Sequence[int],
    *,
    by: str = "human",
    user_id: int | None = None,
) -> list[tuple[int, int]]:
    """Put every tag on every asset; the answer is what was really new.

    What a person puts on is the person's, also where a file or a model said it before. Ids of tags that
    were merged meanwhile mean what they became.
    """
    if by == "human":
        return (await put(uow, asset_ids, tag_ids, user_id=user_id)).new
    tags = sorted(set((await holding.current(uow.sql, tag_ids)).values()))
    return [(r[0], r[1]) for r in await uow.sql.fetch(_ASSIGN, list(asset_ids), tags, by, user_id)]


async def put(
    uow: UnitOfWork, asset_ids: Sequence[int], tag_ids: Sequence[int], *, user_id: int | None
) -> Put:
    """Put tags on because a person says so; the answer is all that taking it back exactly needs."""
    tags = sorted(set((await holding.current(uow.sql, tag_ids)).values()))
    await holding.assets(uow.sql, asset_ids)
    there = [Removed(*r) for r in await uow.sql.fetch(_THERE, list(asset_ids), tags)]
    replaced = [r for r in there if r.by != "human"]
    said = [(r[0], r[1]) for r in await uow.sql.fetch(_PUT, list(asset_ids), tags, user_id)]
    accepted = await accept(uow.sql, said)
    if user_id is not None:
        await _note_use(uow.sql, user_id, tags)
    known = {(r.asset_id, r.tag_id) for r in replaced}
    return Put([pair for pair in said if pair not in known], accepted, replaced)


async def accept(sql: Connection[Any], pairs: Sequence[tuple[int, int]]) -> list[Rejected]:
    """Forget that a person took these tags off; the answer is what was remembered of it."""
    rows = await sql.fetch(_ACCEPT, [p[0] for p in pairs], [p[1] for p in pairs])
    return [Rejected(*r) for r in rows]


async def _note_use(sql: Connection[Any], user_id: int, tags: list[int]) -> None:
    # In the order of ids, so that two requests of one person never wait for each other in a circle.
    await sql.execute(
        "INSERT INTO tag_recent (user_id, tag_id, used_at) SELECT $1, t, clock_timestamp()"
        " FROM unnest($2::bigint[]) AS t"
        " ON CONFLICT (user_id, tag_id) DO UPDATE SET used_at = excluded.used_at",
        user_id,
        tags,
    )


async def unassign(uow: UnitOfWork, asset_ids: Sequence[int], tag_ids: Sequence[int]) -> list[Removed]:
    """Take every one of the tags off every one of the assets; the answer is what was really there."""
    tags = sorted(set((await holding.current(uow.sql, tag_ids)).values()))
    await holding.assets(uow.sql, asset_ids)
    return [Removed(*r) for r in await uow.sql.fetch(_UNASSIGN, list(asset_ids), tags)]


async def reject(
    uow: UnitOfWork, asset_ids: Sequence[int], tag_ids: Sequence[int], *, user_id: int | None
) -> list[Removed]:
    """Take tags off because a person says so, and remember it; the answer is what was really there."""
    removed = await unassign(uow, asset_ids, tag_ids)
    await uow.sql.execute(_REJECT, [r.asset_id for r in removed], [r.tag_id for r in removed], user_id)
    return removed


async def follow(
    uow: UnitOfWork, asset_id: int, wanted: Sequence[int], former: Sequence[int], *, by: str
) -> list[int]:
    """Put on an asset what a source says, and take off what it said formerly and no longer does.

    Assignments of others are left alone, and what a person rejected stays away. The answer is what is wanted,
    by the ids of now.
    """
    now = await holding.current(uow.sql, sorted({*wanted, *former}))
    wants = sorted({now[i] for i in wanted if i in now})
    gone = sorted({now[i] for i in former if i in now} - set(wants))
    await uow.sql.execute(_HOLD_ALONE, asset_id)
    if gone:
        await uow.sql.execute(_LEAVE, asset_id, gone, by)
    if wants:
        await assign(uow, [asset_id], wants, by=by)
    return wants
