"""Putting tags on assets and taking them off: whole sets at once, and exactly undone.

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


class Put(msgspec.Struct, frozen=True):
    """What a person put on: the assignments that are new, and the rejections that this took back."""

    new: list[tuple[int, int]]
    accepted: list[Rejected]


class Removed(msgspec.Struct, frozen=True):
    """A tag that was taken off an asset, with all that putting it back needs."""

    asset_id: int
    tag_id: int
    by: str
    model_id: int | None
    score: float | None
    user_id: int | None
    added_at: datetime


_ASSIGN = """
INSERT INTO asset_tag (asset_id, tag_id, effective_at, by, user_id)
SELECT a.id, t.id, a.effective_at, $3, $4
FROM (SELECT id, effective_at FROM asset WHERE id = ANY($1::bigint[]) ORDER BY id FOR SHARE) a
CROSS JOIN unnest($2::bigint[]) AS t(id)
WHERE $3 = 'human' OR NOT EXISTS (SELECT 1 FROM tag_rejection r WHERE r.asset_id = a.id AND r.tag_id = t.id)
ON CONFLICT DO NOTHING RETURNING asset_id, tag_id
"""
_UNASSIGN = """
DELETE FROM asset_tag WHERE asset_id = ANY($1::bigint[]) AND tag_id = ANY($2::bigint[])
RETURNING asset_id, tag_id, by, model_id, score, user_id, added_at
"""
_RESTORE = """
INSERT INTO asset_tag (asset_id, tag_id, effective_at, by, model_id, score, user_id, added_at)
SELECT a.id, r.tag_id, a.effective_at, r.by, r.model_id, r.score, r.user_id, r.added_at
FROM (SELECT id, effective_at FROM asset WHERE id = ANY($1::bigint[]) ORDER BY id FOR SHARE) a
JOIN unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::real[], $6::bigint[], $7::timestamptz[])
     AS r(asset_id, tag_id, by, model_id, score, user_id, added_at) ON r.asset_id = a.id
ON CONFLICT DO NOTHING RETURNING asset_id, tag_id
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
_REJECT_AGAIN = """
INSERT INTO tag_rejection (asset_id, tag_id, user_id, rejected_at)
SELECT r.asset_id, r.tag_id, r.user_id, r.rejected_at
FROM (SELECT id FROM asset WHERE id = ANY($1::bigint[]) ORDER BY id FOR SHARE) a
JOIN unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::timestamptz[])
     AS r(asset_id, tag_id, user_id, rejected_at) ON r.asset_id = a.id
WHERE NOT EXISTS (SELECT FROM asset_tag x WHERE x.asset_id = r.asset_id AND x.tag_id = r.tag_id)
ON CONFLICT DO NOTHING
"""
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

    Ids of tags that were merged meanwhile mean what they became.
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
    new = [(r[0], r[1]) for r in await uow.sql.fetch(_ASSIGN, list(asset_ids), tags, "human", user_id)]
    accepted = await _accept(uow.sql, new)
    if user_id is not None:
        await _note_use(uow.sql, user_id, tags)
    return Put(new, accepted)


async def _accept(sql: Connection[Any], pairs: Sequence[tuple[int, int]]) -> list[Rejected]:
    rows = await sql.fetch(_ACCEPT, [p[0] for p in pairs], [p[1] for p in pairs])
    return [Rejected(*r) for r in rows]


async def reject_again(uow: UnitOfWork, rows: Sequence[Rejected]) -> None:
    """Remember again what a person had taken off, where nobody put it on since."""
    now = await holding.current(uow.sql, sorted({r.tag_id for r in rows}))
    kept = [r for r in rows if r.tag_id in now]
    await uow.sql.execute(
        _REJECT_AGAIN,
        [r.asset_id for r in kept],
        [now[r.tag_id] for r in kept],
        [r.user_id for r in kept],
        [r.rejected_at for r in kept],
    )


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
    await holding.assets(uow.sql, [asset_id])
    if gone:
        await uow.sql.execute(_LEAVE, asset_id, gone, by)
    if wants:
        await assign(uow, [asset_id], wants, by=by)
    return wants


async def restore(uow: UnitOfWork, rows: Sequence[Removed]) -> list[tuple[int, int]]:
    """Put back what was taken off, as it was; the answer is what was really missing.

    Left out is what cannot come back: assets that were deleted, tags that were deleted.
    """
    now = await holding.current(uow.sql, sorted({r.tag_id for r in rows}))
    kept = [r for r in rows if r.tag_id in now]
    back = await uow.sql.fetch(
        _RESTORE,
        [r.asset_id for r in kept],
        [now[r.tag_id] for r in kept],
        [r.by for r in kept],
        [r.model_id for r in kept],
        [r.score for r in kept],
        [r.user_id for r in kept],
        [r.added_at for r in kept],
    )
    put = [(r[0], r[1]) for r in back]
    await _accept(uow.sql, put)
    return put
