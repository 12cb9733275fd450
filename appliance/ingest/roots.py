"""Roots as a person looks after them: what they hold, when they are scanned, and taking one out."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import msgspec

from appliance.core import clock, names
from appliance.core.errors import Conflict, Invalid, NotFound
from appliance.ingest import cancelling, services
from appliance.ingest.identity import OTHER
from appliance.ingest.models import Mode
from appliance.ingest.services import ACTIVE, ROOTS_LOCK, Place


if TYPE_CHECKING:
    from asyncpg import Connection

    from appliance.core.db import UnitOfWork


MANY = 10_000


class RootView(msgspec.Struct, frozen=True):
    """One root as the page shows it."""

    id: int
    path: bytes
    mode: str
    status: str
    reason: str | None
    added_at: datetime
    scanned_at: datetime | None
    scan_hour: int | None
    next_scan_at: datetime | None
    files: int
    """As the last whole scan counted them; before one has ended at most MANY."""
    batch_id: int | None
    """The batch that works on it at the moment."""
    walking: bool
    held_batch: int | None
    """The scan that missed too much at once to be believed."""
    held_gone: int
    held_known: int
    watched: bool
    watch_ms: int | None

    @property
    def name(self) -> str:
        """The last part of its path, which is what people call it."""
        return names.display(self.path.rpartition(b"/")[2] or self.path)

    @property
    def other_disk(self) -> bool:
        """Whether something else is mounted where it was."""
        return self.status == "unavailable" and OTHER in (self.reason or "")

    @property
    def place(self) -> Place:
        """All of it, for a scan."""
        return Place(self.id, self.path, Mode(self.mode), b"", new=False)


_VIEW = f"""
SELECT r.id, r.path, r.mode, r.status, r.reason, r.added_at, r.scanned_at, r.scan_hour, r.next_scan_at,
       coalesce(
           (SELECT b.files FROM import_batch b WHERE b.root_id = r.id AND b.cause = 'scan'
                AND b.under = ''::bytea AND b.walked_at IS NOT NULL ORDER BY b.id DESC LIMIT 1),
           (SELECT count(*) FROM (SELECT FROM root_entry e WHERE e.root_id = r.id LIMIT {MANY}) few))
           AS files,
       live.id AS batch_id, coalesce(live.walking, false) AS walking, r.held_batch, r.held_gone,
       r.held_known, r.watched, r.watch_ms
FROM root r LEFT JOIN LATERAL (
    SELECT id, status IN ('pending', 'walking') AS walking FROM import_batch
    WHERE root_id = r.id AND {ACTIVE} ORDER BY id DESC LIMIT 1) live ON true
WHERE r.purpose = 'folder'
"""


async def roots(sql: Connection[Any]) -> list[RootView]:
    """All folders, the retired ones last."""
    rows = await sql.fetch(f"{_VIEW} ORDER BY r.status = 'retired', r.path LIMIT 500")
    return [RootView(*row) for row in rows]


async def root(sql: Connection[Any], root_id: int) -> RootView:
    """One folder."""
    row = await sql.fetchrow(f"{_VIEW} AND r.id = $1", root_id)
    if row is None:
        raise NotFound("There is no such folder in the library")
    return RootView(*row)


async def covering(sql: Connection[Any], path: bytes) -> tuple[bytes | None, list[bytes]]:
    """The root that a path is or lies in, and the roots that lie inside it."""
    rows = await sql.fetch("SELECT path FROM root WHERE status <> 'retired' AND purpose = 'folder'")
    known = [r["path"] for r in rows]
    outer = [k for k in known if path == k or path.startswith(k + b"/")]
    return (outer[0] if outer else None), sorted(k for k in known if k.startswith(path + b"/"))


async def retire(uow: UnitOfWork, root_id: int) -> None:
    """Take a folder out: no file is touched, its assets stay, and it can come back as it was."""
    taken = await uow.sql.fetchval(
        "UPDATE root SET status = 'retired', reason = NULL, next_scan_at = NULL, held_batch = NULL,"
        " held_gone = 0, held_known = 0"
        " WHERE id = $1 AND purpose = 'folder' AND status <> 'retired' RETURNING id",
        root_id,
    )
    if taken is None:
        raise NotFound("There is no such folder in the library")
    await cancelling.end_those(uow.sql, "root_id = $1", root_id)
    # Its failures leave the inbox with it, and are read anew should it return. Those that are just tried
    # again follow when their tasks are dropped: they may be in work at this moment.
    await uow.sql.execute(
        "UPDATE root_entry SET outcome = 'pending', reason = NULL, detail = NULL"
        " WHERE root_id = $1 AND outcome = 'failed' AND NOT ignored",
        root_id,
    )


async def bring_back(uow: UnitOfWork, root_id: int, *, zone: ZoneInfo) -> int:
    """Put a retired folder back and look at it; the id of the scan."""
    await uow.sql.execute("SELECT pg_advisory_xact_lock($1)", ROOTS_LOCK)
    found = await root(uow.sql, root_id)
    if found.status != "retired":
        raise Conflict("This folder is in the library", "There is nothing to bring back.")
    outer, inner = await covering(uow.sql, found.path)
    if outer is not None or inner:
        other = names.display(outer or inner[0])
        raise Conflict(
            f"{names.display(found.path)} cannot come back beside {other}",
            "One lies in the other, and its files would be read twice.",
        )
    due = None if found.scan_hour is None else next_at(found.scan_hour, clock.now(), zone)
    await uow.sql.execute(
        "UPDATE root SET status = 'ready', reason = NULL, next_scan_at = $2 WHERE id = $1", root_id, due
    )
    return await services.queue_scan(uow, found.place)


async def scan_now(uow: UnitOfWork, root_id: int) -> int:
    """Ask for a scan of one folder; the id of its batch."""
    found = await root(uow.sql, root_id)
    if found.status == "retired":
        raise Conflict("This folder was taken out of the library", "Bring it back first.")
    return await services.queue_scan(uow, found.place)


async def schedule(uow: UnitOfWork, root_id: int, hour: int | None, *, zone: ZoneInfo) -> None:
    """Scan a folder every day at this hour, or only when asked."""
    if hour is not None and not 0 <= hour <= 23:
        raise Invalid("That is not an hour of the day", "0 to 23.")
    due = None if hour is None else next_at(hour, clock.now(), zone)
    set_ = await uow.sql.fetchval(
        "UPDATE root SET scan_hour = $2, next_scan_at = $3"
        " WHERE id = $1 AND purpose = 'folder' AND status <> 'retired' RETURNING id",
        root_id,
        hour,
        due,
    )
    if set_ is None:
        raise NotFound("There is no such folder in the library")


async def watch(uow: UnitOfWork, root_id: int, *, wanted: bool) -> None:
    """Look at a folder for changes between its scans, or do not."""
    set_ = await uow.sql.fetchval(
        "UPDATE root SET watched = $2, watch_at = now()"
        " WHERE id = $1 AND purpose = 'folder' AND status <> 'retired' RETURNING id",
        root_id,
        wanted,
    )
    if set_ is None:
        raise NotFound("There is no such folder in the library")


def next_at(hour: int, now: datetime, zone: ZoneInfo) -> datetime:
    """The first moment after now at which the wall clock shows this hour."""
    local = now.astimezone(zone)
    due = local.replace(hour=hour, minute=0, second=0, microsecond=0)
    return due if due > local else due + timedelta(days=1)


async def queue_due(uow: UnitOfWork, *, zone: ZoneInfo) -> int:
    """Ask for the scans whose hour has come, once however long it was slept through; how many."""
    rows = await uow.sql.fetch(
        "SELECT id, path, mode, scan_hour, next_scan_at IS NOT NULL AS due, now() AS now FROM root"
        " WHERE (next_scan_at <= now() OR next_scan_at IS NULL AND scan_hour IS NOT NULL)"
        " AND status <> 'retired' AND purpose = 'folder' ORDER BY id FOR UPDATE SKIP LOCKED"
    )
    for row in rows:
        # One that was just added has an hour, and only here is known when that comes.
        if row["due"]:
            await services.queue_scan(uow, Place(row["id"], row["path"], Mode(row["mode"]), b"", new=False))
        due = None if row["scan_hour"] is None else next_at(row["scan_hour"], row["now"], zone)
        await uow.sql.execute("UPDATE root SET next_scan_at = $2 WHERE id = $1", row["id"], due)
    return sum(row["due"] for row in rows)
