"""The drain of derived pictures: what someone looks at first, the rest while imports are idle."""

from __future__ import annotations

import os
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from appliance.core.columns import ALONE_AFTER_DELIVERIES, ALONE_AFTER_INTERRUPTIONS
from appliance.core.db import Database
from appliance.core.drains import Claimed
from appliance.core.settings import Settings
from appliance.library.errors import NoFile
from appliance.library.files import Original, original
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import Decoded, Made, Read, Stat, Wanted


if TYPE_CHECKING:
    from asyncpg import Connection

URGENT = 0
NEIGHBOUR = 1
BACKGROUND = 5


@dataclass(frozen=True, slots=True)
class Missing:
    """A rendition to make."""

    asset_id: int
    sha256: bytes
    name: str
    priority: int


class Opener(Protocol):
    """The part of a decode child that a rendition uses."""

    async def open(self, path: bytes, *, expect: Stat | None) -> Read:
        """Open and sniff without hashing."""

    async def decode(self, wanted: list[Wanted]) -> Decoded:
        """Decode the open file and write the wanted renditions."""


_CLAIM = """
WITH taken AS (
    UPDATE rendition SET status = 'processing', claim = gen_random_uuid(), worker_id = $1,
           claimed_at = now(), started_at = now()
    WHERE id = ANY(ARRAY(
        SELECT r.id FROM rendition r
        WHERE r.status = 'pending' AND r.priority <= $3 AND {isolation}
        ORDER BY r.priority, r.id LIMIT $2 FOR UPDATE SKIP LOCKED))
    RETURNING id, claim, asset_id, name, priority
)
SELECT taken.id, taken.claim, asset_id, sha256, name, priority
FROM taken JOIN asset ON asset.id = taken.asset_id ORDER BY priority, taken.id
"""
_SUSPECT = f"(r.deliveries >= {ALONE_AFTER_DELIVERIES} OR r.interruptions >= {ALONE_AFTER_INTERRUPTIONS})"
_TOGETHER = _CLAIM.format(isolation=f"NOT {_SUSPECT}")
_ALONE = _CLAIM.format(isolation=_SUSPECT)

Idle = Callable[["Connection[Any]"], Awaitable[bool]]


def claim_when(idle: Idle) -> Callable[[Connection[Any], int, int], Awaitable[Sequence[Claimed]]]:
    """The drain's claim; background pictures are only taken while `idle` says that imports rest."""

    async def claim(sql: Connection[Any], worker_id: int, count: int) -> Sequence[Claimed]:
        reach = BACKGROUND if await idle(sql) else NEIGHBOUR
        for statement, limit, alone in ((_TOGETHER, count, False), (_ALONE, 1, True)):
            rows = await sql.fetch(statement, worker_id, limit, reach)
            if rows:
                return [_claimed(r, alone=alone) for r in rows]
        return []

    return claim


def _claimed(row: Any, *, alone: bool) -> Claimed:
    fence: uuid.UUID = row["claim"]
    missing = Missing(row["asset_id"], row["sha256"], row["name"], row["priority"])
    return Claimed(row["id"], fence, alone, missing)


async def condemn(sql: Connection[Any], ids: Sequence[int], reason: str, detail: str) -> None:
    """End renditions as failed, whoever holds them; the asset stays listed with the reason."""
    await sql.execute(
        "UPDATE rendition SET status = 'failed', reason = $2, detail = $3, finished_at = now(), claim = NULL"
        " WHERE id = ANY($1::bigint[]) AND status IN ('pending', 'processing')",
        list(ids),
        reason,
        detail,
    )


async def render(settings: Settings, database: Database, claimed: Claimed, child: Opener) -> str:
    """Make one rendition from the asset's original."""
    missing: Missing = claimed.row
    try:
        async with database.unit_of_work() as uow:
            source = await original(uow.sql, settings.home, missing.asset_id)
        made = await _draw(settings, child, missing, source)
    except NoFile as error:
        return await _failed(database, claimed, Reason.VANISHED, error.title)
    except MediaFailure as failure:
        return await _failed(database, claimed, failure.reason, failure.detail)
    return await _complete(database, claimed, made)


async def _draw(settings: Settings, child: Opener, missing: Missing, source: Original) -> Made:
    await child.open(source.path, expect=Stat(source.size, source.mtime_ns))
    place = os.fsencode(settings.home.rendition(missing.sha256, missing.name))
    decoded = await child.decode([Wanted.named(missing.name, place)])
    if not decoded.renditions:
        _name, reason, detail = decoded.rendition_errors[0]
        raise MediaFailure(reason, detail)
    return decoded.renditions[0]


async def _complete(database: Database, claimed: Claimed, made: Made) -> str:
    async with database.unit_of_work() as uow:
        await uow.sql.execute(
            "UPDATE rendition SET status = 'complete', width = $3, height = $4, bytes = $5, reason = NULL,"
            " detail = NULL, finished_at = now(), claim = NULL, priority = 5"
            " WHERE id = $1 AND claim = $2 AND status = 'processing'",
            claimed.id,
            claimed.claim,
            made.width,
            made.height,
            made.bytes,
        )
    return "complete"


async def _failed(database: Database, claimed: Claimed, reason: Reason, detail: str) -> str:
    async with database.unit_of_work() as uow:
        await uow.sql.execute(
            "UPDATE rendition SET status = 'failed', reason = $3, detail = $4, finished_at = now(),"
            " claim = NULL WHERE id = $1 AND claim = $2 AND status = 'processing'",
            claimed.id,
            claimed.claim,
            str(reason),
            detail.replace("\0", "")[:500],
        )
    return "failed"
