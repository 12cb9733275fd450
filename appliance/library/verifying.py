"""Checking files again, stored and referenced ones: whether their bytes are still those that came in.

A check changes nothing but its own columns. Who was checked longest ago is first, so the moment of the
last check is the place where an interrupted pass goes on.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from appliance.core.paths import Home
from appliance.library.models import Fault
from appliance.media.decoder import ChildDied, StorageSilent
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import Decoded, Read, Stat, Wanted


if TYPE_CHECKING:
    from asyncpg import Connection


@dataclass(frozen=True, slots=True)
class Due:
    """A file whose check is due."""

    id: int
    asset_id: int
    root_id: int
    """0 for a file that we store."""
    root: bytes
    path: bytes
    size: int
    mtime_ns: int
    sha256: bytes

    @property
    def expected(self) -> Stat | None:
        """A file under a root may have been written since; one of ours keeps no time."""
        return Stat(self.size, self.mtime_ns) if self.root_id else None


@dataclass(frozen=True, slots=True)
class Found:
    """What a check found: no fault, or which one and how it shows."""

    fault: Fault | None = None
    detail: str = ""


class Reader(Protocol):
    """The part of a decode child that a check uses."""

    async def digest(self, path: bytes, *, expect: Stat | None) -> Read:
        """Hash, whatever the content is."""

    async def open(self, path: bytes, *, expect: Stat | None) -> Read:
        """Open and sniff."""

    async def decode(self, wanted: list[Wanted]) -> Decoded:
        """Decode the open file; nothing is drawn."""


# Each root by an index of its own: one that is away costs nothing, however many files wait in it.
_PLACES = """
(SELECT id, path FROM (SELECT 0::bigint AS id, $1::bytea AS path
                       UNION ALL SELECT id, path FROM root WHERE status = 'ready') p
 WHERE NOT id = ANY($2::bigint[])) place
"""
_DUE = f"""
SELECT f.id, f.asset_id, place.id, place.path, f.path, f.size, f.mtime_ns, a.sha256
FROM {_PLACES}
CROSS JOIN LATERAL (
    SELECT * FROM asset_file WHERE coalesce(root_id, 0::bigint) = place.id AND verified_at < $3
    ORDER BY verified_at, id LIMIT $4) f
JOIN asset a ON a.id = f.asset_id
ORDER BY f.verified_at, f.id LIMIT $4
"""
_FAULTY = f"""
SELECT f.id, f.asset_id, place.id, place.path, f.path, f.size, f.mtime_ns, a.sha256
FROM asset_file f JOIN asset a ON a.id = f.asset_id JOIN {_PLACES} ON place.id = coalesce(f.root_id, 0)
WHERE f.fault IS NOT NULL AND f.verified_at < $3 ORDER BY f.verified_at, f.id LIMIT $4
"""


async def due(
    sql: Connection[Any], home: Home, *, before: datetime, without: Sequence[int], limit: int
) -> list[Due]:
    """The files that were checked longest ago, all before a moment; roots that are away are left out."""
    stored = os.fsencode(home.originals)
    return [Due(*row) for row in await sql.fetch(_DUE, stored, list(without), before, limit)]


async def moment(sql: Connection[Any], rest: timedelta) -> datetime:
    """The moment before which a check lies too long ago, by the clock of the database."""
    before: datetime = await sql.fetchval("SELECT now() - $1::interval", rest)
    return before


async def faulty(
    sql: Connection[Any], home: Home, *, before: datetime, without: Sequence[int], limit: int
) -> list[Due]:
    """Files in which the last check, before a moment, found a fault; a mended one leaves the list."""
    stored = os.fsencode(home.originals)
    return [Due(*row) for row in await sql.fetch(_FAULTY, stored, list(without), before, limit)]


async def check(child: Reader, file: Due) -> Found:
    """Hash one file, then decode it; storage that does not answer is no fault of it.

    The hash comes first: bytes that are those that came in are whole, whatever the decoders of today say.
    """
    path = file.root + b"/" + file.path
    try:
        read = await child.digest(path, expect=file.expected)
    except StorageSilent:
        raise
    except MediaFailure as failure:
        return _unread(failure)
    except ChildDied as death:
        return Found(Fault.UNREADABLE, death.detail)
    if (read.sha256, read.size) != (file.sha256, file.size):
        return Found(Fault.ALTERED, _otherwise(read, file))
    try:
        await child.open(path, expect=file.expected)
        await child.decode([])
    except StorageSilent:
        raise
    except (MediaFailure, ChildDied) as failure:
        if isinstance(failure, MediaFailure) and failure.reason in _ELSEWHERE:
            return _unread(failure)
        return Found(Fault.UNDECODABLE, f"{failure.reason}: {failure.detail}")
    return Found()


def _otherwise(read: Read, file: Due) -> str:
    if read.size == file.size:
        return "as long as it came in, but with another hash"
    return f"{read.size:,} bytes, {file.size:,} came in"


_GONE = frozenset({Reason.VANISHED, Reason.SYMLINK, Reason.SPECIAL})
# Between the hash and the decoder the file went or was written.
_ELSEWHERE = _GONE | {Reason.CHANGED}


def _unread(failure: MediaFailure) -> Found:
    if failure.reason is Reason.CHANGED:
        # Somebody wrote it: the next scan looks at it as at a new one.
        return Found()
    if failure.reason in _GONE:
        return Found(Fault.MISSING, failure.detail)
    if failure.reason is Reason.EMPTY:
        # Nothing that was an asset is.
        return Found(Fault.ALTERED, failure.detail)
    return Found(Fault.UNREADABLE, failure.detail)


async def note(sql: Connection[Any], file: Due, found: Found) -> None:
    """Write down what a check found, unless the row means other bytes by now."""
    await sql.execute(
        "UPDATE asset_file SET verified_at = now(), fault = $4, fault_detail = $5,"
        " fault_at = CASE WHEN $4::text IS NULL THEN NULL WHEN fault = $4 THEN fault_at ELSE now() END"
        " WHERE id = $1 AND asset_id = $2 AND mtime_ns = $3",
        file.id,
        file.asset_id,
        file.mtime_ns,
        found.fault,
        found.detail.replace("\0", "")[:500] or None,
    )


class Faulty(msgspec.Struct, frozen=True):
    """A file with a fault, as a page shows it."""

    id: int
    asset_id: int
    root: bytes | None
    """None for a file that we store."""
    path: bytes
    size: int
    fault: str
    detail: str | None
    since: datetime


async def listed(sql: Connection[Any], limit: int, *, after: int = 0) -> list[Faulty]:
    """Files with faults in the order in which they came in; `after` is the last one shown."""
    rows = await sql.fetch(
        "SELECT f.id, f.asset_id, r.path, f.path, f.size, f.fault, f.fault_detail, f.fault_at"
        " FROM asset_file f LEFT JOIN root r ON r.id = f.root_id"
        " WHERE f.fault IS NOT NULL AND f.id > $1 ORDER BY f.id LIMIT $2",
        after,
        limit,
    )
    return [Faulty(*row) for row in rows]


async def faults(sql: Connection[Any]) -> int:
    """How many files have a fault."""
    count: int = await sql.fetchval("SELECT count(*) FROM asset_file WHERE fault IS NOT NULL")
    return count


async def oldest(sql: Connection[Any]) -> datetime | None:
    """When the file that was checked longest ago was checked; None without files."""
    moment: datetime | None = await sql.fetchval(
        "SELECT min(f.verified_at) FROM (SELECT 0::bigint AS id UNION ALL SELECT id FROM root) place"
        " CROSS JOIN LATERAL (SELECT verified_at FROM asset_file"
        " WHERE coalesce(root_id, 0::bigint) = place.id ORDER BY verified_at, id LIMIT 1) f"
    )
    return moment
