"""Files that are not brought in because they, or something that they look like, were deleted here."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Protocol

from appliance.core.db import Database
from appliance.core.drains import Claimed
from appliance.core.paths import Home
from appliance.duplicates import services as duplicates
from appliance.duplicates.services import Deleted
from appliance.ingest import finishing, vanished
from appliance.ingest.finishing import TakenOver
from appliance.media.reasons import Reason
from appliance.media.wire import GRID_240, GRID_480, Decoded, Frame, Read


if TYPE_CHECKING:
    from asyncpg import Connection

    from appliance.ingest.claims import Waiting


class Framer(Protocol):
    """The part of a decode child that tells films apart."""

    async def frames(self, count: int) -> list[Frame]:
        """Hash frames of the open film."""


class KeptOut(Exception):
    """The file in hand is not wanted any more; nothing of it is stored."""

    def __init__(self, read: Read, deleted: Deleted) -> None:
        super().__init__(deleted.plain)
        self.read = read
        self.deleted = deleted


async def check_content(sql: Connection[Any], read: Read) -> None:
    """Refuse the very content that was deleted for good, before it is decoded."""
    deleted = await duplicates.exactly(sql, read.sha256, read.size)
    if deleted is not None:
        raise KeptOut(read, deleted)


async def check_look(database: Database, child: Framer, read: Read, decoded: Decoded) -> None:
    """Refuse a copy of something deleted; frames of a film are looked at where it may be one."""
    async with database.one_statement() as sql:
        deleted = await duplicates.alike(sql, read.sha256, read.size, decoded)
        suspects = await duplicates.films(sql, read.sha256, read.size, decoded)
    if suspects is not None:
        frames = await child.frames(duplicates.FRAMES)
        async with database.one_statement() as sql:
            deleted = await duplicates.film(sql, suspects, frames)
    if deleted is not None:
        raise KeptOut(read, deleted)


async def write_down(
    database: Database, home: Home, claimed: Claimed, kept: KeptOut, *, decoded: bool
) -> str:
    """End the import as skipped, and say why; the entry learns its content, so that it can be let in."""
    waiting: Waiting = claimed.row
    async with database.unit_of_work() as uow:
        ours = await finishing.ended(
            uow.sql,
            claimed,
            Reason.TOMBSTONED,
            kept.deleted.plain,
            skipped=True,
            hashed=True,
            decoded=decoded,
        )
        if not ours:
            raise TakenOver
        await uow.sql.execute(
            "UPDATE root_entry SET sha256 = $2, size = $3, mtime_ns = $4 WHERE id = $1",
            waiting.entry_id,
            kept.read.sha256,
            kept.read.size,
            kept.read.mtime_ns,
        )
        await vanished.written_over(uow.sql, waiting.entry_id)
    if decoded:
        _forget_pictures(home, kept.read.sha256)
    return "skipped"


def _forget_pictures(home: Home, sha256: bytes) -> None:
    for name in (GRID_240, GRID_480):
        home.rendition(sha256, name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        home.rendition(sha256, GRID_240).parent.rmdir()
