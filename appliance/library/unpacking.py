"""Making the pages of volumes assets: hashed in chunks, decoded once where they are new."""

# ruff: noqa: ASYNC109 -- a limit given to a decode child ends it, which asyncio.timeout around a call cannot.

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from appliance.core import clock, room
from appliance.core.columns import ALONE
from appliance.core.db import Database
from appliance.core.drains import Claimed
from appliance.core.settings import Settings
from appliance.library import pagerows
from appliance.library.errors import NoFile
from appliance.library.files import Original, original
from appliance.library.pagerows import Page
from appliance.library.renditions import BACKGROUND, URGENT, Idle
from appliance.media.decoder import ChildDied
from appliance.media.hops import Hop, way
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import GRID_240, GRID_480, Decoded, Read, Stat, Wanted


if TYPE_CHECKING:
    from asyncpg import Connection

CHUNK = 20
# Then it is somebody else's turn: who opens a volume waits for no other one to end.
TURN_S = 20.0
# One page, begun at the end of a turn and tried twice, ends well within the limit of the task.
READ_S = 120.0
DECODE_S = 90.0
# The archive itself, not one of its pages.
_OUTER = frozenset({Reason.VANISHED, Reason.CHANGED, Reason.UNREADABLE, Reason.SYMLINK, Reason.SPECIAL})


class Opener(Protocol):
    """The part of a decode child that unpacking uses."""

    async def read(self, path: bytes, *, expect: Stat | None, member: Sequence[Hop], timeout: float) -> Read:
        """Open, sniff and hash one page."""

    async def decode(self, wanted: list[Wanted], *, timeout: float) -> Decoded:
        """Decode the open page and write the wanted renditions."""


# Whoever deletes a volume for good holds it first, then what is said of it: so does whoever writes pages.
_STANDS = "SELECT id FROM asset WHERE id = $1 AND state <> 'trashed' FOR SHARE"
_FENCE = "SELECT id FROM volume WHERE id = $1 AND claim = $2 AND status = 'processing' FOR UPDATE"

Lend = Callable[[], AbstractAsyncContextManager[Opener]]
Went = Callable[[int, bytes], Awaitable[bool]]
"""Whether a root is away, by its id and path; one that is will be left alone until it is back."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A volume whose pages are to be made."""

    asset_id: int
    priority: int

    @property
    def urgent(self) -> bool:
        """True when a person reads it."""
        return self.priority == URGENT


# What has no file that can be reached waits, and so does what lies in the trash.
_CLAIM = f"""
WITH taken AS (
    UPDATE volume SET status = 'processing', claim = gen_random_uuid(), worker_id = $1,
           claimed_at = now(), started_at = NULL
    WHERE id = ANY(ARRAY(
        SELECT v.id FROM volume v WHERE v.status = 'pending' AND v.priority <= $3
        AND EXISTS (SELECT FROM asset a WHERE a.id = v.asset_id AND a.state <> 'trashed')
        AND EXISTS (SELECT FROM asset_file f LEFT JOIN root o ON o.id = f.root_id
                    WHERE f.asset_id = v.asset_id AND (f.root_id IS NULL OR o.status = 'ready'))
        ORDER BY v.priority, v.queued_at, v.id LIMIT $2 FOR UPDATE SKIP LOCKED))
    RETURNING id, claim, asset_id, priority, {ALONE} AS alone
)
SELECT * FROM taken ORDER BY priority, id
"""


def claim_when(idle: Idle) -> Callable[[Connection[Any], int, int], Awaitable[Sequence[Claimed]]]:
    """The drain's claim; what nobody reads is only taken while `idle` says that imports rest."""

    async def claim(sql: Connection[Any], worker_id: int, count: int) -> Sequence[Claimed]:
        reach = BACKGROUND if await idle(sql) else URGENT
        rows = await sql.fetch(_CLAIM, worker_id, count, reach)
        return [Claimed(r["id"], r["claim"], r["alone"], Packed(r["asset_id"], r["priority"])) for r in rows]

    return claim


async def fail(sql: Connection[Any], claimed: Claimed, reason: str, detail: str) -> bool:
    """End a volume whose pages cannot be made; it is tried again when someone reads it."""
    done: str = await sql.execute(
        "UPDATE volume SET status = 'failed', reason = $3, detail = $4, finished_at = now(), claim = NULL"
        " WHERE id = $1 AND claim = $2 AND status = 'processing'",
        claimed.id,
        claimed.claim,
        reason,
        detail.replace("\0", "")[:500],
    )
    return done == "UPDATE 1"


async def unpack(settings: Settings, database: Database, claimed: Claimed, lend: Lend, went: Went) -> str:
    """Make pages of one volume for a while; it goes back to the others when some are left."""
    work = Unpacking(settings, database, claimed, lend)
    try:
        return await work.run()
    except NoFile as error:
        return await work.failed(Reason.VANISHED, error.title)
    except MediaFailure as failure:
        if failure.reason is Reason.NO_SPACE:
            await room.wait_on_full_disk(settings)
            return await work.leave(done=False)
        if work.root is not None and failure.reason in _OUTER and await went(*work.root):
            return await work.leave(done=False)
        return await work.failed(failure.reason, failure.detail)


class Unpacking:
    """One turn at a claimed volume."""

    def __init__(self, settings: Settings, database: Database, claimed: Claimed, lend: Lend) -> None:
        self._settings = settings
        self._database = database
        self._claimed = claimed
        self._lend = lend
        self._volume: int = claimed.row.asset_id
        self._end = clock.monotonic() + TURN_S
        self.root: tuple[int, bytes] | None = None
        """Under which the archive lies; None for one that we store."""

    @property
    def _is_over(self) -> bool:
        return clock.monotonic() >= self._end

    async def run(self) -> str:
        """Work through chunks until none is left or the turn is over."""
        async with self._database.unit_of_work() as uow:
            source = await original(uow.sql, self._settings.home, self._volume)
        self.root = source.root
        while chunk := await self._next():
            async with self._lend() as child:
                made = await self._make(child, source, chunk)
            if outcome := await self._write(made):
                return outcome
            if self._is_over:
                return await self.leave(done=False)
        return await self.leave(done=True)

    async def _next(self) -> list[Page]:
        async with self._database.one_statement() as sql:
            rows = await sql.fetch(
                "SELECT position, hops::text AS hops FROM volume_page"
                " WHERE volume_id = $1 AND status = 'pending' ORDER BY position LIMIT $2",
                self._volume,
                CHUNK,
            )
        return [Page(row["position"], way(row["hops"])) for row in rows]

    async def _make(self, child: Opener, source: Original, chunk: list[Page]) -> list[Page]:
        """The pages of a chunk that were reached within the turn, the first in any case."""
        made: list[Page] = []
        seen: set[tuple[bytes, int]] = set()
        for page in chunk:
            if made and self._is_over:
                break
            await self._guarded(page, partial(self._page, child, source, page, seen))
            made.append(page)
        return made

    async def _page(self, child: Opener, source: Original, page: Page, seen: set[tuple[bytes, int]]) -> None:
        read = page.read = await child.read(
            source.path, expect=source.expected, member=page.hops, timeout=READ_S
        )
        # The same empty page may stand in a volume many times.
        if (read.sha256, read.size) in seen or await self._is_known(read):
            return
        home = self._settings.home
        wanted = [
            Wanted.named(name, os.fsencode(home.rendition(read.sha256, name)))
            for name in (GRID_240, GRID_480)
        ]
        page.decoded = await child.decode(wanted, timeout=DECODE_S)
        for _name, reason, detail in page.decoded.rendition_errors:
            if reason is Reason.NO_SPACE:
                raise MediaFailure(reason, detail)
        seen.add((read.sha256, read.size))

    async def _guarded(self, page: Page, act: Callable[[], Awaitable[None]]) -> None:
        """A page that cannot be read, or that brings its decoder down, costs itself alone.

        A crash is tried once more; what a limit ended would only meet it again.
        """
        try:
            try:
                await act()
            except ChildDied as death:
                if death.reason is not Reason.CRASHED:
                    raise
                await act()
        except ChildDied as death:
            page.failure = (death.reason, death.detail)
        except MediaFailure as failure:
            if failure.reason in _OUTER or failure.reason is Reason.NO_SPACE:
                raise
            page.failure = (failure.reason, failure.detail)

    async def _is_known(self, read: Read) -> bool:
        """Whether these bytes are an asset already, or were deleted for good."""
        async with self._database.one_statement() as sql:
            known: bool = await sql.fetchval(
                "SELECT EXISTS (SELECT FROM asset WHERE sha256 = $1 AND size = $2)"
                " OR EXISTS (SELECT FROM tombstone WHERE sha256 = $1 AND size = $2)",
                read.sha256,
                read.size,
            )
        return known

    async def _write(self, made: list[Page]) -> str:
        """Write what became of pages; the outcome when the volume was given away or thrown away meanwhile."""
        async with self._database.unit_of_work() as uow:
            stands = await uow.sql.fetchval(_STANDS, self._volume)
            ours = await uow.sql.fetchval(_FENCE, self._claimed.id, self._claimed.claim)
            if stands and ours:
                await pagerows.write(uow.sql, self._volume, made)
        if not ours:
            return "stale"
        return "" if stands else await self.leave(done=False)

    async def failed(self, reason: Reason, detail: str) -> str:
        """The archive itself cannot be read."""
        async with self._database.unit_of_work() as uow:
            await fail(uow.sql, self._claimed, reason, detail)
        return "failed"

    async def leave(self, *, done: bool) -> str:
        """End the turn: for good, or until it is this volume's turn again."""
        async with self._database.unit_of_work() as uow:
            await uow.sql.execute(
                "UPDATE volume SET status = $3, finished_at = CASE WHEN $3 = 'complete' THEN now() END,"
                " queued_at = now(), claim = NULL, worker_id = NULL, claimed_at = NULL, started_at = NULL,"
                " deliveries = 0, reason = NULL, detail = NULL"
                " WHERE id = $1 AND claim = $2 AND status = 'processing'",
                self._claimed.id,
                self._claimed.claim,
                "complete" if done else "pending",
            )
        return "complete" if done else "in_part"
