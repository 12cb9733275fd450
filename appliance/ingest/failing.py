"""The end of a file that is no asset: a failure to list, or something that is passed over."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from appliance.core.db import Database
from appliance.core.drains import Claimed
from appliance.ingest import describing, finishing, resting, sidecar_names, vanished
from appliance.ingest.models import Mode
from appliance.ingest.naming import announces_media, classify
from appliance.ingest.reader import Lend
from appliance.media.decoder import ChildDied, StorageSilent
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import Described, Stat


if TYPE_CHECKING:
    from appliance.ingest.claims import Waiting


@dataclass
class Progress:
    """How far one file has come; decides what its failure counts as."""

    hashed: bool = False
    decoded: bool = False
    stays: bool = False
    """It is the picture that lay here before, saved again."""


async def note(
    database: Database, claimed: Claimed, lend: Lend, failure: MediaFailure, progress: Progress
) -> str:
    """End the import of a file that was refused; what describes another file is read now."""
    waiting: Waiting = claimed.row
    reason, skipped = classify(waiting.path, failure.reason)
    try:
        described = await _describe(waiting, lend) if reason is Reason.SIDECAR else None
    except MediaFailure as changed:
        if changed.reason is not Reason.CHANGED:
            raise
        return await wait(database, claimed, changed)
    async with database.unit_of_work() as uow:
        if described:
            # Families, tags and assets before the rows of the batch, as everywhere.
            await describing.keep(uow, waiting, described)
            if described.damaged and announces_media(sidecar_names.about(waiting.path)):
                reason, skipped = Reason.CORRUPT, False
        detail = (described.problem or "") if described else failure.detail
        ours = await finishing.ended(
            uow.sql,
            claimed,
            reason,
            detail,
            skipped=skipped,
            hashed=progress.hashed,
            decoded=progress.decoded,
        )
        if not ours:
            await uow.connection.rollback()
        elif reason in vanished.SEEN:
            in_place = waiting.mode == Mode.IN_PLACE
            await (vanished.spoilt if in_place else vanished.written_over)(uow.sql, waiting.entry_id)
    if skipped and waiting.uploaded:
        # Nobody looks for it in our folder, and trying again would come to the same.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(waiting.absolute)
    return "skipped" if skipped else "failed"


async def wait(database: Database, claimed: Claimed, changed: MediaFailure) -> str:
    """Look again later at a file that is still being written: not its fault, and nothing to list."""
    async with database.unit_of_work() as uow:
        await resting.postponed(uow.sql, claimed, changed.seen)
    return "waits"


async def _describe(waiting: Waiting, lend: Lend) -> Described | None:
    """Read a file that describes another one; None for names of which nothing is read.

    It must be what the scan saw: half of it would be taken for all that it says until the next scan.
    """
    kind = sidecar_names.kind_of(waiting.path)
    if kind is None:
        return None
    # What was sent lies in our folder, where nobody writes to it and a link gives it another time.
    seen = None if waiting.uploaded else Stat(waiting.size, waiting.mtime_ns)
    try:
        async with lend() as child:
            return await child.describe(waiting.absolute, kind, expect=seen)
    except MediaFailure as failure:
        if isinstance(failure, StorageSilent) or failure.reason is Reason.CHANGED:
            raise
        return Described(b"", None, str(failure))
    except ChildDied as death:
        if death.reason is Reason.CRASHED:
            raise
        # What costs too much to read costs its own words.
        return Described(b"", None, str(death))
