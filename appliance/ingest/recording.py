"""Recording what was seen of files: one statement for a chunk, counters moved in the same transaction."""

from __future__ import annotations

from appliance.core.db import UnitOfWork
from appliance.ingest import telling
from appliance.ingest.facts import FilesFound
from appliance.ingest.walking import LostWalk, Walking


DISPLACED = -1
"""In place of an inode: what was known of this file went to another path, so that it must be read."""


async def record_files(uow: UnitOfWork, walking: Walking, seen: list[telling.Seen]) -> None:
    """Compare a chunk with what was known and queue what is new or changed.

    A path that this batch has met already (the walk was interrupted and goes on) counts once.
    """
    # A listing that changes while it is read may tell a name twice.
    seen = list({s.path: s for s in seen}.values())
    queued = await uow.sql.fetchval(
        _RECORD,
        walking.batch_id,
        walking.claim,
        walking.root_id,
        [s.path for s in seen],
        [s.size for s in seen],
        [s.mtime_ns for s in seen],
        [s.inode for s in seen],
        [s.verdict for s in seen],
        [s.rest_ms for s in seen],
        walking.knows_inodes,
    )
    if queued is None:
        raise LostWalk("The scan was taken over")
    if queued:
        uow.record(FilesFound())


# The chunk beside what the table knew. `same`: an unchanged path whose outcome stands. `known`: another path
# of this root with this very inode, size and time, where inodes can be trusted: the same bytes, moved, linked
# or swapped, so nothing is opened. A changed inode alone is no change.
_MET = f"""
met AS MATERIALIZED (
    SELECT t.*, e.id AS entry_id, e.outcome, e.asset_id, known.id AS known_id, known.asset_id AS known_asset,
           known.path AS known_path,
           known.sha256 AS known_sha256, known.outcome = 'missing' AS was_missing,
           e.id IS NOT NULL AND e.size = t.size AND e.mtime_ns = t.mtime_ns AND e.inode <> {DISPLACED}
               AND e.outcome <> 'pending' AND (e.outcome <> 'missing' OR e.asset_id IS NOT NULL)
               AND (e.outcome IN ('skipped', 'failed') AND e.reason = t.verdict) = (t.verdict <> '')
               AND (known.id IS NULL OR known.asset_id IS NOT DISTINCT FROM e.asset_id) AS same
    FROM unnest($4::bytea[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::int[])
             AS t(path, size, mtime_ns, inode, verdict, rest_ms)
    JOIN fence ON true
    LEFT JOIN root_entry e ON e.root_id = $3 AND e.path = t.path
    LEFT JOIN LATERAL (
        SELECT o.id, o.path, o.asset_id, o.sha256, o.outcome FROM root_entry o
        WHERE $10 AND t.inode > 0 AND t.verdict = '' AND e.inode IS DISTINCT FROM t.inode
            AND o.root_id = $3 AND o.inode = t.inode AND o.asset_id IS NOT NULL
            AND o.size = t.size AND o.mtime_ns = t.mtime_ns AND o.path <> t.path
            AND o.outcome IN ('imported', 'duplicate', 'missing')
        ORDER BY o.id LIMIT 1
    ) known ON true
    WHERE e.seen_batch IS DISTINCT FROM $1
)"""
# What was known of a path that is taken over by another is kept from being believed of its former place. No
# byte is read here: when the bytes were last compared with the hash, and what was found then, goes along.
_KNOWN = f"""
links AS MATERIALIZED (
    SELECT met.*, CASE WHEN was_missing THEN 'returned'
        WHEN EXISTS (SELECT FROM met o WHERE o.entry_id = met.known_id AND NOT o.same) THEN 'moved'
        ELSE 'duplicate' END AS now
    FROM met WHERE NOT same AND known_id IS NOT NULL
), linked AS (
    INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, sha256, outcome, asset_id, seen_batch)
    SELECT $3, path, size, mtime_ns, inode, known_sha256,
           CASE now WHEN 'duplicate' THEN 'duplicate' ELSE 'imported' END, known_asset, $1
    FROM links
    ON CONFLICT (root_id, path) DO UPDATE
        SET size = excluded.size, mtime_ns = excluded.mtime_ns, inode = excluded.inode,
            sha256 = excluded.sha256, outcome = excluded.outcome, asset_id = excluded.asset_id,
            reason = NULL, detail = NULL, ignored = false, seen_batch = excluded.seen_batch,
            changed_at = now()
    RETURNING path, size, mtime_ns, asset_id
), displaced AS (
    UPDATE root_entry o SET inode = {DISPLACED} FROM links
    WHERE o.id = links.known_id AND links.asset_id IS NOT NULL AND NOT o.path = ANY($4::bytea[])
), returned AS (
    UPDATE root_entry e SET outcome = 'imported', seen_batch = $1, inode = met.inode, changed_at = now()
    FROM met WHERE met.same AND met.outcome = 'missing' AND e.id = met.entry_id
    RETURNING e.path, e.size, e.mtime_ns, e.asset_id
), placed AS (
    INSERT INTO asset_file (asset_id, root_id, path, size, mtime_ns, verified_at,
                            fault, fault_detail, fault_at)
    SELECT p.asset_id, $3, p.path, p.size, p.mtime_ns, coalesce(f.verified_at, a.added_at),
           f.fault, f.fault_detail, f.fault_at
    FROM (SELECT linked.*, links.known_path FROM linked JOIN links USING (path)
          UNION ALL SELECT *, NULL FROM returned) p
    JOIN asset a ON a.id = p.asset_id
    LEFT JOIN asset_file f ON f.root_id = $3 AND f.path = p.known_path AND f.asset_id = p.asset_id
    ON CONFLICT (root_id, path) DO UPDATE
        SET asset_id = excluded.asset_id, size = excluded.size, mtime_ns = excluded.mtime_ns,
            verified_at = excluded.verified_at, fault = excluded.fault,
            fault_detail = excluded.fault_detail, fault_at = excluded.fault_at
), traced AS (
    INSERT INTO provenance (asset_id, how, root_id, batch_id, path)
    SELECT l.asset_id, 'folder', $3, $1, l.path FROM linked l
    WHERE NOT EXISTS (SELECT FROM provenance p WHERE p.asset_id = l.asset_id AND p.how = 'folder'
                          AND p.root_id = $3 AND p.path = l.path)
)"""
# A path that still has a live task of an earlier batch is not queued twice (unique index) and counts
# as unchanged here, as does one that a person asked to try again just now. What a person told us to leave
# alone counts as passed over.
_RECORD = f"""
WITH fence AS (
    SELECT id, root_id FROM import_batch WHERE id = $1 AND claim = $2 AND status = 'walking' FOR UPDATE
), {_MET}, {_KNOWN}, kept AS (
    UPDATE root_entry e SET seen_batch = $1, inode = met.inode
    FROM met WHERE met.same AND met.outcome <> 'missing' AND e.id = met.entry_id
    RETURNING CASE WHEN e.ignored THEN 'skipped' ELSE e.outcome END AS outcome
), written AS (
    INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, outcome, reason, seen_batch)
    SELECT $3, path, size, mtime_ns, inode,
           CASE verdict WHEN '' THEN 'pending' WHEN 'unreadable' THEN 'failed' ELSE 'skipped' END,
           nullif(verdict, ''), $1
    FROM met WHERE NOT same AND known_id IS NULL
    ON CONFLICT (root_id, path) DO UPDATE
        SET size = excluded.size, mtime_ns = excluded.mtime_ns, inode = excluded.inode,
            outcome = excluded.outcome, reason = excluded.reason, detail = NULL, ignored = false,
            seen_batch = excluded.seen_batch, changed_at = now()
    RETURNING id, path, outcome
), queued AS (
    INSERT INTO import_task (batch_id, root_id, entry_id, run_at)
    SELECT $1, $3, w.id, CASE WHEN met.rest_ms > 0 THEN now() + met.rest_ms * interval '1 ms' END
    FROM written w JOIN met ON met.path = w.path WHERE w.outcome = 'pending' ORDER BY w.id
    ON CONFLICT (entry_id) WHERE status IN ('pending', 'processing') DO NOTHING
    RETURNING 1
), counted AS (
    SELECT (SELECT count(*) FROM met) AS files,
           (SELECT count(*) FROM kept WHERE outcome NOT IN ('failed', 'skipped'))
               + (SELECT count(*) FROM written WHERE outcome = 'pending') - (SELECT count(*) FROM queued)
               AS unchanged,
           (SELECT count(*) FROM kept WHERE outcome = 'failed')
               + (SELECT count(*) FROM written WHERE outcome = 'failed') AS failed,
           (SELECT count(*) FROM kept WHERE outcome = 'skipped')
               + (SELECT count(*) FROM written WHERE outcome = 'skipped') AS skipped,
           (SELECT count(*) FROM links WHERE now = 'duplicate') AS duplicate,
           (SELECT count(*) FROM links WHERE now = 'moved') AS moved,
           (SELECT count(*) FROM links WHERE now = 'returned') + (SELECT count(*) FROM returned) AS returned
), told AS (
    UPDATE import_batch b
    SET files = b.files + c.files, unchanged = b.unchanged + c.unchanged, failed = b.failed + c.failed,
        skipped = b.skipped + c.skipped, duplicate = b.duplicate + c.duplicate, moved = b.moved + c.moved,
        returned = b.returned + c.returned
    FROM counted c WHERE b.id = $1
)
SELECT (SELECT count(*) FROM queued) FROM fence
"""
