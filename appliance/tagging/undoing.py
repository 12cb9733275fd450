"""Assignments taken back as if they had never been made, and put back as they were.

What a person or a model said comes back as it was. What a file or its sidecar said comes back only while
it is still said: nobody would ever take it off again otherwise.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core.db import UnitOfWork
from appliance.tagging import holding
from appliance.tagging.assigning import Rejected, Removed, accept


if TYPE_CHECKING:
    from asyncpg import Connection


Pair = tuple[int, int]
"""An asset and a tag."""
Said = Callable[["Connection[Any]", Collection[Pair]], Awaitable[set[Pair]]]
"""Asks which of these tags the files and sidecars of these assets say at this moment."""


class Moment(msgspec.Struct, frozen=True):
    """An assignment that was made, and the moment that its row carries while it is still that one."""

    asset_id: int
    tag_id: int
    at: datetime


class Restored(msgspec.Struct, frozen=True):
    """What was put back, and what is no longer rejected though nobody says it any more."""

    put: list[Pair]
    silent: list[Pair]


_WITHDRAW = """
DELETE FROM asset_tag x
USING unnest($1::bigint[], $2::bigint[], $3::timestamptz[]) AS r(asset_id, tag_id, added_at)
WHERE x.asset_id = r.asset_id AND x.tag_id = r.tag_id AND x.added_at = r.added_at
RETURNING x.asset_id, x.tag_id
"""
_RESTORE = """
INSERT INTO asset_tag (asset_id, tag_id, effective_at, by, model_id, score, user_id, added_at)
SELECT a.id, r.tag_id, a.effective_at, r.by, r.model_id, r.score, r.user_id, r.added_at
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::real[], $6::bigint[], $7::timestamptz[])
     AS r(asset_id, tag_id, by, model_id, score, user_id, added_at) JOIN asset a ON a.id = r.asset_id
ON CONFLICT DO NOTHING RETURNING asset_id, tag_id
"""
_REJECT_AGAIN = """
INSERT INTO tag_rejection (asset_id, tag_id, user_id, rejected_at)
SELECT r.asset_id, r.tag_id, r.user_id, r.rejected_at
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::timestamptz[])
     AS r(asset_id, tag_id, user_id, rejected_at) JOIN asset a ON a.id = r.asset_id
WHERE NOT EXISTS (SELECT FROM asset_tag x WHERE x.asset_id = r.asset_id AND x.tag_id = r.tag_id)
ON CONFLICT DO NOTHING
"""
_SPEAK = """
INSERT INTO asset_tag (asset_id, tag_id, effective_at, by)
SELECT a.id, r.tag_id, a.effective_at, 'sidecar'
FROM unnest($1::bigint[], $2::bigint[]) AS r(asset_id, tag_id) JOIN asset a ON a.id = r.asset_id
WHERE NOT EXISTS (SELECT FROM tag_rejection n WHERE n.asset_id = r.asset_id AND n.tag_id = r.tag_id)
ON CONFLICT DO NOTHING
"""


async def take_back(
    uow: UnitOfWork,
    made: Sequence[Moment],
    accepted: Sequence[Rejected],
    replaced: Sequence[Removed],
    *,
    said: Said,
) -> set[Pair]:
    """Take off what was put on, where it still is that very assignment; what was there before is there again.

    Whoever took a tag off and put it on again meanwhile made it his own: its moment is another. The answer
    is what was taken off, by the ids that it was made with.
    """
    now = await holding.current(uow.sql, sorted({m.tag_id for m in made}))
    await holding.assets(uow.sql, [m.asset_id for m in made])
    off = await _withdraw(uow.sql, [m for m in made if m.tag_id in now], now)
    await _reject_again(uow.sql, [r for r in accepted if (r.asset_id, r.tag_id) in off], now)
    await restore(uow, [r for r in replaced if (r.asset_id, r.tag_id) in off], said=said)
    await _speak(uow.sql, await said(uow.sql, {(a, now[t]) for a, t in off}))
    return off


async def _withdraw(sql: Connection[Any], made: Sequence[Moment], now: dict[int, int]) -> set[Pair]:
    rows = await sql.fetch(
        _WITHDRAW, [m.asset_id for m in made], [now[m.tag_id] for m in made], [m.at for m in made]
    )
    gone = {(r[0], r[1]) for r in rows}
    return {(m.asset_id, m.tag_id) for m in made if (m.asset_id, now[m.tag_id]) in gone}


async def _reject_again(sql: Connection[Any], rows: Sequence[Rejected], now: dict[int, int]) -> None:
    """Remember again what a person had taken off, where nobody put it on since."""
    await sql.execute(
        _REJECT_AGAIN,
        [r.asset_id for r in rows],
        [now[r.tag_id] for r in rows],
        [r.user_id for r in rows],
        [r.rejected_at for r in rows],
    )


async def _speak(sql: Connection[Any], pairs: Collection[Pair]) -> None:
    """Let files say what only a person's word kept them from saying."""
    if pairs:
        await sql.execute(_SPEAK, [a for a, _ in pairs], [t for _, t in pairs])


async def restore(uow: UnitOfWork, rows: Sequence[Removed], *, said: Said) -> Restored:
    """Put back what was taken off, as it was, where it is missing; it is rejected no longer.

    Left out is what cannot come back: assets and tags that were deleted, and what files do not say any more.
    """
    now = await holding.current(uow.sql, sorted({r.tag_id for r in rows}))
    await holding.assets(uow.sql, [r.asset_id for r in rows])
    known = [msgspec.structs.replace(r, tag_id=now[r.tag_id]) for r in rows if r.tag_id in now]
    spoken = {(r.asset_id, r.tag_id) for r in known if r.by == "sidecar"}
    silent = spoken - await said(uow.sql, spoken) if spoken else set()
    put = await _restore(uow.sql, [r for r in known if (r.asset_id, r.tag_id) not in silent])
    forgotten = {(r.asset_id, r.tag_id) for r in await accept(uow.sql, [*put, *sorted(silent)])}
    return Restored(put, sorted(silent & forgotten))


async def _restore(sql: Connection[Any], rows: Sequence[Removed]) -> list[Pair]:
    back = await sql.fetch(
        _RESTORE,
        [r.asset_id for r in rows],
        [r.tag_id for r in rows],
        [r.by for r in rows],
        [r.model_id for r in rows],
        [r.score for r in rows],
        [r.user_id for r in rows],
        [r.added_at for r in rows],
    )
    return [(r[0], r[1]) for r in back]
