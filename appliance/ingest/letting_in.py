"""Files that were kept out because of a deletion: listed for as long as they are, and let in on request."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core import names
from appliance.core.errors import Conflict, NotFound
from appliance.duplicates import services as duplicates
from appliance.ingest import again


if TYPE_CHECKING:
    from asyncpg import Connection

    from appliance.core.db import UnitOfWork


CHUNK = 5_000
KEPT_OUT = "e.outcome = 'skipped' AND e.reason = 'tombstoned'"
"""SQL: an entry `e` that a deletion keeps out; the partial indexes say it in the same words."""


class Excluded(msgspec.Struct, frozen=True):
    """One file that was kept out."""

    id: int
    root: bytes
    purpose: str
    path: bytes
    size: int
    detail: str | None
    """What it is or looks like; None where it is itself what was deleted."""

    @property
    def name(self) -> str:
        """What people know it by."""
        return names.display(os.path.basename(self.path))


async def files(sql: Connection[Any], limit: int, *, before: int | None = None) -> list[Excluded]:
    """Newest first, in pages by number."""
    rows = await sql.fetch(
        "SELECT e.id, r.path AS root, r.purpose, e.path, e.size, e.detail FROM ("
        f" SELECT * FROM root_entry e WHERE {KEPT_OUT} AND id < $1 ORDER BY id DESC LIMIT $2) e"
        " JOIN root r ON r.id = e.root_id ORDER BY e.id DESC",
        before or 2**63 - 1,
        limit,
    )
    return [Excluded(*row) for row in rows]


async def let_in(uow: UnitOfWork, entry_id: int, *, person: int | None) -> str:
    """Bring one file in anyway; its name. The content stays welcome, whatever it looks like."""
    row = await uow.sql.fetchrow(
        "SELECT e.path, e.sha256, e.size, r.status FROM root_entry e JOIN root r ON r.id = e.root_id"
        f" WHERE e.id = $1 AND {KEPT_OUT} FOR NO KEY UPDATE OF r",
        entry_id,
    )
    if row is None:
        raise NotFound("This file is not kept out any more", "It may have been let in already.")
    if row["status"] != "ready":
        raise Conflict("Its folder cannot be reached at the moment", "Nothing was changed.")
    if row["sha256"] is not None:
        await duplicates.welcome(uow.sql, row["sha256"], row["size"], person=person)
    await _queue(uow, [entry_id])
    return names.display(os.path.basename(row["path"]))


async def forget(uow: UnitOfWork, tombstone_id: int, *, person: int | None) -> tuple[str, int]:
    """Forget one deletion: the name of what it was, and how many files come in again by that."""
    found = await duplicates.lift(uow.sql, tombstone_id)
    if found is None:
        raise NotFound("This deletion is not remembered any more")
    rows = await uow.sql.fetch(
        "SELECT e.id FROM root_entry e JOIN root r ON r.id = e.root_id AND r.status = 'ready'"
        f" WHERE e.sha256 = $1 AND e.size = $2 AND {KEPT_OUT} ORDER BY r.id FOR NO KEY UPDATE OF r",
        found.sha256,
        found.size,
    )
    if rows:
        # The files themselves are wanted back, not only what looks like them.
        await duplicates.welcome(uow.sql, found.sha256, found.size, person=person)
        await _queue(uow, [row["id"] for row in rows])
    return found.name, len(rows)


async def look_again(uow: UnitOfWork, after: int) -> tuple[int, int]:
    """Have the next files judged anew that were kept out by their look: how many, and the last of them.

    What they looked like may have come back from the trash, or its deletion may be forgotten.
    """
    rows = await uow.sql.fetch(
        "SELECT e.id FROM root_entry e JOIN root r ON r.id = e.root_id AND r.status = 'ready'"
        f" WHERE {KEPT_OUT} AND e.detail IS NOT NULL AND e.id > $1 ORDER BY e.id LIMIT $2",
        after,
        CHUNK,
    )
    if rows:
        await _queue(uow, [row["id"] for row in rows])
    return len(rows), rows[-1]["id"] if rows else 0


async def _queue(uow: UnitOfWork, entry_ids: Sequence[int]) -> None:
    await again.hold_walks(uow.sql)
    await again.queue(uow, f"e.id = ANY($1::bigint[]) AND {KEPT_OUT}", entry_ids)
