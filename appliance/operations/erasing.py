"""The one way by which a file of the person's own folders is removed: a single one, asked for by name."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core import names
from appliance.core.db import UnitOfWork
from appliance.core.errors import Conflict, Invalid, NotFound
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.storing import remove_source
from appliance.media.wire import Stat
from appliance.operations import services
from appliance.operations.kinds import Kind
from appliance.operations.services import Asked


if TYPE_CHECKING:
    from asyncpg import Connection


class Erasable(msgspec.Struct, frozen=True):
    """A file under a folder that is shown in place; `refusal` says why it cannot be removed."""

    id: int
    path: bytes
    size: int
    mtime_ns: int
    refusal: str | None

    @property
    def name(self) -> str:
        """What has to be typed."""
        return names.display(os.path.basename(self.path))


async def erasable(sql: Connection[Any], asset_id: int) -> list[Erasable]:
    """The files of an asset that lie in the person's own folders.

    Sources of `copy` and `move` are not among them: what an import read is never touched again.
    """
    rows = await sql.fetch(
        "SELECT f.id, r.path AS root, f.path, f.size, f.mtime_ns, r.mode, r.status FROM asset_file f"
        " JOIN root r ON r.id = f.root_id WHERE f.asset_id = $1 AND r.mode = 'in_place' ORDER BY f.id",
        asset_id,
    )
    return [_erasable(row) for row in rows]


def _erasable(row: Any) -> Erasable:
    path = row["root"].rstrip(b"/") + b"/" + row["path"]
    return Erasable(row["id"], path, row["size"], row["mtime_ns"], _refusal(path, row["status"]))


def _refusal(path: bytes, status: str) -> str | None:
    if status != "ready":
        return "Its folder cannot be reached at the moment."
    if not os.path.lexists(path):
        return "It is not there any more."
    if not os.access(os.path.dirname(path), os.W_OK | os.X_OK):
        return "Vitrine may only read its folder."
    return None


async def erase(
    uow: UnitOfWork, asset_id: int, file_id: int, typed: str, *, person: int | None
) -> tuple[Asked, str | None]:
    """Delete one asset for good and this file of it; what could not be done, in words.

    Commits in between: the file goes only after the row is gone for good, and only while it is the
    very file that was imported.
    """
    state = await uow.sql.fetchval("SELECT state FROM asset WHERE id = $1", asset_id)
    if state is None:
        raise NotFound("There is no such picture", "It may have been deleted for good.")
    if state != "trashed":
        raise Conflict("Only what lies in the trash is deleted for good", "Move it to the trash first.")
    found = next((f for f in await erasable(uow.sql, asset_id) if f.id == file_id), None)
    if found is None:
        raise NotFound("There is no such file of this picture")
    if found.refusal:
        raise Conflict(f"{found.name} cannot be removed", found.refusal)
    if typed.strip() != found.name:
        raise Invalid(f"Type {found.name} to confirm", "Nothing was deleted.")
    wish = {"file": names.display(found.path)}
    asked = await services.act(uow, Kind.PURGE, [asset_id], wish, person=person)
    await uow.commit()
    await services.unlink(asked.doomed)
    return asked, await asyncio.to_thread(_remove, found)


def _remove(found: Erasable) -> str | None:
    try:
        remove_source(found.path, Stat(found.size, found.mtime_ns))
    except MediaFailure as failure:
        if failure.reason is Reason.CHANGED:
            return "The file on the disk is another one by now; it was left alone."
        return f"The file could not be removed: {failure.detail}."
    return None
