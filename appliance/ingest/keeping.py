"""Where the bytes of an import stay: where they are, or as a copy of ours; and what becomes of the source."""

from __future__ import annotations

import contextlib
import os

from appliance.core.db import Database
from appliance.core.drains import Claimed
from appliance.core.settings import Settings
from appliance.ingest import finishing
from appliance.ingest.claims import Waiting
from appliance.ingest.finishing import Stored
from appliance.ingest.models import Mode
from appliance.ingest.reader import Reader
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import Read


class Keeping:
    """The bytes of one claimed file on their way to where they stay."""

    def __init__(self, settings: Settings, database: Database, claimed: Claimed) -> None:
        self.home = settings.home
        self.database = database
        self.claimed = claimed.id
        self.waiting: Waiting = claimed.row
        self.in_place = Mode(self.waiting.mode) is Mode.IN_PLACE
        self.copy = os.fsencode(self.home.tmp / f"import-{claimed.id}-{claimed.claim.hex}")

    def copy_to(self) -> bytes | None:
        """Where reading it shall write a copy; None where it needs none."""
        linked = self.waiting.uploaded and self._linked()
        return None if self.in_place or linked else self.copy

    def _linked(self) -> bool:
        """A sent file is ours and synced already: a second name for it is as good as a copy, at no cost."""
        try:
            os.link(self.waiting.absolute, self.copy)
            # What lies among the temporary files for an hour is swept, and this file may be old.
            os.utime(self.copy)
        except OSError:
            self.forget_copy()
            return False
        return True

    async def store(self, child: Reader, read: Read) -> Stored:
        """In place: the file stays where it is. Else: the copy gets its final, content-named place."""
        if self.in_place:
            return Stored(self.waiting.root_id, self.waiting.path, read.size, read.mtime_ns)
        # Named by content alone, so that the same bytes under two names are one file.
        final = self.home.original(read.sha256, f".{read.sniffed.extension}")
        await child.place(self.copy, os.fsencode(final))
        relative = os.fsencode(final.relative_to(self.home.originals))
        return Stored(None, relative, read.size, read.mtime_ns)

    async def release_source(self, child: Reader, read: Read) -> None:
        """Only after the commit, and only the very file that was read."""
        try:
            await child.remove_source(self.waiting.absolute, read.stat)
        except MediaFailure as failure:
            # Somebody else took it away: that is as good.
            if failure.reason is not Reason.VANISHED:
                await self._note_source(failure)

    async def _note_source(self, failure: MediaFailure) -> None:
        detail = f"{finishing.SOURCE_STAYED}: {failure.detail or failure.reason}"[:500]
        async with self.database.unit_of_work() as uow:
            await uow.sql.execute(
                "UPDATE import_batch SET stayed = stayed + 1 WHERE id = $1", self.waiting.batch_id
            )
            # The list of the import says it of each file, the entry for as long as it stays.
            await uow.sql.execute("UPDATE import_task SET detail = $2 WHERE id = $1", self.claimed, detail)
            await uow.sql.execute(
                "UPDATE root_entry SET detail = $2 WHERE id = $1", self.waiting.entry_id, detail
            )

    def forget_copy(self) -> None:
        """Drop what was not given its final name."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.copy)
