"""Batches as pages show them: what runs, what ran, and the files of one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core import clock, names
from appliance.core.errors import NotFound
from appliance.ingest.batch_models import Cause
from appliance.ingest.services import ACTIVE


if TYPE_CHECKING:
    from asyncpg import Connection


_BECAUSE = {str(Cause.RETRY): ", tried again", str(Cause.WATCH): ", changed"}


class Batch(msgspec.Struct, frozen=True):
    """One batch; its counters move in the statements that end its files, so they always add up."""

    id: int
    root_id: int
    root: bytes
    purpose: str
    root_status: str
    root_reason: str | None
    under: bytes
    mode: str
    cause: str
    title: str | None
    status: str
    active: bool
    interactive: bool
    error: str | None
    queued_at: datetime
    walked_at: datetime | None
    finished_at: datetime | None
    files: int
    imported: int
    duplicate: int
    unchanged: int
    failed: int
    skipped: int
    moved: int
    returned: int
    missing: int
    stayed: int
    """Files of `move` that were stored and could not be taken out of their folder."""
    held: bool
    """So many of its files were gone at once that a person is asked first."""
    working: int

    @property
    def name(self) -> str:
        """What people call it."""
        whole = names.display(self.root.rpartition(b"/")[2] or self.root)
        part = f" / {names.display(self.under)}" if self.under else ""
        what = self.title or ("Upload" if self.purpose == "uploads" else whole + part)
        return f"{what}{_BECAUSE.get(self.cause, '')}"

    @property
    def settled(self) -> int:
        """Files whose outcome is known."""
        return self.imported + self.known + self.failed + self.skipped

    @property
    def waiting(self) -> int:
        """Files that nobody has in hand; after a cancelled batch those that were left out."""
        return max(0, self.files - self.settled - self.working)

    @property
    def known(self) -> int:
        """Files that were here already, under this path or another."""
        return self.duplicate + self.unchanged + self.moved + self.returned

    @property
    def percent(self) -> int:
        """How far it is; a hundred only when it is over."""
        if not self.files:
            return 0
        share = self.settled * 100 // self.files
        return min(99, share) if self.active else share

    @property
    def counting(self) -> bool:
        """Whether more files may still be found."""
        return self.active and self.walked_at is None

    @property
    def stored(self) -> bool:
        """Whether its originals are written among ours."""
        return self.mode != "in_place"

    @property
    def took(self) -> timedelta | None:
        """From the wish to the end, or to this moment."""
        end = clock.now() if self.active else self.finished_at
        return None if end is None else end - self.queued_at


_VIEW = f"""
SELECT import_batch.id, root_id, r.path, r.purpose, r.status, r.reason, under, import_batch.mode, cause,
       title, import_batch.status, {ACTIVE}, interactive, error, queued_at, walked_at, finished_at, files,
       imported, duplicate, unchanged, failed, skipped, moved, returned, missing, stayed,
       r.held_batch IS NOT DISTINCT FROM import_batch.id,
       CASE WHEN import_batch.status IN ('walking', 'importing') THEN
           (SELECT count(*) FROM import_task t WHERE t.batch_id = import_batch.id AND t.status = 'processing')
       ELSE 0 END
FROM import_batch JOIN root r ON r.id = root_id
"""


async def active(sql: Connection[Any]) -> list[Batch]:
    """What has still something to do, oldest first: the one source for every page that says so."""
    rows = await sql.fetch(f"{_VIEW} WHERE {ACTIVE} ORDER BY import_batch.id LIMIT 50")
    return [Batch(*row) for row in rows]


async def batch(sql: Connection[Any], batch_id: int) -> Batch:
    """One batch."""
    row = await sql.fetchrow(f"{_VIEW} WHERE import_batch.id = $1", batch_id)
    if row is None:
        raise NotFound(f"There is no import {batch_id}", "Imports are listed for 30 days.")
    return Batch(*row)


async def history(sql: Connection[Any], limit: int, *, before: int | None = None) -> list[Batch]:
    """What is over, newest first; `before` is the id behind which a page goes on."""
    rows = await sql.fetch(
        f"{_VIEW} WHERE NOT {ACTIVE} AND ($2::bigint IS NULL OR import_batch.id < $2)"
        " ORDER BY import_batch.id DESC LIMIT $1",
        limit,
        before,
    )
    return [Batch(*row) for row in rows]


class Line(msgspec.Struct, frozen=True):
    """One file of a batch."""

    id: int
    path: bytes
    size: int
    status: str
    outcome: str | None
    reason: str | None
    detail: str | None
    asset_id: int | None


OUTCOMES = ("imported", "duplicate", "unchanged", "moved", "returned", "failed", "skipped")
_LAST_ID = 2**63 - 1
# Bounds as rows of the index: with equalities the planner may walk all tasks by their id instead.
_LINES = """
SELECT t.id, e.path, e.size, t.status, t.outcome, t.reason, t.detail, e.asset_id
FROM (SELECT * FROM import_task WHERE {which} ORDER BY {order} LIMIT $3) t
JOIN root_entry e ON e.id = t.entry_id ORDER BY t.id
"""
_EACH = _LINES.format(
    which=f"(batch_id, id) > ($1, $2) AND (batch_id, id) <= ($1, {_LAST_ID})", order="batch_id, id"
)
_OF_OUTCOME = _LINES.format(
    which="outcome IS NOT NULL AND (batch_id, outcome, id) > ($1, $4, $2)"
    f" AND (batch_id, outcome, id) <= ($1, $4, {_LAST_ID})",
    order="batch_id, outcome, id",
)


async def lines(
    sql: Connection[Any], batch_id: int, limit: int, *, outcome: str = "", after: int = 0
) -> list[Line]:
    """Files that a batch opened, in the order in which they were found; `after` is the last one shown."""
    if outcome:
        rows = await sql.fetch(_OF_OUTCOME, batch_id, after, limit, outcome)
    else:
        rows = await sql.fetch(_EACH, batch_id, after, limit)
    return [Line(*row) for row in rows]


class Fresh(msgspec.Struct, frozen=True):
    """An asset that came in just now."""

    id: int
    width: int
    height: int
    version: int
    name: str


async def just_added(sql: Connection[Any], limit: int = 12) -> list[Fresh]:
    """The newest assets of the timeline that have a picture."""
    rows = await sql.fetch(
        "SELECT a.id, r.width, r.height, r.version, coalesce(a.title, 'Picture ' || a.id) FROM ("
        " SELECT id, title FROM asset WHERE state IN ('inbox', 'kept') AND NOT private"
        " ORDER BY id DESC LIMIT $1) a JOIN rendition r ON r.asset_id = a.id AND r.name = 'grid-240'"
        " WHERE r.status = 'complete' ORDER BY a.id DESC",
        limit,
    )
    return [Fresh(*row) for row in rows]
