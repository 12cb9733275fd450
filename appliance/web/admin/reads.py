"""Reads of the activity page: live tables and partial indexes only, so that history costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.ingest.services import ACTIVE


if TYPE_CHECKING:
    from asyncpg import Connection


RUNS = 200


class BatchView(msgspec.Struct, frozen=True):
    """One import that is under way."""

    id: int
    status: str
    root: bytes
    title: str | None
    """What a person called it; uploads have one, folders are called by their path."""
    under: bytes
    mode: str
    queued_at: datetime
    files: int
    imported: int
    known: int
    """Files that were here already, under this name or another."""
    failed: int
    skipped: int
    waiting: int
    working: int

    @property
    def ended(self) -> int:
        """Files that are done with, however they ended."""
        return self.imported + self.known + self.failed + self.skipped


class RunView(msgspec.Struct, frozen=True):
    """One recorded execution."""

    id: int
    task: str
    lane: str
    status: str
    queued_at: datetime
    claimed_at: datetime | None
    finished_at: datetime | None
    error: str | None
    trace: str | None
    counts: dict[str, Any]


class AwayRoot(msgspec.Struct, frozen=True):
    """A folder that cannot be read at the moment."""

    id: int
    path: bytes
    reason: str | None
    gone: int
    """So many of its files were gone at once that a person is asked first."""
    known: int


async def batches(sql: Connection[Any]) -> list[BatchView]:
    """Imports under way, oldest first."""
    rows = await sql.fetch(
        f"""
        SELECT import_batch.id, import_batch.status, r.path AS root, import_batch.title, under,
               import_batch.mode, queued_at, files, imported, duplicate + unchanged + moved + returned,
               failed, skipped,
               t.waiting, t.working
        FROM import_batch JOIN root r ON r.id = import_batch.root_id,
        LATERAL (SELECT count(*) FILTER (WHERE status = 'pending') AS waiting,
                        count(*) FILTER (WHERE status = 'processing') AS working
                 FROM import_task WHERE batch_id = import_batch.id AND status IN ('pending', 'processing')) t
        WHERE {ACTIVE} ORDER BY import_batch.id LIMIT 20
        """
    )
    return [BatchView(*row) for row in rows]


async def away(sql: Connection[Any]) -> Sequence[AwayRoot]:
    """Folders that cannot be read at the moment, or of which much is gone."""
    rows = await sql.fetch(
        "SELECT id, path, reason, held_gone, held_known FROM root"
        " WHERE status = 'unavailable' OR held_batch IS NOT NULL ORDER BY path LIMIT 20"
    )
    return [AwayRoot(*row) for row in rows]


async def runs(sql: Connection[Any], *, state: str = "") -> list[RunView]:
    """The last recorded executions, newest first."""
    rows = await sql.fetch(
        """
        SELECT id, task, lane, status, queued_at, claimed_at, finished_at, error, trace, counts FROM task_run
        WHERE $2 = '' OR status = $2 ORDER BY id DESC LIMIT $1
        """,
        RUNS,
        state,
    )
    return [RunView(*row) for row in rows]


async def last_run(sql: Connection[Any], task: str) -> RunView | None:
    """The last execution of one task: its row waits, runs or has ended."""
    row = await sql.fetchrow(
        """
        SELECT id, task, lane, status, queued_at, claimed_at, finished_at, error, trace, counts FROM task_run
        WHERE task = $1 ORDER BY id DESC LIMIT 1
        """,
        task,
    )
    return RunView(*row) if row else None
