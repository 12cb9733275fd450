"""What an import came to: the summary and the line for each file that `vitrine import` prints."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from appliance.core import names
from appliance.ingest.services import BatchView, reasons


if TYPE_CHECKING:
    from asyncpg import Connection


async def summary(sql: Connection[Any], batch: BatchView) -> dict[str, Any]:
    """The counters of a batch, with how often each reason class occurred."""
    counts = (
        "files", "imported", "duplicate", "unchanged", "moved", "returned", "failed", "skipped", "missing",
        "stayed",
    )  # fmt: skip
    report: dict[str, Any] = {"batch": batch.id} | {name: getattr(batch, name) for name in counts}
    return report | {
        "reasons": await reasons(sql, batch.id),
        "hashed": batch.hashed,
        "decoded": batch.decoded,
        # Too many at once to be believed: nothing of them was changed.
        "held": {"gone": batch.held, "known": batch.held_known} if batch.held else None,
    }


# A path that this batch had no task for was known: its standing outcome counts as unchanged.
_EACH = """
SELECT e.id, e.path, e.reason,
       coalesce(t.outcome, CASE WHEN e.outcome NOT IN ('imported', 'duplicate') THEN e.outcome
            WHEN e.changed_at < b.queued_at THEN 'unchanged' WHEN e.outcome = 'duplicate' THEN 'duplicate'
            WHEN EXISTS (SELECT FROM provenance p WHERE p.asset_id = e.asset_id AND p.batch_id = b.id
                         AND p.path = e.path) THEN 'moved'
            ELSE 'returned' END)
           AS outcome,
       a.id AS asset_id, a.kind, a.mime, a.width, a.height, a.frames, a.duration_ms, a.taken_at, a.date_source
FROM root_entry e
JOIN import_batch b ON b.id = $1 AND b.root_id = e.root_id
LEFT JOIN import_task t ON t.batch_id = $1 AND t.entry_id = e.id
LEFT JOIN asset a ON a.id = e.asset_id
WHERE e.seen_batch = $1 AND e.id > $2
ORDER BY e.id LIMIT 500
"""


async def each(sql: Connection[Any], batch_id: int) -> AsyncIterator[dict[str, Any]]:
    """One report for every path of a batch, a few hundred in memory at a time."""
    last = 0
    while rows := await sql.fetch(_EACH, batch_id, last):
        for row in rows:
            yield _line(row)
        last = rows[-1]["id"]


def _line(row: Any) -> dict[str, Any]:
    return {
        "path": names.display(row["path"]),
        "path_b64": names.pack(row["path"]),
        "outcome": row["outcome"],
        "reason": row["reason"],
        "asset": None if row["asset_id"] is None else _asset(row),
    }


def _asset(row: Any) -> dict[str, Any]:
    return {
        "id": row["asset_id"],
        "kind": row["kind"],
        "mime": row["mime"],
        "width": row["width"],
        "height": row["height"],
        "frames": row["frames"],
        "duration_s": None if row["duration_ms"] is None else row["duration_ms"] / 1000,
        "taken_at": None if row["taken_at"] is None else row["taken_at"].isoformat(),
        "date_source": row["date_source"],
    }
