"""Bulk tagging on top of the tagging services, remembered exactly enough to be taken back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from appliance.core.db import UnitOfWork
from appliance.operations.stored import plain
from appliance.tagging import services as tagging
from appliance.tagging.services import Rejected, Removed


class Added(msgspec.Struct, frozen=True):
    """The tags that an asset got by an action, and the moment that their rows carry."""

    added: list[int]
    at: datetime
    accepted: list[Rejected] = []
    """What a person had taken off before."""


class Lost(msgspec.Struct, frozen=True):
    """The tags that an action took off an asset."""

    removed: list[Removed]


Memory = TypeVar("Memory", Added, Lost)


async def tag(
    uow: UnitOfWork, ids: Sequence[int], arguments: dict[str, Any], user: int | None
) -> dict[int, str]:
    """Assign the tags; each asset remembers which of them it did not have before."""
    added: dict[int, list[int]] = defaultdict(list)
    accepted: dict[int, list[Rejected]] = defaultdict(list)
    put = await tagging.put(uow, ids, arguments["tags"], user_id=user)
    for asset_id, tag_id in put.new:
        added[asset_id].append(tag_id)
    for row in put.accepted:
        accepted[row.asset_id].append(row)
    now: datetime = await uow.sql.fetchval("SELECT now()")
    return {
        a: msgspec.json.encode(Added(tags, now, accepted.get(a, []))).decode() for a, tags in added.items()
    }


async def untag(
    uow: UnitOfWork, ids: Sequence[int], arguments: dict[str, Any], user: int | None
) -> dict[int, str]:
    """Take the tags away; each asset remembers them with who put them there, and when."""
    removed: dict[int, list[Removed]] = defaultdict(list)
    for row in await tagging.reject(uow, ids, arguments["tags"], user_id=user):
        removed[row.asset_id].append(row)
    return {a: msgspec.json.encode(Lost(rows)).decode() for a, rows in removed.items()}


async def take_back(uow: UnitOfWork, operation_id: int, ids: Sequence[int]) -> dict[int, bool]:
    """Take off what an action put on, where it still is that very assignment.

    The assets that changed, and whether all of it could be taken back.
    """
    remembered = await _remembered(uow, operation_id, ids, Added)
    await _hold(uow, {t for was in remembered.values() for t in was.added}, ids)
    alike: dict[tuple[datetime, tuple[int, ...]], list[int]] = defaultdict(list)
    for asset_id, was in remembered.items():
        alike[was.at, tuple(sorted(was.added))].append(asset_id)
    taken: dict[int, int] = defaultdict(int)
    off: set[tuple[int, int]] = set()
    for (at, tags), assets in alike.items():
        removed = await tagging.unassign(uow, sorted(assets), tags)
        # Whoever took a tag off and put it on again meanwhile made it his own: its moment is another.
        await tagging.restore(uow, [r for r in removed if r.added_at != at])
        for row in removed:
            taken[row.asset_id] += row.added_at == at
        off |= {(r.asset_id, r.tag_id) for r in removed if r.added_at == at}
    await tagging.reject_again(
        uow, [r for was in remembered.values() for r in was.accepted if (r.asset_id, r.tag_id) in off]
    )
    return {a: n == len(remembered[a].added) for a, n in taken.items() if n}


async def _hold(uow: UnitOfWork, tags: Collection[int], ids: Sequence[int]) -> None:
    # All at once and in order: group after group, two undos could wait for each other in a circle.
    await tagging.current(uow.sql, sorted(tags))
    await uow.sql.execute("SELECT 1 FROM asset WHERE id = ANY($1::bigint[]) ORDER BY id FOR SHARE", ids)


async def put_back(uow: UnitOfWork, operation_id: int, ids: Sequence[int]) -> dict[int, bool]:
    """Put back on what an action took off, with who had put it there; answers as `take_back`."""
    remembered = await _remembered(uow, operation_id, ids, Lost)
    restored: dict[int, int] = defaultdict(int)
    for asset_id, _ in await tagging.restore(uow, [r for was in remembered.values() for r in was.removed]):
        restored[asset_id] += 1
    return {a: n == len(remembered[a].removed) for a, n in restored.items()}


async def _remembered(
    uow: UnitOfWork, operation_id: int, ids: Sequence[int], kind: type[Memory]
) -> dict[int, Memory]:
    rows = await uow.sql.fetch(
        "SELECT asset_id, before FROM operation_item"
        " WHERE operation_id = $1 AND asset_id = ANY($2::bigint[]) AND changed",
        operation_id,
        ids,
    )
    return {row["asset_id"]: msgspec.convert(plain(row["before"]), kind) for row in rows}
