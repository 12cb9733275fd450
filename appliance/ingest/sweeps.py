"""The uploads folder kept in order: what arrived whole is handed over, what nobody wants is dropped."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appliance.core import clock, db
from appliance.core.errors import VitrineError
from appliance.core.paths import Home
from appliance.ingest import parts, uploads
from appliance.ingest.parts import NoPart, Part
from appliance.ingest.uploads import ABANDONED, Sending


if TYPE_CHECKING:
    from asyncpg import Connection


MANY = 500
EMPTY_S = 3600
"""A folder that is empty for so long waits for no file."""


async def hand_over_arrived(home: Home) -> int:
    """Complete files whose last step was cut off: all bytes are there, and no import knows of them."""
    async with db.unit_of_work() as uow:
        rows = await uow.sql.fetch(
            "SELECT id, token, batch_id, user_id, name, size, received, status FROM upload"
            " WHERE status = 'receiving' AND touched_at < now() - interval '1 minute'"
            " ORDER BY touched_at LIMIT $1",
            MANY,
        )
    return sum([await _handed_over(home, Sending(*row)) for row in rows])


async def _handed_over(home: Home, sending: Sending) -> bool:
    try:
        return await finish_if_whole(home, sending)
    except VitrineError:
        # Still being sent, or never begun: not ours to judge.
        return False


async def finish_if_whole(home: Home, sending: Sending) -> bool:
    """Hand a file over when all its bytes are there."""
    try:
        part: Part | None = await asyncio.to_thread(Part.opened, home, sending.token)
    except NoPart:
        part = None
    try:
        if part is not None and part.size < sending.size:
            return False
        _final, stat = await asyncio.to_thread(uploads.place, home, sending, part)
        async with db.unit_of_work() as uow:
            return await uploads.complete(uow, sending, stat)
    finally:
        if part is not None:
            part.close()


async def drop_abandoned(home: Home) -> int:
    """Forget files that nobody sent anything of for a day."""
    async with db.unit_of_work() as uow:
        rows = await uow.sql.fetch(
            "UPDATE upload SET status = 'abandoned' WHERE id = ANY(ARRAY("
            " SELECT id FROM upload WHERE status = 'receiving' AND touched_at < now() - $1::interval"
            " ORDER BY touched_at LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING token",
            ABANDONED,
            MANY,
        )
    for row in rows:
        await asyncio.to_thread(parts.remove, home, row["token"])
    return len(rows)


async def drop_ignored(home: Home) -> int:
    """Delete sent files that a person never wants to see again; they lie nowhere but with us."""
    async with db.unit_of_work() as uow:
        rows = await uow.sql.fetch(
            "SELECT e.id, e.path FROM root_entry e JOIN root r ON r.id = e.root_id"
            " WHERE r.purpose = 'uploads' AND e.ignored LIMIT $1",
            MANY,
        )
        for row in rows:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.fsencode(home.uploads) + b"/" + row["path"])
        await uow.sql.execute("DELETE FROM root_entry WHERE id = ANY($1::bigint[])", [r["id"] for r in rows])
    return len(rows)


async def drop_left_behind(sql: Connection[Any], home: Home) -> int:
    """Remove files whose import ended well while its worker died before it could remove them itself."""
    found = await asyncio.to_thread(_resting, home.uploads)
    dropped = 0
    for at in range(0, len(found), MANY):
        some = found[at : at + MANY]
        rows = await sql.fetch(_LEFT_BEHIND, some, [p.partition(b"/")[0].decode("ascii") for p in some])
        for row in rows:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.fsencode(home.uploads) + b"/" + row["path"])
        dropped += len(rows)
    return dropped


# A file without an entry is one that was ignored, or given up in its last moment.
_LEFT_BEHIND = """
SELECT p.path FROM unnest($1::bytea[], $2::text[]) AS p(path, token)
LEFT JOIN root r ON r.purpose = 'uploads'
LEFT JOIN root_entry e ON e.root_id = r.id AND e.path = p.path
WHERE e.outcome IN ('imported', 'duplicate')
   -- What was kept out may be brought in anyway for a month.
   OR (e.outcome = 'skipped' AND (e.reason <> 'tombstoned' OR e.changed_at < now() - interval '30 days'))
   OR (e.id IS NULL AND NOT EXISTS (
       SELECT 1 FROM upload u WHERE u.token = p.token AND u.status = 'receiving'))
"""


def _resting(folder: Path) -> list[bytes]:
    """Complete files that have lain there for a while, relative to the folder."""
    now = clock.now().timestamp()
    found: list[bytes] = []
    for path in folder.glob("*/*"):
        # An import may take file and folder away at any moment.
        with contextlib.suppress(FileNotFoundError):
            if now - path.parent.stat().st_mtime > EMPTY_S and parts.TOKEN.fullmatch(path.parent.name):
                found.append(os.fsencode(path.relative_to(folder)))
    return found


async def drop_strays(sql: Connection[Any], home: Home) -> int:
    """Remove part files without a row and folders without a file."""
    found = await asyncio.to_thread(_strays, home.uploads)
    known = await sql.fetch("SELECT token FROM upload WHERE token = ANY($1::text[])", list(found))
    for token in {r["token"] for r in known}:
        found.pop(token)
    for path in found.values():
        with contextlib.suppress(OSError):
            path.unlink()
    return len(found)


def _strays(folder: Path) -> dict[str, Path]:
    """Old part files by token; empty folders go at once."""
    now, found = clock.now().timestamp(), {}
    if not folder.is_dir():
        return {}
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                age = now - entry.stat(follow_symlinks=False).st_mtime
            except FileNotFoundError:
                continue
            if entry.is_dir(follow_symlinks=False) and age > EMPTY_S:
                # Refused by the system unless it is empty.
                with contextlib.suppress(OSError):
                    os.rmdir(entry.path)
            elif entry.name.endswith(".part") and age > ABANDONED.total_seconds():
                found[entry.name.removesuffix(".part")] = Path(entry.path)
    return found
