"""Taking import tasks in hand: interactive batches first, then batches in turn."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from appliance.core.columns import ALONE
from appliance.core.drains import Claimed
from appliance.ingest.resting import DUE


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
    uploaded: bool
    """It was sent to us: its file lies in a folder of ours and is nobody's but ours."""
    sent_as: str | None
    """What the sender called it, with folders; None when it was not sent or that was forgotten."""
    sent_modified_ms: int | None
    """When it was last changed where it was sent from, if that was said."""
    rested: bool
    """It was fresh when it was found, and is read only if it has not changed since."""
    held: int | None
    """The asset that this path held when the file was claimed."""

    @property
    def named(self) -> bytes:
        """The name that says something: dates are read from it, and it is where the file came from."""
        return self.path if self.sent_as is None else self.sent_as.encode()

    def modified_ns(self, mtime_ns: int) -> int | None:
        """When the content was last changed; the time of a sent file on our disk says nothing about it."""
        if not self.uploaded:
            return mtime_ns
        return None if self.sent_modified_ms is None else self.sent_modified_ms * 1_000_000

    @property
    def absolute(self) -> bytes:
        """The path to open."""
        return self.root + b"/" + self.path


# The random fence is drawn for each row; SKIP LOCKED lets several workers claim side by side, and the
# array makes the locking select run exactly once.
_CLAIM = f"""
WITH turn AS (
    SELECT b.id FROM import_batch b JOIN root r ON r.id = b.root_id AND r.status = 'ready'
    WHERE b.status IN ('walking', 'importing') AND (b.interactive OR NOT $3) AND EXISTS (
        SELECT 1 FROM import_task t WHERE t.batch_id = b.id AND t.status = 'pending' AND {DUE})
    ORDER BY b.interactive DESC, b.served_at NULLS FIRST, b.id
    LIMIT 1
), served AS (
    UPDATE import_batch SET served_at = clock_timestamp() WHERE id = (SELECT id FROM turn)
), taken AS (
    UPDATE import_task SET status = 'processing', claim = gen_random_uuid(), worker_id = $1,
           claimed_at = now(), started_at = NULL
    WHERE id = ANY(ARRAY(
        SELECT t.id FROM import_task t
        WHERE t.batch_id = (SELECT id FROM turn) AND t.status = 'pending' AND {DUE}
        ORDER BY t.batch_id, t.id LIMIT $2 FOR UPDATE SKIP LOCKED))
    RETURNING id, claim, batch_id, root_id, entry_id, {ALONE} AS alone, run_at IS NOT NULL AS rested
)
SELECT taken.id, taken.claim, taken.alone, taken.batch_id, taken.root_id, taken.entry_id,
       root.path AS root, e.path, root.mode, e.size, e.mtime_ns, root.purpose = 'uploads' AS uploaded,
       u.name AS sent_as, u.modified_ms AS sent_modified_ms, taken.rested, e.asset_id AS held
FROM taken JOIN root ON root.id = taken.root_id JOIN root_entry e ON e.id = taken.entry_id
LEFT JOIN upload u ON root.purpose = 'uploads' AND u.entry_id = e.id
ORDER BY taken.id
"""


_FIELDS = (
    "batch_id", "root_id", "entry_id", "root", "path", "mode", "size", "mtime_ns", "uploaded", "sent_as",
    "sent_modified_ms", "rested", "held",
)  # fmt: skip


async def claim(
    sql: Connection[Any], worker_id: int, count: int, *, only_interactive: bool = False
) -> Sequence[Claimed]:
    """Take up to `count` tasks of the batch whose turn it is."""
    rows = await sql.fetch(_CLAIM, worker_id, count, only_interactive)
    return [_claimed(r) for r in rows]


def _claimed(row: Any) -> Claimed:
    fence: uuid.UUID = row["claim"]
    return Claimed(row["id"], fence, row["alone"], Waiting(*(row[f] for f in _FIELDS)))
