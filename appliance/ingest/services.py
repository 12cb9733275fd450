"""Roots and batches: adding a folder, asking for a scan, closing what is finished."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from appliance.core import names
from appliance.core.db import UnitOfWork
from appliance.core.errors import Conflict, NotFound
from appliance.ingest import cancelling
from appliance.ingest.errors import ContainsRoots, OtherMode
from appliance.ingest.facts import ImportsRested, ScanQueued
from appliance.ingest.models import Mode
from appliance.ingest.resting import DUE


if TYPE_CHECKING:
    from asyncpg import Connection


# Serialises "is it inside, does it contain": two folders added at once must see each other.
ROOTS_LOCK = 8_420_002


NIGHT = 3
"""The hour at which a new folder is scanned each day, until somebody says otherwise."""


@dataclass(frozen=True, slots=True)
class Place:
    """A root and the part of it that was meant."""

    root_id: int
    path: bytes
    mode: Mode
    under: bytes
    new: bool


async def add_root(uow: UnitOfWork, path: bytes, mode: Mode = Mode.IN_PLACE) -> Place:
    """Make a folder a root, or find the root that it is or lies in."""
    await uow.sql.execute("SELECT pg_advisory_xact_lock($1)", ROOTS_LOCK)
    rows = await uow.sql.fetch(
        "SELECT id, path, mode FROM root WHERE status <> 'retired' AND purpose = 'folder'"
    )
    for row in rows:
        if path == row["path"] or path.startswith(row["path"] + b"/"):
            return _inside(row, path, mode)
    inner = [r["path"] for r in rows if r["path"].startswith(path + b"/")]
    if inner:
        raise ContainsRoots(
            f"{names.display(path)} contains {names.display(inner[0])}, which is in the library already",
            "Add the other folders inside it one by one.",
        )
    root_id = await uow.sql.fetchval(
        # A folder that was retired is the same folder again, with everything that is known about it.
        f"INSERT INTO root (path, mode, scan_hour) VALUES ($1, $2, {NIGHT})"
        " ON CONFLICT (path) DO UPDATE SET status = 'ready', reason = NULL, mode = excluded.mode"
        " RETURNING id",
        path,
        str(mode),
    )
    return Place(root_id, path, mode, b"", new=True)


def _inside(row: Any, path: bytes, mode: Mode) -> Place:
    if row["mode"] != mode:
        raise OtherMode(
            f"{names.display(row['path'])} is in the library as “{row['mode']}”, not as “{mode}”",
            f"Leave --as away, or say --as {row['mode']}.",
        )
    return Place(row["id"], row["path"], mode, path[len(row["path"]) + 1 :], new=False)


async def places(uow: UnitOfWork) -> list[Place]:
    """All roots that are scanned."""
    rows = await uow.sql.fetch(
        "SELECT id, path, mode FROM root WHERE status <> 'retired' AND purpose = 'folder' ORDER BY id"
    )
    return [Place(r["id"], r["path"], Mode(r["mode"]), b"", new=False) for r in rows]


async def hold_roots(sql: Connection[Any], ids: Sequence[int]) -> list[int]:
    """Those of some roots that are in the library; none is taken out before the transaction has ended.

    Whoever gives a root something to do asks here first, before it locks any batch or file of it.
    """
    rows = await sql.fetch(
        "SELECT id FROM root WHERE id = ANY($1::bigint[]) AND status <> 'retired'"
        " ORDER BY id FOR NO KEY UPDATE",
        ids,
    )
    return [r["id"] for r in rows]


async def queue_scan(uow: UnitOfWork, place: Place, *, interactive: bool = False) -> int:
    """Ask for a walk; where one already waits or runs for the whole root, that one is meant."""
    if not await hold_roots(uow.sql, [place.root_id]):
        raise Conflict(f"{names.display(place.path)} was taken out of the library", "Bring it back first.")
    batch_id: int | None = await uow.sql.fetchval(
        """
        INSERT INTO import_batch (root_id, mode, under, interactive) VALUES ($1, $2, $3, $4)
        ON CONFLICT (root_id) WHERE status IN ('pending', 'walking') DO NOTHING RETURNING id
        """,
        place.root_id,
        str(place.mode),
        place.under,
        interactive,
    )
    if batch_id is None:
        batch_id = await _waiting_scan(uow, place)
    uow.record(ScanQueued())
    return batch_id


async def _waiting_scan(uow: UnitOfWork, place: Place) -> int:
    """The walk that is in the way; one that has not begun is widened to cover both wishes."""
    widened: int | None = await uow.sql.fetchval(
        "UPDATE import_batch SET under = CASE WHEN under = $2 THEN under ELSE ''::bytea END"
        " WHERE root_id = $1 AND status = 'pending' RETURNING id",
        place.root_id,
        place.under,
    )
    if widened is not None:
        return widened
    running: int | None = await uow.sql.fetchval(
        "SELECT id FROM import_batch WHERE root_id = $1 AND status = 'walking'", place.root_id
    )
    if running is None:
        # It ended between the two statements; the next try finds the way free.
        return await queue_scan(uow, place)
    return running


FINISHED = """
walked_at IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM import_task t
    WHERE t.batch_id = import_batch.id AND t.status IN ('pending', 'processing')
)
"""
"""When a batch is over: the one predicate for the closer, the sweep and every page."""


ACTIVE = f"(import_batch.status IN ('pending', 'walking', 'importing') AND NOT ({FINISHED}))"
"""Which batches still have something to do: what the import page and the top bar call "importing"."""


async def close_batches(sql: Connection[Any]) -> int:
    """End the batches whose last task has ended."""
    await cancelling.drop_waiting(sql)
    done: int = await sql.fetchval(_CLOSE)
    return done


# Where much seemed to be gone and known files were read under other names meanwhile, it may have moved as a
# whole: one more look answers that before a person has to.
_CLOSE = f"""
WITH done AS (
    UPDATE import_batch SET status = 'done', finished_at = now()
    WHERE status = 'importing' AND {FINISHED} RETURNING id, root_id, mode, duplicate
), again AS (
    INSERT INTO import_batch (root_id, mode)
    SELECT d.root_id, d.mode FROM done d JOIN root r ON r.held_batch = d.id WHERE d.duplicate > 0
    ON CONFLICT (root_id) WHERE status IN ('pending', 'walking') DO NOTHING
)
SELECT count(*) FROM done
"""


async def end_pass(uow: UnitOfWork) -> None:
    """What follows when a pass over the waiting files has ended."""
    await close_batches(uow.sql)
    uow.record(ImportsRested())


async def imports_idle(sql: Connection[Any]) -> bool:
    """True when no file can be imported or is in work; those of folders that are away wait for a scan."""
    busy: bool = await sql.fetchval(
        "SELECT EXISTS (SELECT 1 FROM import_batch b JOIN root r ON r.id = b.root_id AND r.status = 'ready'"
        " WHERE b.status IN ('walking', 'importing') AND EXISTS ("
        f" SELECT 1 FROM import_task t WHERE t.batch_id = b.id AND t.status = 'pending' AND {DUE}))"
        " OR EXISTS (SELECT 1 FROM import_task WHERE status = 'processing')"
    )
    return not busy


async def mark_unavailable(sql: Connection[Any], root_id: int, reason: str) -> None:
    """Leave a root alone until a scan has read it again; one that was taken out stays out."""
    await sql.execute(
        "UPDATE root SET status = 'unavailable', reason = $2 WHERE id = $1 AND status <> 'retired'",
        root_id,
        reason,
    )


@dataclass(frozen=True, slots=True)
class BatchView:
    """Counters of a batch, as every page and the command line show them."""

    id: int
    root_id: int
    root_path: bytes
    mode: str
    status: str
    finished: bool
    error: str | None
    files: int
    imported: int
    duplicate: int
    unchanged: int
    failed: int
    skipped: int
    hashed: int
    decoded: int
    moved: int
    returned: int
    missing: int
    """Files that were known and not met; not among `files`."""
    stayed: int
    """Files of `move` that were stored and could not be taken out of their folder."""
    held: int
    """Assets that would be missing had a person confirmed it: nothing was judged."""
    held_known: int
    available: bool
    """False while the root does not answer: its files wait for a scan that finds it again."""

    @property
    def settled(self) -> int:
        """Files whose outcome is known."""
        here = self.duplicate + self.unchanged + self.moved + self.returned
        return self.imported + here + self.failed + self.skipped


async def view_batch(sql: Connection[Any], batch_id: int) -> BatchView:
    """One batch as it stands."""
    row = await sql.fetchrow(f"{_VIEW} WHERE import_batch.id = $1", batch_id)
    if row is None:
        raise NotFound(f"There is no import {batch_id}")
    return BatchView(*row)


_VIEW = f"""
SELECT import_batch.id, root_id, path, import_batch.mode, import_batch.status,
       import_batch.status IN ('done', 'error', 'cancelled') OR ({FINISHED}),
       error, files, imported, duplicate, unchanged, failed, skipped, hashed, decoded, moved, returned,
       missing, stayed,
       CASE WHEN root.held_batch = import_batch.id THEN root.held_gone ELSE 0 END, root.held_known,
       root.status = 'ready'
FROM import_batch JOIN root ON root.id = import_batch.root_id
"""


async def reasons(sql: Connection[Any], batch_id: int) -> dict[str, int]:
    """How many paths of a batch failed or were skipped, by class."""
    rows = await sql.fetch(
        "SELECT e.reason, count(*) FROM root_entry e JOIN import_batch b ON b.root_id = e.root_id"
        " WHERE b.id = $1 AND e.seen_batch = $1 AND e.outcome IN ('failed', 'skipped')"
        " GROUP BY 1 ORDER BY 2 DESC, 1",
        batch_id,
    )
    return {r[0]: r[1] for r in rows}
