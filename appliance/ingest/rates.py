"""How fast imports go, how long they will take, and what room they will need: cheap at any depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec


if TYPE_CHECKING:
    from asyncpg import Connection


WINDOW_S = 60
LEAST_S = 3.0
"""A rate of the first instant would promise anything."""
SAMPLE = 500
BACKLOG = 50_000
"""Counting further than this would cost more than the figure is worth."""
# Bytes of one asset's pictures where nothing was made yet: measured over photographs of 12 megapixels.
USUAL = {"grid-240": 8_000, "grid-480": 26_000, "preview": 170_000}


class Rate(msgspec.Struct, frozen=True):
    """What was finished over the last minute, for each second."""

    files: float
    bytes: float

    def left(self, waiting: int) -> float | None:
        """Seconds that this many files will take; None where nothing moves."""
        return waiting / self.files if self.files > 0 else None


STANDING = Rate(0.0, 0.0)

# The newest finished tasks by their index; more than the limit in a minute count as if they filled it.
_RATES = f"""
SELECT t.batch_id, count(*) AS files, coalesce(sum(e.size), 0)::float8 AS bytes,
       greatest({LEAST_S}, extract(epoch FROM now() - min(t.finished_at))::float8) AS seconds
FROM (SELECT batch_id, entry_id, finished_at FROM import_task
      WHERE status IN ('complete', 'skipped', 'failed')
        AND finished_at > now() - make_interval(secs => {WINDOW_S})
      ORDER BY finished_at DESC LIMIT 5000) t
JOIN root_entry e ON e.id = t.entry_id
GROUP BY t.batch_id
"""


async def rates(sql: Connection[Any]) -> dict[int, Rate]:
    """The rate of every batch that finished something within the last minute."""
    rows = await sql.fetch(_RATES)
    return {r["batch_id"]: Rate(r["files"] / r["seconds"], r["bytes"] / r["seconds"]) for r in rows}


class Needs(msgspec.Struct, frozen=True):
    """Bytes that running imports will still write."""

    originals: int
    pictures: int

    @property
    def all(self) -> int:
        """Both."""
        return self.originals + self.pictures


async def picture_bytes(sql: Connection[Any]) -> dict[str, int]:
    """What each picture of an asset takes on average: of those made last, else what is usual."""
    rows = await sql.fetch(
        "SELECT name, avg(bytes)::bigint AS mean FROM ("
        " SELECT name, bytes FROM rendition WHERE status = 'complete' ORDER BY id DESC LIMIT $1) r"
        " GROUP BY name",
        SAMPLE,
    )
    return USUAL | {r["name"]: r["mean"] for r in rows if r["name"] in USUAL and r["mean"] is not None}


async def mean_size(sql: Connection[Any], batch_id: int) -> int:
    """Average bytes of the files of a batch that come next."""
    mean: int | None = await sql.fetchval(
        "SELECT avg(e.size)::bigint FROM (SELECT entry_id FROM import_task"
        " WHERE batch_id = $1 AND status = 'pending' ORDER BY batch_id, id LIMIT $2) t"
        " JOIN root_entry e ON e.id = t.entry_id",
        batch_id,
        SAMPLE,
    )
    return mean or 0


async def preview_backlog(sql: Connection[Any]) -> int:
    """Pictures that are still to be made of what is here already; counted up to a bound."""
    count: int = await sql.fetchval(
        "SELECT count(*) FROM"
        " (SELECT FROM rendition WHERE status = 'pending' ORDER BY priority, id LIMIT $1) p",
        BACKLOG,
    )
    return count


async def needs(sql: Connection[Any], waiting: Sequence[tuple[int, int, bool]]) -> Needs:
    """What batches will still write; each is (id, files that wait, whether originals are stored)."""
    if not waiting:
        return Needs(0, 0)
    files, originals = sum(count for _, count, _ in waiting), 0
    for batch_id, count, stored in waiting:
        if stored and count:
            originals += count * await mean_size(sql, batch_id)
    means = await picture_bytes(sql)
    return Needs(originals, files * sum(means.values()) + await preview_backlog(sql) * means["preview"])
