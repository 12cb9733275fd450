"""One file's way in: read and hash, look it up, decode and draw, store, and finish in one transaction."""

from __future__ import annotations

import os

from asyncpg import ForeignKeyViolationError

from appliance.core import clock, room
from appliance.core.db import Database, UnitOfWork
from appliance.core.drains import Claimed, Interrupted
from appliance.core.settings import Settings
from appliance.duplicates import services as duplicates
from appliance.ingest import (
    describing,
    failing,
    finishing,
    kept_out,
    resting,
    saved_again,
    scanning,
    services,
    versions,
)
from appliance.ingest.claims import Waiting
from appliance.ingest.failing import Progress
from appliance.ingest.finishing import Known, Stored, TakenOver
from appliance.ingest.keeping import Keeping
from appliance.ingest.kept_out import KeptOut
from appliance.ingest.models import Mode
from appliance.ingest.reader import Lend, Reader
from appliance.library import inside, motion, volumes
from appliance.library.facts import AssetImported
from appliance.media.decoder import StorageSilent
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import GRID_240, GRID_480, Decoded, Read, Stat, Wanted


_GONE = frozenset({Reason.VANISHED, Reason.UNREADABLE})


class Import:
    """The import of one claimed file; `lend` gives a decode child for as long as one is needed."""

    def __init__(self, settings: Settings, database: Database, claimed: Claimed) -> None:
        self.settings = settings
        self.database = database
        self.claimed = claimed
        self.waiting: Waiting = claimed.row
        self.mode = Mode(self.waiting.mode)
        self.progress = Progress()
        self.began = clock.monotonic()
        self.keeping = Keeping(settings, database, claimed)

    async def run(self, lend: Lend) -> str:
        """Import the file; the answer is its outcome."""
        try:
            return await self._to_its_end(lend)
        except StorageSilent as silent:
            await self._set_root_aside(silent)
            raise Interrupted from silent

    async def _to_its_end(self, lend: Lend) -> str:
        try:
            return await self._attempt(lend)
        except MediaFailure as failure:
            if not await self._has_room_again(failure):
                return await self._failed(lend, failure)
        try:
            return await self._attempt(lend)
        except MediaFailure as failure:
            return await self._failed(lend, failure)

    async def _failed(self, lend: Lend, failure: MediaFailure) -> str:
        if isinstance(failure, StorageSilent):
            raise failure
        if failure.reason in _GONE and self.mode is Mode.IN_PLACE:
            waiting = self.waiting
            if await scanning.set_aside(self.database, waiting.root_id, waiting.root):
                # A disk that is unplugged while it is read is no file's fault: all of its files wait.
                raise Interrupted from failure
        if failure.reason is not Reason.CHANGED:
            return await failing.note(self.database, self.claimed, lend, failure, self.progress)
        # It is still being written: not its fault, and nothing to list.
        async with self.database.unit_of_work() as uow:
            await resting.postponed(uow.sql, self.claimed, failure.seen)
        return "waits"

    async def _set_root_aside(self, silent: StorageSilent) -> None:
        """A mount that hangs would hold every decoder, one file after the other: its files wait."""
        async with self.database.unit_of_work() as uow:
            await services.mark_unavailable(uow.sql, self.waiting.root_id, silent.detail)

    async def _attempt(self, lend: Lend) -> str:
        try:
            return await self._run(lend)
        except KeptOut as kept:
            home, decoded = self.settings.home, self.progress.decoded
            return await kept_out.write_down(self.database, home, self.claimed, kept, decoded=decoded)
        finally:
            self.keeping.forget_copy()

    async def _run(self, lend: Lend) -> str:
        async with lend() as child:
            read, found = await self._look_into(child)
            stored = await self.keeping.store(child, read)
        # The decoder has its next file while the rows of this one are written.
        outcome = await self._finish(read, found, stored)
        if self.mode is Mode.MOVE:
            async with lend() as child:
                await self.keeping.release_source(child, read)
        return outcome

    async def _look_into(self, child: Reader) -> tuple[Read, Known | Decoded]:
        """Hash the file, and decode it unless its bytes are known."""
        read = await child.read(self.waiting.absolute, expect=self._rested, copy_to=self.keeping.copy_to())
        self.progress.hashed = True
        known = await self._look_up(read)
        if known is not None:
            return read, known
        decoded = await child.decode(self._wanted(read))
        self._refuse_half_drawn(decoded)
        self.progress.decoded = True
        self.progress.stays = await self._stays(decoded)
        if not self.progress.stays:
            await kept_out.check_look(self.database, child, read, decoded)
        return read, decoded

    async def _stays(self, decoded: Decoded) -> bool:
        """Whether this is the picture that lay here, saved again: it cannot be a copy of something else."""
        if self.mode is not Mode.IN_PLACE or self.waiting.held is None:
            return False
        async with self.database.one_statement() as sql:
            return await saved_again.is_it(sql, self.waiting, decoded)

    @property
    def _rested(self) -> Stat | None:
        """What a file must still be that was being written when it was found."""
        waiting = self.waiting
        return Stat(waiting.size, waiting.mtime_ns) if waiting.rested else None

    async def _finish(self, read: Read, found: Known | Decoded, stored: Stored) -> str:
        if isinstance(found, Known):
            return await self._known(read, found, stored)
        if await self._imported(read, found, stored):
            return "imported"
        # The same bytes came in through another path at the same moment: this one is the duplicate.
        known = await self._look_up(read)
        if known is None:
            # The other one was deleted in between; the next claim starts afresh.
            raise TakenOver
        return await self._known(read, known, stored)

    async def _look_up(self, read: Read) -> Known | None:
        async with self.database.one_statement() as sql:
            known = await finishing.known(sql, self.claimed, read)
            if known is None:
                await kept_out.check_content(sql, read)
            return known

    def _wanted(self, read: Read) -> list[Wanted]:
        home = self.settings.home
        return [
            Wanted.named(name, os.fsencode(home.rendition(read.sha256, name)))
            for name in (GRID_240, GRID_480)
        ]

    async def _imported(self, read: Read, decoded: Decoded, stored: Stored) -> bool:
        if self.progress.stays:
            if await self._saved_again(read, decoded):
                return True
            # It was deleted, copied or came in elsewhere since the look: the next claim sees what is true.
            raise Interrupted
        async with self.database.unit_of_work() as uow:
            said = await describing.expect(uow, self.waiting, decoded=decoded)
            before = await versions.former(uow.sql, self.waiting, decoded)
            asset_id = await finishing.imported(
                uow.sql,
                self.claimed,
                read,
                decoded,
                stored=stored,
                zone=self.settings.zone,
                milliseconds=self._milliseconds,
            )
            if asset_id is None:
                await uow.connection.rollback()
                return False
            await duplicates.note(uow.sql, asset_id, decoded)
            await volumes.made(uow.sql, asset_id, decoded)
            if said:
                await describing.came(uow, asset_id, decoded)
            await versions.follow(uow, before, asset_id)
            await _ended(uow, decoded)
        return True

    @property
    def _milliseconds(self) -> int:
        return round((clock.monotonic() - self.began) * 1000)

    async def _saved_again(self, read: Read, decoded: Decoded) -> bool:
        """The picture that this path held was edited: it takes the new content and stays what it was."""
        async with self.database.unit_of_work() as uow:
            done = await saved_again.taken(
                uow, self.claimed, read, decoded, zone=self.settings.zone, milliseconds=self._milliseconds
            )
            if not done:
                await uow.connection.rollback()
                return False
            await _ended(uow, decoded)
        return True

    async def _known(self, read: Read, known: Known, stored: Stored) -> str:
        try:
            async with self.database.unit_of_work() as uow:
                said = await describing.expect(uow, self.waiting, asset_id=known.asset_id)
                if not await saved_again.still_holds(uow.sql, known.asset_id, read):
                    # It was deleted or took other content since the look: the next claim sees what is true.
                    raise Interrupted
                await finishing.duplicate(
                    uow.sql, self.claimed, read, known, stored=stored, decoded=self.progress.decoded
                )
                if known.outcome == "duplicate":
                    await self._show_if_inside(uow, read, known)
                if said:
                    await describing.came(uow, known.asset_id)
        except ForeignKeyViolationError as gone:
            # It was deleted for good between the look and the row: the next claim sees what is true then.
            raise Interrupted from gone
        return known.outcome

    async def _show_if_inside(self, uow: UnitOfWork, read: Read, known: Known) -> None:
        """What was known as a page of a volume only is a picture of its own from now on."""
        modified = self.waiting.modified_ns(read.mtime_ns)
        dated = finishing.date_around(self.waiting.named, modified, self.settings.zone)
        if await inside.step_out(uow.sql, known.asset_id, dated.effective_at, str(dated.source)):
            await duplicates.want(uow.sql, known.asset_id)
            uow.record(AssetImported())

    def _refuse_half_drawn(self, decoded: Decoded) -> None:
        """A picture that found no room is drawn when there is some; every other failure stays its own."""
        for _name, reason, detail in decoded.rendition_errors:
            if reason is Reason.NO_SPACE:
                raise MediaFailure(reason, detail)

    async def _has_room_again(self, failure: MediaFailure) -> bool:
        """A disk that is full is no file's fault: the file goes back and waits until imports go on.

        One file that does not fit beside what must stay free would wait for ever, and fails instead.
        """
        if failure.reason is not Reason.NO_SPACE:
            return False
        return await room.wait_on_full_disk(self.settings) >= self.waiting.size


async def _ended(uow: UnitOfWork, decoded: Decoded) -> None:
    if "live_id" in decoded.facts:
        await motion.pair(uow.sql, decoded.facts["live_id"])
    uow.record(AssetImported())
