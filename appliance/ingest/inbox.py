"""The failure inbox: files that could not be read, for as long as they cannot.

Nothing in it is tried again by itself while the file is unchanged; a person may, one by one or by class.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core import db
from appliance.core.errors import NotFound
from appliance.ingest import again, looking, services
from appliance.ingest.identity import OTHER
from appliance.ingest.models import Mode
from appliance.ingest.services import Place


if TYPE_CHECKING:
    from asyncpg import Connection

    from appliance.core.db import UnitOfWork


MOST = 1_000
"""Above this a class is counted as "more than": the page must cost the same at any size."""
SAMPLES = 1


class Failure(msgspec.Struct, frozen=True):
    """One file that could not be read."""

    id: int
    root: bytes
    purpose: str
    path: bytes
    size: int
    reason: str
    detail: str | None

    @property
    def shown(self) -> bytes:
        """What people know it by: of a sent file not the folder that we made for it."""
        return self.path.partition(b"/")[2] or self.path if self.purpose == "uploads" else self.path

    @property
    def absolute(self) -> bytes:
        """Where it lies."""
        return self.root if self.path == b"." else self.root + b"/" + self.path


class Group(msgspec.Struct, frozen=True):
    """All failed files of one class, with the first of them."""

    reason: str
    count: int
    sent: bool
    """Whether uploaded files are among them, which ignoring deletes."""
    samples: list[Failure]

    @property
    def more(self) -> bool:
        """True where counting stopped."""
        return self.count > MOST


# Bounds of a class as rows of its index: with a plain equality the planner may prefer to walk all entries
# by their id in the hope of meeting some of the class soon.
_LAST_ID = 2**63 - 1
_OF_KIND = f"(e.reason, e.id) >= (kind.reason, 0) AND (e.reason, e.id) <= (kind.reason, {_LAST_ID})"
# The classes by hopping through the index: twenty looks at most, however many files failed.
_GROUPS = f"""
WITH RECURSIVE kind AS (
    (SELECT reason FROM root_entry WHERE outcome = 'failed' AND NOT ignored ORDER BY reason LIMIT 1)
    UNION ALL
    SELECT (SELECT reason FROM root_entry WHERE outcome = 'failed' AND NOT ignored AND reason > kind.reason
            ORDER BY reason LIMIT 1)
    FROM kind WHERE kind.reason IS NOT NULL
)
SELECT kind.reason, c.files, c.sent, f.id, r.path, r.purpose, f.path, f.size, kind.reason, f.detail
FROM kind,
LATERAL (SELECT count(*) AS files,
            coalesce(bool_or(root_id = (SELECT id FROM root WHERE purpose = 'uploads')), false) AS sent
         FROM (
    SELECT root_id FROM root_entry e WHERE outcome = 'failed' AND NOT ignored AND {_OF_KIND}
    ORDER BY e.reason, e.id LIMIT {MOST + 1}) counted) c,
LATERAL (SELECT id, root_id, path, size, detail FROM root_entry e
         WHERE outcome = 'failed' AND NOT ignored AND {_OF_KIND}
         ORDER BY e.reason, e.id LIMIT {SAMPLES}) f
JOIN root r ON r.id = f.root_id
WHERE kind.reason IS NOT NULL
ORDER BY c.files DESC, kind.reason, f.id
"""


async def groups(sql: Connection[Any]) -> list[Group]:
    """The inbox by class, largest first; one statement."""
    found: dict[str, Group] = {}
    for reason, count, sent, *first in await sql.fetch(_GROUPS):
        group = found.setdefault(reason, Group(reason, count, sent, []))
        group.samples.append(Failure(*first))
    return list(found.values())


_FILES = f"""
SELECT e.id, r.path AS root, r.purpose, e.path, e.size, e.reason, e.detail
FROM (SELECT * FROM root_entry WHERE outcome = 'failed' AND NOT ignored
          AND (reason, id) > ($1::text, $2) AND (reason, id) <= ($1::text, {_LAST_ID})
      ORDER BY reason, id LIMIT $3) e
JOIN root r ON r.id = e.root_id ORDER BY e.id
"""
_IGNORED = """
SELECT e.id, r.path AS root, r.purpose, e.path, e.size, coalesce(e.reason, '') AS reason, e.detail
FROM (SELECT * FROM root_entry WHERE ignored AND id > $1
          AND root_id NOT IN (SELECT id FROM root WHERE purpose = 'uploads') ORDER BY id LIMIT $2) e
JOIN root r ON r.id = e.root_id ORDER BY e.id
"""


async def files(sql: Connection[Any], reason: str, limit: int, *, after: int = 0) -> list[Failure]:
    """Files of one class; `after` is the last one shown."""
    return [Failure(*row) for row in await sql.fetch(_FILES, reason, after, limit)]


async def ignored(sql: Connection[Any], limit: int, *, after: int = 0) -> list[Failure]:
    """Files that a person told us to leave alone."""
    return [Failure(*row) for row in await sql.fetch(_IGNORED, after, limit)]


async def any_ignored(sql: Connection[Any]) -> bool:
    """Whether there is one."""
    found: bool = await sql.fetchval("SELECT EXISTS (SELECT 1 FROM root_entry WHERE ignored)")
    return found


class Which(msgspec.Struct, frozen=True):
    """What is meant: one file, all of a class, or all there are."""

    id: int | None = None
    reason: str | None = None


_MEANT = """
e.outcome = 'failed' AND NOT e.ignored
    AND ($1::bigint IS NULL OR e.id = $1) AND ($2::text IS NULL OR e.reason = $2)
"""
# A folder that could not be opened stands among the files, without size and time.
_FOLDER = "(e.reason = 'unreadable' AND e.size = 0 AND e.mtime_ns = 0 AND e.inode = 0)"


class Away(msgspec.Struct, frozen=True):
    """Files that cannot be tried now, and why."""

    root: bytes
    count: int
    cause: str


class Retried(msgspec.Struct, frozen=True):
    """What became of the wish to try again."""

    queued: int
    folders: int
    """Folders that are looked at again as a whole."""
    away: list[Away]


async def retry(which: Which) -> Retried:
    """Try files again: tasks in one batch for each root that is there; the others say why not."""
    async with db.unit_of_work() as uow:
        found = await _roots_of(uow.sql, which)
    if not found:
        raise NotFound("Nothing of that kind is in the inbox", "It may have been dealt with in the meantime.")
    away = await _not_there(found)
    there = [r["id"] for r in found if r["path"] not in away]
    async with db.unit_of_work() as uow:
        queued, folders = await _queue(uow, which, there)
    missing = [Away(r["path"], r["files"], away[r["path"]]) for r in found if r["path"] in away]
    return Retried(queued, folders, missing)


async def _roots_of(sql: Connection[Any], which: Which) -> Sequence[Any]:
    rows: Sequence[Any] = await sql.fetch(
        f"SELECT r.id, r.path, r.status, r.reason, m.files FROM (SELECT e.root_id, count(*) AS files"
        f" FROM root_entry e WHERE {_MEANT} GROUP BY e.root_id) m JOIN root r ON r.id = m.root_id ORDER BY 1",
        which.id,
        which.reason,
    )
    return rows


async def _not_there(found: Sequence[Any]) -> dict[bytes, str]:
    """Trying a file of a disk that is unplugged would only change its failure into another."""
    causes = {r["path"]: "it was taken out of the library" for r in found if r["status"] == "retired"}
    causes |= {r["path"]: OTHER for r in found if r["status"] == "unavailable" and r["reason"] == OTHER}
    return causes | await looking.away([r["path"] for r in found if r["path"] not in causes])


async def _queue(uow: UnitOfWork, which: Which, roots: list[int]) -> tuple[int, int]:
    roots = await services.hold_roots(uow.sql, roots)
    await again.hold_walks(uow.sql)
    folders = await _look_again(uow, which, roots)
    files = f"{_MEANT} AND e.root_id = ANY($3::bigint[]) AND NOT {_FOLDER}"
    queued = await again.queue(uow, files, which.id, which.reason, roots)
    await uow.sql.execute(
        "UPDATE root SET status = 'ready', reason = NULL"
        " WHERE id = ANY($1::bigint[]) AND status = 'unavailable'",
        list(queued),
    )
    return sum(queued.values()), folders


async def _look_again(uow: UnitOfWork, which: Which, roots: list[int]) -> int:
    rows = await uow.sql.fetch(
        f"SELECT r.id, r.path, r.mode, count(*) AS folders FROM root_entry e JOIN root r ON r.id = e.root_id"
        f" WHERE {_MEANT} AND e.root_id = ANY($3::bigint[]) AND {_FOLDER} GROUP BY r.id",
        which.id,
        which.reason,
        roots,
    )
    for row in rows:
        await services.queue_scan(uow, Place(row["id"], row["path"], Mode(row["mode"]), b"", new=False))
    return sum(row["folders"] for row in rows)


async def ignore(which: Which) -> int:
    """Leave files alone for good, as long as they stay as they are; how many.

    What was uploaded has no other place: its file is deleted.
    """
    async with db.unit_of_work() as uow:
        await again.hold_walks(uow.sql)
        rows = await uow.sql.fetch(
            f"UPDATE root_entry e SET ignored = true FROM root r WHERE r.id = e.root_id AND {_MEANT}"
            " RETURNING CASE WHEN r.purpose = 'uploads' THEN r.path || '/'::bytea || e.path END AS sent",
            which.id,
            which.reason,
        )
    sent = [r["sent"] for r in rows if r["sent"] is not None]
    await asyncio.to_thread(_delete, sent)
    return len(rows)


def _delete(paths: Sequence[bytes]) -> None:
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        # The folder that was made for this one file.
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(path))


async def take_back(which: Which) -> int:
    """Put ignored files back into the inbox; how many."""
    async with db.unit_of_work() as uow:
        await again.hold_walks(uow.sql)
        rows = await uow.sql.fetch(
            "UPDATE root_entry e SET ignored = false FROM root r WHERE r.id = e.root_id AND e.ignored"
            " AND r.purpose <> 'uploads' AND ($1::bigint IS NULL OR e.id = $1) RETURNING e.id",
            which.id,
        )
    return len(rows)
