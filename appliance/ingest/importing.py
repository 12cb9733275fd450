"""One file's way in: read and hash, look it up, decode and draw, store, and finish in one transaction."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from asyncpg import ForeignKeyViolationError

from appliance.core import clock, room
from appliance.core.db import Database, UnitOfWork
from appliance.core.drains import Claimed, Interrupted
from appliance.core.settings import Settings
from appliance.duplicates import services as duplicates
from appliance.ingest import (
    describing,
    finishing,
    kept_out,
    resting,
    saved_again,
    scanning,
    services,
    sidecar_names,
    vanished,
    versions,
)
from appliance.ingest.claims import Waiting
from appliance.ingest.finishing import Known, Stored, TakenOver
from appliance.ingest.kept_out import KeptOut
from appliance.ingest.models import Mode
from appliance.library import inside, motion, volumes
from appliance.library.facts import AssetImported
from appliance.media.decoder import StorageSilent
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import GRID_240, GRID_480, Decoded, Described, Frame, Read, Stat, Wanted


# Names that announce a picture or a film: when such a file holds something else, that is a failure
# worth listing; any other name with foreign content is just not ours.
MEDIA_NAMES = frozenset(
    b".jpg .jpeg .jpe .jfif .png .apng .gif .webp .avif .heic .heif .hif .jxl .tif .tiff .bmp .jp2 .j2k .jpx"
    b" .cbz .dng .cr2 .cr3 .crw .nef .nrw .arw .sr2 .srf .orf .rw2 .raf .pef .srw"
    b" .x3f .mrw .3fr .iiq .mos .erf .dcr"
    b" .mp4 .m4v .mov .mkv .webm .avi .mpg .mpeg .ts .mts .m2ts .wmv .flv .3gp .ogv".split()
)
SIDECAR_NAMES = frozenset(b".xmp .json .txt .xml .nfo .yaml .yml .aae .thm".split())


_GONE = frozenset({Reason.VANISHED, Reason.UNREADABLE})


class Reader(Protocol):
    """The part of a decode child that an import uses."""

    async def read(self, path: bytes, *, expect: Stat | None, copy_to: bytes | None) -> Read:
        """Open, sniff and hash; on the way copy when a place is named."""

    async def decode(self, wanted: list[Wanted]) -> Decoded:
        """Decode the open file and write the wanted renditions."""

    async def frames(self, count: int) -> list[Frame]:
        """Hash frames of the open film."""

    async def describe(self, path: bytes, kind: str) -> Described:
        """Read a small file that describes another one."""

    async def place(self, temporary: bytes, final: bytes) -> None:
        """Give the synced copy its final name, durably."""

    async def remove_source(self, path: bytes, expect: Stat) -> None:
        """Unlink the source if it still is the file that was read."""


Lend = Callable[[], AbstractAsyncContextManager[Reader]]


@dataclass
class Progress:
    """How far one file has come; decides what its failure counts as."""

    hashed: bool = False
    decoded: bool = False


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
        self.temporary = os.fsencode(settings.home.tmp / f"import-{claimed.id}-{claimed.claim.hex}")

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
            return await self._fail(lend, failure)
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
            self._forget_temporary()

    async def _run(self, lend: Lend) -> str:
        async with lend() as child:
            read, found = await self._look_into(child)
            stored = await self._store(child, read)
        # The decoder has its next file while the rows of this one are written.
        outcome = await self._finish(read, found, stored)
        if self.mode is Mode.MOVE:
            async with lend() as child:
                await self._release_source(child, read)
        return outcome

    async def _look_into(self, child: Reader) -> tuple[Read, Known | Decoded]:
        """Hash the file, and decode it unless its bytes are known."""
        linked = self.waiting.uploaded and self._linked()
        copy_to = None if self.mode is Mode.IN_PLACE or linked else self.temporary
        read = await child.read(self.waiting.absolute, expect=self._rested, copy_to=copy_to)
        self.progress.hashed = True
        known = await self._look_up(read)
        if known is not None:
            return read, known
        decoded = await child.decode(self._wanted(read))
        self._refuse_half_drawn(decoded)
        self.progress.decoded = True
        await kept_out.check_look(self.database, child, read, decoded)
        return read, decoded

    @property
    def _rested(self) -> Stat | None:
        """What a file must still be that was being written when it was found."""
        waiting = self.waiting
        return Stat(waiting.size, waiting.mtime_ns) if waiting.rested else None

    def _linked(self) -> bool:
        """A sent file is ours and synced already: a second name for it is as good as a copy, at no cost."""
        try:
            os.link(self.waiting.absolute, self.temporary)
            # What lies among the temporary files for an hour is swept, and this file may be old.
            os.utime(self.temporary)
        except OSError:
            self._forget_temporary()
            return False
        return True

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
            if known is None or known.inside:
                # A page within a volume is no reason to bring back by itself what was deleted.
                await kept_out.check_content(sql, read)
            return known

    def _wanted(self, read: Read) -> list[Wanted]:
        home = self.settings.home
        return [
            Wanted.named(name, os.fsencode(home.rendition(read.sha256, name)))
            for name in (GRID_240, GRID_480)
        ]

    async def _imported(self, read: Read, decoded: Decoded, stored: Stored) -> bool:
        if self.mode is Mode.IN_PLACE and await self._saved_again(read, decoded):
            return True
        async with self.database.unit_of_work() as uow:
            before = await versions.former(uow.sql, self.waiting, decoded)
            asset_id = await finishing.imported(
                uow.sql,
                self.claimed,
                read,
                decoded,
                stored=stored,
                zone=self.settings.zone,
                milliseconds=round((clock.monotonic() - self.began) * 1000),
            )
            if asset_id is None:
                await uow.connection.rollback()
                return False
            await duplicates.note(uow.sql, asset_id, decoded)
            await volumes.made(uow.sql, asset_id, decoded)
            await describing.came(uow, self.waiting, asset_id, decoded)
            await versions.follow(uow, before, asset_id)
            if "live_id" in decoded.facts:
                await motion.pair(uow.sql, decoded.facts["live_id"])
            uow.record(AssetImported())
        return True

    async def _saved_again(self, read: Read, decoded: Decoded) -> bool:
        """The picture that this path held was edited: it takes the new content and stays what it was."""
        if self.waiting.held is None:
            return False
        async with self.database.unit_of_work() as uow:
            milliseconds = round((clock.monotonic() - self.began) * 1000)
            zone = self.settings.zone
            done = await saved_again.taken(
                uow, self.claimed, read, decoded, zone=zone, milliseconds=milliseconds
            )
            if not done:
                await uow.connection.rollback()
                return False
            if "live_id" in decoded.facts:
                await motion.pair(uow.sql, decoded.facts["live_id"])
            uow.record(AssetImported())
        return True

    async def _known(self, read: Read, known: Known, stored: Stored) -> str:
        try:
            async with self.database.unit_of_work() as uow:
                if not await saved_again.still_holds(uow.sql, known.asset_id, read):
                    # It was deleted or took other content since the look: the next claim sees what is true.
                    raise Interrupted
                await finishing.duplicate(
                    uow.sql, self.claimed, read, known, stored=stored, decoded=self.progress.decoded
                )
                if known.outcome == "duplicate":
                    await self._show_if_inside(uow, read, known)
                await describing.came(uow, self.waiting, known.asset_id)
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

    async def _store(self, child: Reader, read: Read) -> Stored:
        """In place: the file stays where it is. Else: the copy gets its final, content-named place."""
        if self.mode is Mode.IN_PLACE:
            return Stored(self.waiting.root_id, self.waiting.path, read.size, read.mtime_ns)
        # Named by content alone, so that the same bytes under two names are one file.
        final = self.settings.home.original(read.sha256, f".{read.sniffed.extension}")
        await child.place(self.temporary, os.fsencode(final))
        relative = os.fsencode(final.relative_to(self.settings.home.originals))
        return Stored(None, relative, read.size, read.mtime_ns)

    async def _release_source(self, child: Reader, read: Read) -> None:
        """Only after the commit, and only the very file that was read."""
        try:
            await child.remove_source(self.waiting.absolute, read.stat)
        except MediaFailure as failure:
            await self._note_source(failure)

    async def _note_source(self, failure: MediaFailure) -> None:
        async with self.database.unit_of_work() as uow:
            await uow.sql.execute(
                "UPDATE root_entry SET detail = $2 WHERE id = $1",
                self.waiting.entry_id,
                f"{finishing.SOURCE_STAYED}: {failure.detail or failure.reason}"[:500],
            )

    async def _fail(self, lend: Lend, failure: MediaFailure) -> str:
        reason, skipped = classify(self.waiting.path, failure.reason)
        described = await self._describe(lend) if reason is Reason.SIDECAR else None
        async with self.database.unit_of_work() as uow:
            ours = await finishing.ended(
                uow.sql,
                self.claimed,
                reason,
                described.problem or "" if described else failure.detail,
                skipped=skipped,
                hashed=self.progress.hashed,
                decoded=self.progress.decoded,
            )
            if ours and described:
                await describing.keep(uow, self.waiting, described)
            if ours and reason in vanished.SEEN:
                await vanished.written_over(uow.sql, self.waiting.entry_id)
        if skipped and self.waiting.uploaded:
            # Nobody looks for it in our folder, and trying again would come to the same.
            self._forget(self.waiting.absolute)
        return "skipped" if skipped else "failed"

    async def _describe(self, lend: Lend) -> Described | None:
        """Read a file that describes another one; None for names of which nothing is read."""
        kind = sidecar_names.kind_of(self.waiting.path)
        if kind is None:
            return None
        try:
            async with lend() as child:
                return await child.describe(self.waiting.absolute, kind)
        except MediaFailure as failure:
            if isinstance(failure, StorageSilent):
                raise
            return Described(b"", None, str(failure))

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

    def _forget_temporary(self) -> None:
        self._forget(self.temporary)

    @staticmethod
    def _forget(path: bytes) -> None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            return


def classify(path: bytes, reason: Reason) -> tuple[Reason, bool]:
    """What a refused content means under this name: a failure to list, or a file that is not ours."""
    extension = os.path.splitext(path)[1].lower()
    if reason is Reason.EMPTY and extension not in MEDIA_NAMES:
        reason = Reason.NOT_MEDIA
    if reason is not Reason.NOT_MEDIA:
        return reason, reason.skip
    if extension in SIDECAR_NAMES:
        return Reason.SIDECAR, True
    return Reason.NOT_MEDIA, extension not in MEDIA_NAMES
