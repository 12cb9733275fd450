"""Making the pages of volumes assets: hashed in chunks, decoded once where they are new."""

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
# The archive itself, not one of its pages.
_OUTER = frozenset({Reason.VANISHED, Reason.CHANGED, Reason.UNREADABLE, Reason.SYMLINK, Reason.SPECIAL})


class Opener(Protocol):
    """The part of a decode child that unpacking uses."""

    async def open(self, path: bytes, *, expect: Stat | None, member: Sequence[Hop]) -> Read:
        """Open and sniff one page without hashing."""

    async def read(self, path: bytes, *, expect: Stat | None, member: Sequence[Hop]) -> Read:
        """Open, sniff and hash one page."""

    async def decode(self, wanted: list[Wanted]) -> Decoded:
        """Decode the open page and write the wanted renditions."""


_FENCE = "SELECT id FROM volume WHERE id = $1 AND claim = $2 AND status = 'processing' FOR UPDATE"

Lend = Callable[[], AbstractAsyncContextManager[Opener]]


@dataclass(frozen=True, slots=True)
class Packed:
    """A volume whose pages are to be made."""

    asset_id: int
    priority: int

    @property
    def urgent(self) -> bool:
        """True when a person reads it."""
        return self.priority == URGENT


_CLAIM = f"""
WITH taken AS (
    UPDATE volume SET status = 'processing', claim = gen_random_uuid(), worker_id = $1,
           claimed_at = now(), started_at = NULL
    WHERE id = ANY(ARRAY(
        SELECT v.id FROM volume v WHERE v.status = 'pending' AND v.priority <= $3
        ORDER BY v.priority, v.id LIMIT $2 FOR UPDATE SKIP LOCKED))
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


async def unpack(settings: Settings, database: Database, claimed: Claimed, lend: Lend) -> str:
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
        return await work.failed(failure.reason, failure.detail)


class Unpacking:
    """One turn at a claimed volume."""

    def __init__(self, settings: Settings, database: Database, claimed: Claimed, lend: Lend) -> None:
        self._settings = settings
        self._database = database
        self._claimed = claimed
        self._lend = lend
        self._volume: int = claimed.row.asset_id

    async def run(self) -> str:
        """Work through chunks until none is left or the turn is over."""
        end = clock.monotonic() + TURN_S
        async with self._database.unit_of_work() as uow:
            source = await original(uow.sql, self._settings.home, self._volume)
        while chunk := await self._next():
            async with self._lend() as child:
                await self._make(child, source, chunk)
            if not await self._write(chunk):
                return "stale"
            if clock.monotonic() >= end:
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

    async def _make(self, child: Opener, source: Original, chunk: list[Page]) -> None:
        for page in chunk:
            await self._hash(child, source, page)
        known = await self._known(chunk)
        for page in chunk:
            if page.read is not None and (page.read.sha256, page.read.size) not in known:
                await self._guarded(page, partial(self._decode, child, source, page))

    async def _hash(self, child: Opener, source: Original, page: Page) -> None:
        async def read() -> None:
            page.read = await child.read(source.path, expect=source.expected, member=page.hops)

        await self._guarded(page, read)

    async def _decode(self, child: Opener, source: Original, page: Page) -> None:
        assert page.read is not None  # noqa: S101 - hashed before
        await child.open(source.path, expect=source.expected, member=page.hops)
        home = self._settings.home
        wanted = [
            Wanted.named(name, os.fsencode(home.rendition(page.read.sha256, name)))
            for name in (GRID_240, GRID_480)
        ]
        page.decoded = await child.decode(wanted)
        for _name, reason, detail in page.decoded.rendition_errors:
            if reason is Reason.NO_SPACE:
                raise MediaFailure(reason, detail)

    async def _guarded(self, page: Page, act: Callable[[], Awaitable[None]]) -> None:
        """A page that cannot be read, or that twice brings its decoder down, costs itself alone."""
        try:
            try:
                await act()
            except ChildDied:
                await act()
        except ChildDied as death:
            page.failure = (death.reason, death.detail)
        except MediaFailure as failure:
            if failure.reason in _OUTER or failure.reason is Reason.NO_SPACE:
                raise
            page.failure = (failure.reason, failure.detail)

    async def _known(self, chunk: list[Page]) -> set[tuple[bytes, int]]:
        read = [page.read for page in chunk if page.read is not None]
        async with self._database.one_statement() as sql:
            rows = await sql.fetch(
                "SELECT a.sha256, a.size FROM unnest($1::bytea[], $2::bigint[]) AS g(sha256, size)"
                " JOIN asset a ON a.sha256 = g.sha256 AND a.size = g.size",
                [each.sha256 for each in read],
                [each.size for each in read],
            )
        return {(row["sha256"], row["size"]) for row in rows}

    async def _write(self, chunk: list[Page]) -> bool:
        """Write what became of a chunk, unless the volume is somebody else's by now."""
        async with self._database.unit_of_work() as uow:
            ours = await uow.sql.fetchval(_FENCE, self._claimed.id, self._claimed.claim)
            if ours is not None:
                await pagerows.write(uow.sql, self._volume, chunk)
        return ours is not None

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
                " claim = NULL, worker_id = NULL, claimed_at = NULL, started_at = NULL, deliveries = 0,"
                " reason = NULL, detail = NULL WHERE id = $1 AND claim = $2 AND status = 'processing'",
                self._claimed.id,
                self._claimed.claim,
                "complete" if done else "pending",
            )
        return "complete" if done else "in_part"
