"""Locks that keep assignments and changes of tags out of each other's way.

Order, everywhere: first the lock on names, then rows of `tag` by id, then rows of `asset` by id. Whoever
makes a tag in the same transaction makes it before anything is assigned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from appliance.tagging.errors import NoTag


if TYPE_CHECKING:
    from asyncpg import Connection


_NAMES = 0x5654524E0010
# A tag can be merged while we wait for it, and what it became as well; more often than this is no accident.
_FOLLOWED = 8
_HOLD = "SELECT id FROM tag WHERE id = ANY($1::bigint[]) ORDER BY id FOR KEY SHARE"
_HOLD_ALONE = "SELECT id FROM tag WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE"
_HOLD_ASSETS = "SELECT 1 FROM asset WHERE id = ANY($1::bigint[]) ORDER BY id FOR SHARE"
_BECAME = "SELECT former_id, tag_id FROM tag_former WHERE former_id = ANY($1::bigint[])"


async def names(sql: Connection[Any]) -> None:
    """Nobody else makes, renames or merges a tag until this transaction ends."""
    await sql.execute("SELECT pg_advisory_xact_lock($1)", _NAMES)


async def current(sql: Connection[Any], ids: Sequence[int]) -> dict[int, int]:
    """What tags these ids are now, held so that none is merged or deleted until this transaction ends.

    An id that was merged away stands for the tag that it became; one that was deleted is left out.
    """
    now = {i: i for i in ids}
    for _ in range(_FOLLOWED):
        held = await sql.fetch(_HOLD, sorted(set(now.values())))
        gone = set(now.values()) - {r[0] for r in held}
        if not gone:
            break
        became = {r[0]: r[1] for r in await sql.fetch(_BECAME, list(gone))}
        now = {i: became.get(n, n) for i, n in now.items() if n not in gone or n in became}
    return now


async def alone(sql: Connection[Any], ids: Sequence[int]) -> None:
    """Keep every assignment away from these tags; refused when one of them is gone."""
    wanted = sorted(set(ids))
    held = await sql.fetch(_HOLD_ALONE, wanted)
    if len(held) != len(wanted):
        raise NoTag


async def assets(sql: Connection[Any], ids: Sequence[int]) -> None:
    """Keep visibility and date of these assets as they are, so that counts stay true."""
    await sql.execute(_HOLD_ASSETS, sorted(set(ids)))
