"""Uploads as rows: a batch for each session of sending, one row for each file on its way."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appliance.core import names
from appliance.core.db import UnitOfWork
from appliance.core.errors import Conflict, NotFound
from appliance.core.paths import Home
from appliance.ingest import parts, sentnames, services
from appliance.ingest.facts import FilesFound
from appliance.ingest.parts import NoPart, Part


if TYPE_CHECKING:
    from asyncpg import Connection


# Serialises "has this person a session that is open": three files of a program that come at once share one.
SESSIONS_LOCK = 8_420_003
ABANDONED = timedelta(hours=24)
"""An unfinished file that nobody sent anything of for so long is dropped."""
QUIET, PATIENT = timedelta(minutes=5), timedelta(hours=1)
"""A session without a word is over after QUIET, and after PATIENT while it has unfinished files."""
TITLE = 100


@dataclass(frozen=True, slots=True)
class Sending:
    """One file on its way."""

    id: int
    token: str
    batch_id: int
    user_id: int | None
    name: str
    size: int
    received: int
    status: str

    @property
    def entry_path(self) -> str:
        """Where the complete file lies in the uploads folder; the same at each try."""
        return f"{self.token}/{sentnames.safe(self.name)}"


_SENDING = "SELECT id, token, batch_id, user_id, name, size, received, status FROM upload"


async def open_batch(uow: UnitOfWork, home: Home, title: str) -> int:
    """Begin a session of sending."""
    root_id = await _root(uow, home)
    batch_id: int = await uow.sql.fetchval(
        "INSERT INTO import_batch (root_id, mode, cause, status, interactive, title)"
        " VALUES ($1, 'move', 'upload', 'importing', true, $2) RETURNING id",
        root_id,
        names.display(title.encode("utf-8", "replace"))[:TITLE],
    )
    return batch_id


async def _root(uow: UnitOfWork, home: Home) -> int:
    """The hidden root of sent files; it moves with the data directory and is never out of reach for long."""
    root_id: int = await uow.sql.fetchval(
        "INSERT INTO root (path, mode, purpose) VALUES ($1, 'move', 'uploads')"
        " ON CONFLICT (purpose) WHERE purpose = 'uploads'"
        " DO UPDATE SET path = excluded.path, status = 'ready', reason = NULL RETURNING id",
        bytes(parts.folder(home)),
    )
    return root_id


async def session_of(uow: UnitOfWork, home: Home, *, user_id: int, title: str) -> int:
    """The open session of a person's program that names none, or a new one."""
    await uow.sql.execute("SELECT pg_advisory_xact_lock($1)", SESSIONS_LOCK)
    batch_id: int | None = await uow.sql.fetchval(
        "SELECT b.id FROM import_batch b WHERE b.status = 'importing' AND b.cause = 'upload'"
        " AND b.walked_at IS NULL AND b.title = $2"
        " AND EXISTS (SELECT 1 FROM upload u WHERE u.batch_id = b.id AND u.user_id = $1)"
        " ORDER BY b.id DESC LIMIT 1",
        user_id,
        title,
    )
    return batch_id or await open_batch(uow, home, title)


async def begin(
    uow: UnitOfWork,
    batch_id: int,
    *,
    name: str,
    size: int,
    user_id: int | None,
    modified_ms: int | None = None,
    token: str | None = None,
) -> Sending:
    """Note that a file is about to be sent."""
    if not await _takes_files(uow.sql, batch_id):
        batch_id = await _reopened(uow.sql, batch_id)
    row = await uow.sql.fetchrow(
        "INSERT INTO upload (token, batch_id, user_id, name, size, modified_ms)"
        " VALUES ($1, $2, $3, $4, $5, $6)"
        " RETURNING id, token, batch_id, user_id, name, size, received, status",
        token or new_token(),
        batch_id,
        user_id,
        name,
        size,
        modified_ms,
    )
    assert row is not None  # noqa: S101 - an INSERT without condition returns its row
    return Sending(*row)


def new_token() -> str:
    """The name of an upload in addresses; nobody guesses it."""
    return secrets.token_urlsafe(18)


async def _takes_files(sql: Connection[Any], batch_id: int) -> bool:
    """Whether a session still takes files; it cannot be closed until this transaction ends."""
    row = await sql.fetchrow(
        "SELECT status = 'importing' AND walked_at IS NULL AS open FROM import_batch"
        " WHERE id = $1 AND cause = 'upload' FOR UPDATE",
        batch_id,
    )
    if row is None:
        raise NotFound("There is no such upload session")
    return bool(row["open"])


async def _reopened(sql: Connection[Any], batch_id: int) -> int:
    """A later batch like a closed one: a phone that slept for hours goes on where it was.

    The caller holds the closed one's row, so that all files that come back share the later one.
    """
    opened: int | None = await sql.fetchval(
        "SELECT b.id FROM import_batch b, import_batch old WHERE old.id = $1 AND b.id > $1"
        " AND b.status = 'importing' AND b.cause = 'upload' AND b.walked_at IS NULL"
        " AND b.title IS NOT DISTINCT FROM old.title ORDER BY b.id LIMIT 1 FOR UPDATE OF b",
        batch_id,
    )
    return opened or await sql.fetchval(
        "INSERT INTO import_batch (root_id, mode, cause, status, interactive, title)"
        " SELECT root_id, mode, cause, 'importing', true, title FROM import_batch WHERE id = $1 RETURNING id",
        batch_id,
    )


async def find(sql: Connection[Any], token: str) -> Sending:
    """An upload by its address."""
    row = await sql.fetchrow(f"{_SENDING} WHERE token = $1", token)
    if row is None or row["status"] == "abandoned":
        raise NotFound("There is no such upload", "It was cancelled, or nothing came for a day.")
    return Sending(*row)


async def note(sql: Connection[Any], sending: Sending, synced: int | None = None) -> bool:
    """Say that bytes come in and how many are safe; False when nobody wants the rest any more."""
    wanted: int | None = await sql.fetchval(
        "UPDATE upload SET touched_at = now(), received = greatest(received, coalesce($2, received))"
        " WHERE id = $1 AND status = 'receiving' RETURNING 1",
        sending.id,
        synced,
    )
    return wanted is not None


def place(home: Home, sending: Sending, part: Part | None) -> tuple[Path, Any]:
    """Give a complete file its name, or find that an earlier try has done so."""
    final = home.uploads / sending.entry_path
    if part is not None:
        return final, part.place(final)
    try:
        return final, final.stat()
    except FileNotFoundError:
        raise NoPart("The bytes of this upload are not there any more", "Send the file again.") from None


async def complete(uow: UnitOfWork, sending: Sending, stat: Any) -> bool:
    """Hand a complete file to the import, once; False when that was done already."""
    batch_id = sending.batch_id
    if not await _takes_files(uow.sql, batch_id):
        batch_id = await _reopened(uow.sql, batch_id)
    entry_id = await uow.sql.fetchval(
        _COMPLETE,
        sending.id,
        batch_id,
        sending.entry_path.encode("ascii"),
        stat.st_size,
        stat.st_mtime_ns,
        stat.st_ino % 2**63,
    )
    uow.record(FilesFound())
    return entry_id is not None


_COMPLETE = """
WITH mine AS (
    SELECT u.id, b.id AS batch_id, b.root_id FROM upload u, import_batch b
    WHERE u.id = $1 AND u.status = 'receiving' AND b.id = $2 FOR UPDATE OF u
), entry AS (
    INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, outcome, seen_batch)
    SELECT root_id, $3, $4, $5, $6, 'pending', $2 FROM mine
    RETURNING id, root_id
), task AS (
    INSERT INTO import_task (batch_id, root_id, entry_id) SELECT $2, root_id, id FROM entry
), counted AS (
    UPDATE import_batch b SET files = b.files + 1 FROM entry WHERE b.id = $2
)
UPDATE upload SET status = 'received', received = $4, touched_at = now(), batch_id = $2, entry_id = entry.id
FROM entry WHERE upload.id = $1
RETURNING entry_id
"""


async def cancel(sql: Connection[Any], sending: Sending) -> None:
    """Give an unfinished file up."""
    gone = await sql.fetchval(
        "UPDATE upload SET status = 'abandoned', touched_at = now()"
        " WHERE id = $1 AND status = 'receiving' RETURNING 1",
        sending.id,
    )
    if gone is None:
        raise Conflict("This file has arrived already", "It can be put in the trash like any other.")


async def is_abandoned(sql: Connection[Any], sending: Sending) -> bool:
    """Whether it was given up in the meantime."""
    return bool(await sql.fetchval("SELECT status = 'abandoned' FROM upload WHERE id = $1", sending.id))


async def seal(uow: UnitOfWork, batch_id: int) -> None:
    """That is all: the session is over once its files are imported."""
    known = await uow.sql.fetchval(
        "UPDATE import_batch SET walked_at = coalesce(walked_at, now())"
        " WHERE id = $1 AND cause = 'upload' RETURNING 1",
        batch_id,
    )
    if known is None:
        raise NotFound("There is no such upload session")
    await services.close_batches(uow.sql)


async def seal_silent(sql: Connection[Any]) -> int:
    """End sessions whose sender went away without a word."""
    done: str = await sql.execute(
        """
        UPDATE import_batch b SET walked_at = now()
        WHERE b.status = 'importing' AND b.cause = 'upload' AND b.walked_at IS NULL
          AND b.queued_at < now() - $1::interval
          AND NOT EXISTS (SELECT 1 FROM upload u WHERE u.batch_id = b.id AND u.touched_at >
              now() - CASE u.status WHEN 'receiving' THEN $2::interval ELSE $1::interval END)
        """,
        QUIET,
        PATIENT,
    )
    return int(done.rpartition(" ")[2])


async def find_again(sql: Connection[Any]) -> None:
    """A disk that hung for a moment has closed our own folder: no scan would ever open it again."""
    await sql.execute(
        "UPDATE root SET status = 'ready', reason = NULL WHERE purpose = 'uploads' AND status = 'unavailable'"
    )
