"""Taking import tasks in hand: interactive batches first, then batches in turn."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from appliance.core.columns import ALONE_AFTER_DELIVERIES, ALONE_AFTER_INTERRUPTIONS
from appliance.core.drains import Claimed
from appliance.ingest.services import close_batches


if TYPE_CHECKING:
    from asyncpg import Connection


@dataclass(frozen=True, slots=True)
class Waiting:
    """What the import of one file needs to know."""

    batch_id: int
    root_id: int
    entry_id: int
    root: bytes
    path: bytes
    mode: str
    size: int
    mtime_ns: int

    @property
    def absolute(self) -> bytes:
        """The path to open."""
        return self.root + b"/" + self.path


# The random fence is drawn for each row; SKIP LOCKED lets several workers claim side by side, and the
# array makes the locking select run exactly once.
_CLAIM = """
WITH turn AS (
    SELECT b.id FROM import_batch b
    WHERE b.status IN ('walking', 'importing') AND EXISTS (
        SELECT 1 FROM import_task t WHERE t.batch_id = b.id AND t.status = 'pending' AND {isolation})
    ORDER BY b.interactive DESC, b.served_at NULLS FIRST, b.id
    LIMIT 1
), served AS (
    UPDATE import_batch SET served_at = clock_timestamp() WHERE id = (SELECT id FROM turn)
), taken AS (
    UPDATE import_task SET status = 'processing', claim = gen_random_uuid(), worker_id = $1,
           claimed_at = now(), started_at = NULL
    WHERE id = ANY(ARRAY(
        SELECT t.id FROM import_task t
        WHERE t.batch_id = (SELECT id FROM turn) AND t.status = 'pending' AND {isolation}
        ORDER BY t.batch_id, t.id LIMIT $2 FOR UPDATE SKIP LOCKED))
    RETURNING id, claim, batch_id, root_id, entry_id
)
SELECT taken.id, taken.claim, taken.batch_id, taken.root_id, taken.entry_id,
       root.path AS root, e.path, root.mode, e.size, e.mtime_ns
FROM taken JOIN root ON root.id = taken.root_id JOIN root_entry e ON e.id = taken.entry_id
ORDER BY taken.id
"""
_SUSPECT = f"(t.deliveries >= {ALONE_AFTER_DELIVERIES} OR t.interruptions >= {ALONE_AFTER_INTERRUPTIONS})"
_TOGETHER = _CLAIM.format(isolation=f"NOT {_SUSPECT}")
_ALONE = _CLAIM.format(isolation=_SUSPECT)


async def claim(sql: Connection[Any], worker_id: int, count: int) -> Sequence[Claimed]:
    """Take up to `count` tasks of one batch; suspects come one by one when nothing else waits."""
    rows = await sql.fetch(_TOGETHER, worker_id, count)
    if rows:
        return [_claimed(r, alone=False) for r in rows]
    rows = await sql.fetch(_ALONE, worker_id, 1)
    if not rows:
        # Nothing waits any more: the moment at which batches end.
        await close_batches(sql)
    return [_claimed(r, alone=True) for r in rows]


def _claimed(row: Any, *, alone: bool) -> Claimed:
    fence: uuid.UUID = row["claim"]
    fields = ("batch_id", "root_id", "entry_id", "root", "path", "mode", "size", "mtime_ns")
    return Claimed(row["id"], fence, alone, Waiting(*(row[f] for f in fields)))


async def condemn(sql: Connection[Any], ids: Sequence[int], reason: str, detail: str) -> None:
    """End pending or live tasks as failed, whoever holds them; counters move with the state."""
    await sql.execute(
        """
        WITH ended AS (
            UPDATE import_task SET status = 'failed', outcome = 'failed', reason = $2, detail = $3,
                   finished_at = now(), claim = NULL
            WHERE id = ANY($1::bigint[]) AND status IN ('pending', 'processing')
            RETURNING batch_id, entry_id
        ), noted AS (
            UPDATE root_entry e SET outcome = 'failed', reason = $2, detail = $3, changed_at = now()
            FROM ended WHERE e.id = ended.entry_id
        )
        UPDATE import_batch b SET failed = b.failed + n.count
        FROM (SELECT batch_id, count(*) AS count FROM ended GROUP BY batch_id) n WHERE b.id = n.batch_id
        """,
        list(ids),
        reason,
        detail,
    )
