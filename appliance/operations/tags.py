"""Bulk tagging on top of the tagging services, remembered exactly enough to be taken back."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from appliance.core.db import UnitOfWork
from appliance.ingest import following
from appliance.operations.stored import plain
from appliance.tagging import services as tagging
from appliance.tagging.services import Moment, Rejected, Removed


class Added(msgspec.Struct, frozen=True):
    """The tags that an asset got from a person by an action, and the moment that their rows carry."""

    added: list[int]
    at: datetime
    accepted: list[Rejected] = []
    """What a person had taken off before."""
    replaced: list[Removed] = []
    """What files or models had said before."""


class Lost(msgspec.Struct, frozen=True):
    """The tags that an action took off an asset."""

    removed: list[Removed]


Memory = TypeVar("Memory", Added, Lost)
Row = TypeVar("Row", Rejected, Removed)


async def tag(
    uow: UnitOfWork, ids: Sequence[int], arguments: dict[str, Any], user: int | None
) -> dict[int, str]:
    """Assign the tags; each asset remembers which of them it did not have from a person before."""
    put = await tagging.put(uow, ids, arguments["tags"], user_id=user)
    added: dict[int, list[int]] = defaultdict(list)
    for asset_id, tag_id in [*put.new, *((r.asset_id, r.tag_id) for r in put.replaced)]:
        added[asset_id].append(tag_id)
    accepted, replaced = _by_asset(put.accepted), _by_asset(put.replaced)
    now: datetime = await uow.sql.fetchval("SELECT now()")
    return {
        a: msgspec.json.encode(Added(tags, now, accepted.get(a, []), replaced.get(a, []))).decode()
        for a, tags in added.items()
    }


def _by_asset(rows: Sequence[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.asset_id].append(row)
    return found


async def untag(
    uow: UnitOfWork, ids: Sequence[int], arguments: dict[str, Any], user: int | None
) -> dict[int, str]:
    """Take the tags away; each asset remembers them with who put them there, and when."""
    removed = _by_asset(await tagging.reject(uow, ids, arguments["tags"], user_id=user))
    return {a: msgspec.json.encode(Lost(rows)).decode() for a, rows in removed.items()}


async def take_back(uow: UnitOfWork, operation_id: int, ids: Sequence[int]) -> dict[int, bool]:
    """Take off what an action put on, where it still is that very assignment.

    The assets that changed, and whether all of it could be taken back.
    """
    remembered = await _remembered(uow, operation_id, ids, Added)
    off = await tagging.take_back(
        uow,
        [Moment(a, tag_id, was.at) for a, was in remembered.items() for tag_id in was.added],
        [r for was in remembered.values() for r in was.accepted],
        [r for was in remembered.values() for r in was.replaced],
        said=following.said,
    )
    taken = Counter(asset_id for asset_id, _ in off)
    return {a: n == len(remembered[a].added) for a, n in taken.items()}


async def put_back(uow: UnitOfWork, operation_id: int, ids: Sequence[int]) -> dict[int, bool]:
    """Put back on what an action took off, with who had put it there; answers as `take_back`.

    An asset whose files do not say it any more changes as well: they may say it again.
    """
    remembered = await _remembered(uow, operation_id, ids, Lost)
    removed = [r for was in remembered.values() for r in was.removed]
    restored = await tagging.restore(uow, removed, said=following.said)
    put = Counter(asset_id for asset_id, _ in restored.put)
    silent = dict.fromkeys((asset_id for asset_id, _ in restored.silent), False)
    return silent | {a: n == len(remembered[a].removed) for a, n in put.items()}


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
