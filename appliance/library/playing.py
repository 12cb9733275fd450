"""Videos that browsers cannot play, made playable while somebody waits, and forgotten when nobody does."""

# ruff: noqa: ASYNC109 -- a limit given to the child ends it, which asyncio.timeout around a call cannot.

from __future__ import annotations

import asyncio
import contextlib
import os
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from appliance.core import room
from appliance.core.columns import ALONE
from appliance.core.db import Database, UnitOfWork
from appliance.core.drains import Claimed
from appliance.core.settings import Settings
from appliance.library.errors import NoFile
from appliance.library.facts import PlayWanted
from appliance.library.files import Original, original
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import PLAY, Converted, Read, Stat, Step


if TYPE_CHECKING:
    from asyncpg import Connection

LEASE_S = 15
"""A page renews its wish every few seconds; one that was closed without a word is noticed after this."""
PARTING_S = 4
"""What is left of a wish after a page said that it leaves: others who wait renew theirs meanwhile."""
LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class Film:
    """A video to make playable."""

    asset_id: int
    sha256: bytes
    turn: int


@dataclass(frozen=True, slots=True)
class Playing:
    """Where the playable form of a video stands: `ready`, `waits`, `making` or `failed`."""

    state: str
    share: float = 0.0
    made_s: float = 0.0
    took_s: float = 0.0
    reason: str | None = None
    detail: str | None = None
    part: str | None = None
    """Name of the file that grows meanwhile."""

    @property
    def left_s(self) -> float | None:
        """Seconds until it is done, once that can be told."""
        if self.state != "making" or self.took_s < 2 or self.share <= 0:
            return None
        return self.took_s * (1 - self.share) / self.share


class Converter(Protocol):
    """The part of a decode child that making a film playable uses."""

    async def open(self, path: bytes, *, expect: Stat | None) -> Read:
        """Open and sniff without hashing."""

    async def convert(
        self, path: bytes, *, turn: int, timeout: float, told: Callable[[Step], None]
    ) -> Converted:
        """Write the playable form and tell how far it is."""


# A failure stays until a person asks again; a film whose result was let go begins anew.
_WANT = f"""
INSERT INTO conversion (asset_id, wanted_until) VALUES ($1, now() + interval '{LEASE_S} seconds')
ON CONFLICT (asset_id) DO UPDATE SET
    wanted_until = GREATEST(conversion.wanted_until, EXCLUDED.wanted_until),
    status = CASE WHEN {{anew}} THEN 'pending' ELSE conversion.status END,
    queued_at = CASE WHEN {{anew}} THEN now() ELSE conversion.queued_at END,
    share = CASE WHEN {{anew}} THEN 0 ELSE conversion.share END,
    made_s = CASE WHEN {{anew}} THEN 0 ELSE conversion.made_s END,
    took_s = CASE WHEN {{anew}} THEN 0 ELSE conversion.took_s END,
    finished_at = CASE WHEN {{anew}} THEN NULL ELSE conversion.finished_at END,
    deliveries = CASE WHEN {{anew}} THEN 0 ELSE conversion.deliveries END,
    interruptions = CASE WHEN {{anew}} THEN 0 ELSE conversion.interruptions END
RETURNING status, share, made_s, took_s, reason, detail, claim
""".format(anew="(conversion.status = 'complete' OR conversion.status = 'failed' AND $2)")


async def want(uow: UnitOfWork, asset_id: int, *, again: bool = False) -> Playing:
    """Wish for the playable form of a video, or renew the wish; `again` also after a failure."""
    if await _is_ready(uow.sql, asset_id):
        return Playing("ready", 1.0)
    row = await uow.sql.fetchrow(_WANT, asset_id, again)
    assert row is not None  # noqa: S101 - an upsert always answers its row
    if row["status"] == "pending":
        uow.record(PlayWanted())
    return _playing(row)


async def _is_ready(sql: Connection[Any], asset_id: int) -> bool:
    status: str | None = await sql.fetchval(
        "SELECT status FROM rendition WHERE asset_id = $1 AND name = 'play'", asset_id
    )
    return status == "complete"


def _playing(row: Any) -> Playing:
    state = {"pending": "waits", "processing": "making", "complete": "ready", "failed": "failed"}[
        row["status"]
    ]
    part = part_name(row["claim"]) if state == "making" and row["claim"] else None
    return Playing(state, row["share"], row["made_s"], row["took_s"], row["reason"], row["detail"], part)


async def state(sql: Connection[Any], asset_id: int) -> Playing | None:
    """Where it stands, without wishing for it; None when nobody asked."""
    if await _is_ready(sql, asset_id):
        return Playing("ready", 1.0)
    row = await sql.fetchrow(
        "SELECT status, share, made_s, took_s, reason, detail, claim FROM conversion WHERE asset_id = $1",
        asset_id,
    )
    return _playing(row) if row is not None and row["status"] != "complete" else None


async def leave(uow: UnitOfWork, asset_id: int) -> None:
    """One who waited goes away; the wish lapses unless somebody else renews it."""
    await uow.sql.execute(
        "UPDATE conversion SET wanted_until = LEAST(wanted_until, now() + make_interval(secs => $2))"
        " WHERE asset_id = $1 AND status IN ('pending', 'processing')",
        asset_id,
        PARTING_S,
    )


async def lost(uow: UnitOfWork, asset_id: int) -> None:
    """The file is gone, deleted by hand or with the power: it is made again with the next wish."""
    await uow.sql.execute("DELETE FROM rendition WHERE asset_id = $1 AND name = 'play'", asset_id)


def part_name(claim: uuid.UUID) -> str:
    """The growing file: named by its fence, so that one who was declared dead never writes into another's."""
    return f"play.{claim.hex}.part"


_CLAIM = f"""
WITH taken AS (
    UPDATE conversion SET status = 'processing', claim = gen_random_uuid(), worker_id = $1,
           claimed_at = now(), started_at = NULL, share = 0, made_s = 0, took_s = 0,
           reason = NULL, detail = NULL
    WHERE id = ANY(ARRAY(
        SELECT c.id FROM conversion c WHERE c.status = 'pending' ORDER BY c.id LIMIT $2
        FOR UPDATE SKIP LOCKED))
    RETURNING id, claim, asset_id, {ALONE} AS alone
)
SELECT taken.id, taken.claim, taken.alone, asset_id, sha256, turn
FROM taken JOIN asset ON asset.id = taken.asset_id ORDER BY taken.id
"""


async def claim(sql: Connection[Any], worker_id: int, count: int) -> Sequence[Claimed]:
    """Take the films that somebody still waits for, in the order of their wishes."""
    await sql.execute("DELETE FROM conversion WHERE status = 'pending' AND wanted_until < now()")
    rows = await sql.fetch(_CLAIM, worker_id, count)
    return [
        Claimed(r["id"], r["claim"], r["alone"], Film(r["asset_id"], r["sha256"], r["turn"])) for r in rows
    ]


async def fail(sql: Connection[Any], claimed: Claimed, reason: str, detail: str) -> bool:
    """End as failed; the page says why and offers to try again."""
    done: str = await sql.execute(
        "UPDATE conversion SET status = 'failed', reason = $3, detail = $4, finished_at = now(), claim = NULL"
        " WHERE id = $1 AND claim = $2 AND status = 'processing'",
        claimed.id,
        claimed.claim,
        reason,
        detail.replace("\0", "")[:500],
    )
    return done == "UPDATE 1"


class Unwanted(Exception):
    """Nobody waits any more, or the row belongs to somebody else."""


async def convert(
    settings: Settings, database: Database, claimed: Claimed, child: Converter, *, limit_s: float
) -> str:
    """Make one film playable for as long as somebody waits for it."""
    film: Film = claimed.row
    final = settings.home.rendition(film.sha256, PLAY)
    part = final.with_name(part_name(claimed.claim))
    try:
        async with database.unit_of_work() as uow:
            source = await original(uow.sql, settings.home, film.asset_id)
        made = await _made(settings, database, claimed, child, source, os.fsencode(part), limit_s)
        return await _complete(database, claimed, made, lambda: os.replace(part, final))
    except Unwanted:
        return await _forgotten(database, claimed)
    except NoFile as error:
        return await _failed(database, claimed, Reason.VANISHED, error.title)
    except MediaFailure as failure:
        return await _failed(database, claimed, failure.reason, failure.detail)
    finally:
        # A child that was killed leaves its part behind.
        with contextlib.suppress(OSError):
            part.unlink()


async def _made(
    settings: Settings,
    database: Database,
    claimed: Claimed,
    child: Converter,
    source: Original,
    part: bytes,
    limit_s: float,
) -> Converted:
    await room.wait_on_full_disk(settings)
    await child.open(source.path, expect=Stat(source.size, source.mtime_ns))
    steps = [Step(0.0, 0.0, 0.0)]
    making = asyncio.ensure_future(
        child.convert(part, turn=claimed.row.turn, timeout=limit_s, told=steps.append)
    )
    try:
        while not making.done():
            await asyncio.wait({making}, timeout=LOOK_S)
            del steps[:-1]
            if not making.done():
                await _look(settings, database, claimed, steps[-1])
        return making.result()
    finally:
        if not making.done():
            # Cancelling ends the child: nothing else stops an encoder at work.
            making.cancel()
            await asyncio.gather(making, return_exceptions=True)


async def _look(settings: Settings, database: Database, claimed: Claimed, step: Step) -> None:
    """Write down how far it is, and end it when nobody waits or the disk fills up."""
    async with database.one_statement() as sql:
        wanted = await sql.fetchval(
            "UPDATE conversion SET share = $3, made_s = $4, took_s = $5"
            " WHERE id = $1 AND claim = $2 AND status = 'processing' RETURNING wanted_until > now()",
            claimed.id,
            claimed.claim,
            step.share,
            step.made_s,
            step.took_s,
        )
    if not wanted:
        raise Unwanted
    if room.spare(settings) < 0:
        raise MediaFailure(Reason.NO_SPACE, "the disk filled up while the video was prepared")


async def _complete(database: Database, claimed: Claimed, made: Converted, place: Callable[[], None]) -> str:
    film: Film = claimed.row
    async with database.unit_of_work() as uow:
        turn = await uow.sql.fetchval("SELECT turn FROM asset WHERE id = $1 FOR SHARE", film.asset_id)
        # Turned meanwhile: what was made shows the film as it was before.
        status = "complete" if turn == film.turn else "pending"
        ours = await uow.sql.fetchval(
            "UPDATE conversion SET status = $3, share = 1, finished_at = now(), claim = NULL, reason = NULL,"
            " detail = NULL WHERE id = $1 AND claim = $2 AND status = 'processing' RETURNING id",
            claimed.id,
            claimed.claim,
            status,
        )
        if ours is None:
            return "stale"
        if status == "pending":
            uow.record(PlayWanted())
            return "turned"
        await uow.sql.execute(_KEEP, film.asset_id, made.width, made.height, made.bytes)
        place()
    return "copied" if made.copied else "encoded"


_KEEP = """
INSERT INTO rendition (asset_id, name, status, width, height, bytes, used_at, finished_at)
VALUES ($1, 'play', 'complete', $2, $3, $4, now(), now())
ON CONFLICT (asset_id, name) DO UPDATE SET
    status = 'complete', width = $2, height = $3, bytes = $4, used_at = now(), finished_at = now(),
    reason = NULL, detail = NULL, claim = NULL, worker_id = NULL, version = rendition.version + 1
"""


async def _forgotten(database: Database, claimed: Claimed) -> str:
    async with database.unit_of_work() as uow:
        await uow.sql.execute(
            "DELETE FROM conversion WHERE id = $1 AND claim = $2 AND status = 'processing'"
            " AND wanted_until <= now()",
            claimed.id,
            claimed.claim,
        )
        # Somebody came back between the look and this: the film begins anew.
        back = await uow.sql.execute(
            "UPDATE conversion SET status = 'pending', claim = NULL, worker_id = NULL"
            " WHERE id = $1 AND claim = $2 AND status = 'processing'",
            claimed.id,
            claimed.claim,
        )
        if back == "UPDATE 1":
            uow.record(PlayWanted())
    return "left"


async def _failed(database: Database, claimed: Claimed, reason: Reason, detail: str) -> str:
    async with database.unit_of_work() as uow:
        await fail(uow.sql, claimed, reason, detail)
    return "failed"
