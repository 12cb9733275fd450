# ruff: noqa: ASYNC109 -- a limit given to the child ends it, which asyncio.timeout around a call cannot.

"""Making one film playable: for as long as somebody waits, in a child that is ended when nobody does."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from appliance.core import room
from appliance.core.columns import ALONE
from appliance.core.db import Database
from appliance.core.drains import Claimed
from appliance.core.settings import Settings
from appliance.library import motion
from appliance.library.errors import NoFile
from appliance.library.facts import PlayWanted
from appliance.library.files import Original, original
from appliance.library.playing import part_name
from appliance.media.hops import Hop
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import PLAY, Converted, Read, Stat, Step


if TYPE_CHECKING:
    from asyncpg import Connection

LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class Film:
    """A video to make playable."""

    asset_id: int
    sha256: bytes
    turn: int


class Converter(Protocol):
    """The part of a decode child that making a film playable uses."""

    async def open(self, path: bytes, *, expect: Stat | None, member: Sequence[Hop]) -> Read:
        """Open and sniff without hashing."""

    async def convert(
        self,
        path: bytes,
        *,
        turn: int,
        timeout: float,
        told: Callable[[Step], None],
        part: tuple[int, int] | None,
    ) -> Converted:
        """Write the playable form and tell how far it is."""


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
            # A still that has a film is played by it.
            within = await motion.of(uow.sql, film.asset_id, everything=True)
            source = await original(uow.sql, settings.home, within.asset_id if within else film.asset_id)
        place = _Place(source, within.part if within else None, os.fsencode(part))
        made = await _made(settings, database, claimed, child, place, limit_s)
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


class _Place(NamedTuple):
    """Where the film lies and where its playable form grows."""

    source: Original
    part: tuple[int, int] | None
    made: bytes


async def _made(
    settings: Settings,
    database: Database,
    claimed: Claimed,
    child: Converter,
    place: _Place,
    limit_s: float,
) -> Converted:
    await room.wait_on_full_disk(settings)
    await child.open(place.source.path, expect=place.source.expected, member=place.source.way)
    steps = [Step(0.0, 0.0, 0.0)]
    making = asyncio.ensure_future(
        child.convert(place.made, turn=claimed.row.turn, timeout=limit_s, told=steps.append, part=place.part)
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
