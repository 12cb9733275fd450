"""What a whole walk found without reading anything: sidecars that are gone, files known under other names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from appliance.core.db import Database, UnitOfWork
from appliance.ingest import sidecar_names, vanished
from appliance.ingest.describing import ABOUT, hold_families, named
from appliance.ingest.following import refresh
from appliance.ingest.walking import Walking


if TYPE_CHECKING:
    from asyncpg import Connection


CHUNK = 100
"""Ten thousand sidecars that go with their folder hold nobody up: a transaction for so many."""
_OURS = "EXISTS (SELECT 1 FROM import_batch b WHERE b.id = $2 AND b.claim = $3 AND b.status = 'walking')"
_VANISHED = f"""
SELECT e.id FROM sidecar s JOIN root_entry e ON e.id = s.entry_id
WHERE s.root_id = $1 AND e.seen_batch <> $2 AND e.outcome <> 'pending' AND e.path >= $4 AND e.path < $5
    AND NOT EXISTS (SELECT FROM unnest($6::bytea[], $7::bytea[]) AS closed(low, high)
                    WHERE e.path >= low AND e.path < high) AND {_OURS}
ORDER BY e.id
"""
# What this walk knew again without reading it: moved, swapped, linked or back. Where it counted none, nothing
# is looked for.
_KNOWN = f"""
SELECT e.id FROM root_entry e
WHERE e.root_id = $1 AND e.seen_batch = $2 AND e.asset_id IS NOT NULL AND e.changed_at >= (
        SELECT queued_at FROM import_batch WHERE id = $2 AND moved + returned + duplicate > 0)
    AND NOT EXISTS (SELECT FROM import_task t WHERE t.batch_id = $2 AND t.entry_id = e.id) AND {_OURS}
ORDER BY e.id
"""


async def catch_up(database: Database, walking: Walking) -> None:
    """Take back what sidecars said that are gone, and let files follow that stand elsewhere now."""
    async with database.unit_of_work() as uow:
        shut = await vanished.closed(uow.sql, walking)
        gone = [] if shut is None else await _gone(uow.sql, walking, shut)
    await catch_up_with(database, walking, gone)


async def sidecars(sql: Connection[Any], entries: Sequence[int]) -> list[int]:
    """Those of some entries that describe other files."""
    rows = await sql.fetch(
        "SELECT s.entry_id FROM sidecar s WHERE s.entry_id = ANY($1::bigint[]) ORDER BY s.entry_id", entries
    )
    return [r["entry_id"] for r in rows]


async def catch_up_with(database: Database, walking: Walking, gone: Sequence[int]) -> None:
    """The same where it is known which sidecars are gone."""
    async with database.unit_of_work() as uow:
        ours = (walking.root_id, walking.batch_id, walking.claim)
        known = [r["id"] for r in await uow.sql.fetch(_KNOWN, *ours)]
    for at in range(0, len(gone), CHUNK):
        async with database.unit_of_work() as uow:
            await _forget(uow, walking, gone[at : at + CHUNK])
    for at in range(0, len(known), CHUNK):
        async with database.unit_of_work() as uow:
            await _follow(uow, walking.root_id, known[at : at + CHUNK])


async def _gone(sql: Connection[Any], walking: Walking, shut: list[tuple[bytes, bytes]]) -> list[int]:
    lows, highs = [s[0] for s in shut], [s[1] for s in shut]
    ours = (walking.root_id, walking.batch_id, walking.claim)
    return [r["id"] for r in await sql.fetch(_VANISHED, *ours, *walking.span, lows, highs)]


async def _forget(uow: UnitOfWork, walking: Walking, entries: Sequence[int]) -> None:
    # One that a later scan has met again meanwhile, or that is being read, is not gone.
    rows = await uow.sql.fetch(
        "SELECT id, path FROM root_entry WHERE id = ANY($1::bigint[]) AND seen_batch < $2"
        " AND outcome <> 'pending' ORDER BY id FOR UPDATE SKIP LOCKED",
        entries,
        walking.batch_id,
    )
    await hold_families(uow.sql, walking.root_id, [r["path"] for r in rows])
    # With its entry, so that one that comes back unchanged is new.
    await uow.sql.execute("DELETE FROM root_entry WHERE id = ANY($1::bigint[])", [r["id"] for r in rows])
    assets: set[int] = set()
    for row in rows:
        about = sidecar_names.about(row["path"])
        assets.update(named(await uow.sql.fetch(ABOUT, walking.root_id, about), about))
    await refresh(uow, sorted(assets))


# Those that are described where they stand now, or were where they stood before.
_CONCERNED = """
SELECT DISTINCT w.asset_id FROM unnest($2::bigint[], $3::bytea[]) AS w(asset_id, about)
WHERE EXISTS (SELECT FROM sidecar s WHERE s.root_id = $1 AND s.about = w.about)
    OR EXISTS (SELECT FROM asset_words a WHERE a.asset_id = w.asset_id)
"""


async def _follow(uow: UnitOfWork, root_id: int, entries: Sequence[int]) -> None:
    rows = await uow.sql.fetch(
        "SELECT path, asset_id FROM root_entry WHERE id = ANY($1::bigint[]) AND asset_id IS NOT NULL", entries
    )
    await hold_families(uow.sql, root_id, [r["path"] for r in rows])
    places = [
        (r["asset_id"], sidecar_names.key(name))
        for r in rows
        for name in (r["path"], sidecar_names.stem(r["path"]))
    ]
    found = await uow.sql.fetch(_CONCERNED, root_id, [p[0] for p in places], [p[1] for p in places])
    await refresh(uow, sorted(r["asset_id"] for r in found))
