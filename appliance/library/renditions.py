"""The drain of derived pictures: what someone looks at first, the rest while imports are idle."""

from __future__ import annotations

import os
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from appliance.core import room
from appliance.core.columns import ALONE
from appliance.core.db import Database, UnitOfWork
from appliance.core.drains import Claimed
from appliance.core.settings import Settings
from appliance.library.errors import NoFile
from appliance.library.facts import PreviewWanted
from appliance.library.files import Original, original
from appliance.media.hops import Hop
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import PLAY, Decoded, Made, Read, Stat, Wanted


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
    turn: int

    @property
    def urgent(self) -> bool:
        """True when a person waits for it."""
        return self.priority == URGENT


class Opener(Protocol):
    """The part of a decode child that a rendition uses."""

    async def open(self, path: bytes, *, expect: Stat | None, member: Sequence[Hop]) -> Read:
        """Open and sniff without hashing; with a way into an archive, one page of it."""

    async def decode(self, wanted: list[Wanted], *, turn: int) -> Decoded:
        """Decode the open file and write the wanted renditions."""


_CLAIM = f"""
WITH taken AS (
    UPDATE rendition SET status = 'processing', claim = gen_random_uuid(), worker_id = $1,
           claimed_at = now(), started_at = NULL
    WHERE id = ANY(ARRAY(
        SELECT r.id FROM rendition r
        WHERE r.status = 'pending' AND r.priority <= $3
        ORDER BY r.priority, r.id LIMIT $2 FOR UPDATE SKIP LOCKED))
    RETURNING id, claim, asset_id, name, priority, {ALONE} AS alone
)
SELECT taken.id, taken.claim, taken.alone, asset_id, sha256, name, priority, turn
FROM taken JOIN asset ON asset.id = taken.asset_id ORDER BY priority, taken.id
"""

Idle = Callable[["Connection[Any]"], Awaitable[bool]]


def claim_when(idle: Idle) -> Callable[[Connection[Any], int, int], Awaitable[Sequence[Claimed]]]:
    """The drain's claim; background pictures are only taken while `idle` says that imports rest."""

    async def claim(sql: Connection[Any], worker_id: int, count: int) -> Sequence[Claimed]:
        reach = BACKGROUND if await idle(sql) else NEIGHBOUR
        rows = await sql.fetch(_CLAIM, worker_id, count, reach)
        return [_claimed(r) for r in rows]

    return claim


def _claimed(row: Any) -> Claimed:
    fence: uuid.UUID = row["claim"]
    missing = Missing(row["asset_id"], row["sha256"], row["name"], row["priority"], row["turn"])
    return Claimed(row["id"], fence, row["alone"], missing)


async def fail(sql: Connection[Any], claimed: Claimed, reason: str, detail: str) -> bool:
    """End a rendition as failed; the asset stays listed with the reason."""
    done: str = await sql.execute(
        "UPDATE rendition SET status = 'failed', reason = $3, detail = $4, finished_at = now(), claim = NULL"
        " WHERE id = $1 AND claim = $2 AND status = 'processing'",
        claimed.id,
        claimed.claim,
        reason,
        detail.replace("\0", "")[:500],
    )
    return done == "UPDATE 1"


async def render(settings: Settings, database: Database, claimed: Claimed, child: Opener) -> str:
    """Make one rendition from the asset's original."""
    missing: Missing = claimed.row
    if missing.name == PLAY:
        return await _let_go(settings, database, claimed)
    try:
        async with database.unit_of_work() as uow:
            source = await original(uow.sql, settings.home, missing.asset_id)
        made = await _draw(settings, child, missing, source)
    except NoFile as error:
        return await _failed(database, claimed, Reason.VANISHED, error.title)
    except MediaFailure as failure:
        if failure.reason is Reason.NO_SPACE:
            await room.wait_on_full_disk(settings)
        return await _failed(database, claimed, failure.reason, failure.detail)
    return await _complete(database, claimed, made)


async def _draw(settings: Settings, child: Opener, missing: Missing, source: Original) -> Made:
    await child.open(source.path, expect=source.expected, member=source.way)
    place = os.fsencode(settings.home.rendition(missing.sha256, missing.name))
    decoded = await child.decode([Wanted.named(missing.name, place)], turn=missing.turn)
    if not decoded.renditions:
        _name, reason, detail = decoded.rendition_errors[0]
        raise MediaFailure(reason, detail)
    return decoded.renditions[0]


async def _let_go(settings: Settings, database: Database, claimed: Claimed) -> str:
    """A playable video that does not show the asset any more is made again when somebody watches."""
    async with database.unit_of_work() as uow:
        await uow.sql.execute("DELETE FROM rendition WHERE id = $1 AND claim = $2", claimed.id, claimed.claim)
    settings.home.rendition(claimed.row.sha256, PLAY).unlink(missing_ok=True)
    return "let_go"


async def _complete(database: Database, claimed: Claimed, made: Made) -> str:
    async with database.unit_of_work() as uow:
        done = await uow.sql.execute(
            "UPDATE rendition SET status = 'complete', width = $3, height = $4, bytes = $5, reason = NULL,"
            " detail = NULL, finished_at = now(), claim = NULL, priority = 5,"
            " used_at = CASE WHEN name IN ('full', 'play') THEN now() END"
            " WHERE id = $1 AND claim = $2 AND status = 'processing'",
            claimed.id,
            claimed.claim,
            made.width,
            made.height,
            made.bytes,
        )
        if done != "UPDATE 1":
            await _draw_over(uow, claimed.id)
    return "complete" if done == "UPDATE 1" else "stale"


async def _draw_over(uow: UnitOfWork, rendition_id: int) -> None:
    """A late one has written its file: whoever was done before it (a turn lies between) draws once more."""
    again = await uow.sql.execute(
        "UPDATE rendition SET status = 'pending', priority = $2::smallint"
        " WHERE id = $1 AND status = 'complete' AND claim IS NULL",
        rendition_id,
        NEIGHBOUR,
    )
    if again == "UPDATE 1":
        uow.record(PreviewWanted())


async def _failed(database: Database, claimed: Claimed, reason: Reason, detail: str) -> str:
    async with database.unit_of_work() as uow:
        await fail(uow.sql, claimed, reason, detail)
    return "failed"
