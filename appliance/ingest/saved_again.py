"""A picture whose file was saved anew in its place: it takes the new content and stays the asset that it was.

What people said about it stands for what it shows, and it shows the same: keywords were written into it, or
it was cropped or scanned better. What looks otherwise is another picture, and the one before is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncpg import UniqueViolationError

from appliance.core.jsontext import json_text
from appliance.duplicates import services as duplicates
from appliance.ingest import describing
from appliance.ingest.facts import FilesFound
from appliance.ingest.finishing import FENCE, TakenOver, date, pictures
from appliance.ingest.words import Moment


if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from asyncpg import Connection

    from appliance.core.db import UnitOfWork
    from appliance.core.drains import Claimed
    from appliance.ingest.claims import Waiting
    from appliance.media.wire import Decoded, Read


KINDS = frozenset({"still", "animation"})

# What this very batch met for the first time: the backup that a program made when it saved, or a copy made
# just before. Whichever of the files is read first, the name keeps the asset.
_FRESH = (
    "o.root_id = f.root_id AND o.path = f.path AND o.seen_batch = b.id AND o.first_seen_at >= b.queued_at"
)
# Only what lies nowhere else: a copy elsewhere keeps the asset and its content. `width` and `height` are as
# displayed, after a person's turn.
_BEFORE = f"""
SELECT a.sha256, CASE WHEN a.turn IN (90, 270) THEN a.height ELSE a.width END AS width,
       CASE WHEN a.turn IN (90, 270) THEN a.width ELSE a.height END AS height
FROM root_entry e JOIN asset a ON a.id = e.asset_id
WHERE e.id = $1 AND a.id = $2 AND a.kind = $3 AND a.state <> 'inside'
    AND NOT EXISTS (SELECT FROM asset_file f WHERE f.asset_id = a.id
                    AND (f.root_id, f.path) IS DISTINCT FROM (e.root_id, e.path)
                    AND NOT EXISTS (SELECT FROM root_entry o, import_batch b
                                    WHERE o.root_id = e.root_id AND b.id = $4 AND {_FRESH}))
    AND NOT EXISTS (SELECT FROM volume_page p WHERE p.asset_id = a.id)
"""


async def taken(
    uow: UnitOfWork, claimed: Claimed, read: Read, decoded: Decoded, *, zone: ZoneInfo, milliseconds: int
) -> bool:
    """Let the asset of this path take the new content; False, to be undone, where it must not."""
    waiting: Waiting = claimed.row
    asset_id = waiting.held
    if asset_id is None or not await is_it(uow.sql, waiting, decoded):
        return False
    dated = date(decoded, waiting.named, waiting.modified_ns(read.mtime_ns), zone)
    moment = Moment(dated.taken_at, dated.offset, str(dated.source), dated.effective_at)
    # Tags before assets, as everywhere.
    await describing.came_again(uow, waiting, asset_id, moment, decoded)
    # Who brings a copy of the old content holds the asset: what follows sees its file.
    await uow.sql.execute("SELECT FROM asset WHERE id = $1 FOR UPDATE", asset_id)
    if not await is_it(uow.sql, waiting, decoded):
        return False
    try:
        await _take(uow.sql, claimed, read, decoded, milliseconds)
    except UniqueViolationError:
        return False
    await duplicates.renew(uow.sql, asset_id, decoded)
    if await uow.sql.fetchval(_LET_GO, asset_id, waiting.batch_id, waiting.root_id, waiting.entry_id):
        # What stands beside the backup is said of the backup; its tags are held since the words came.
        await describing.came(uow, asset_id)
        uow.record(FilesFound())
    return True


async def is_it(sql: Connection[Any], waiting: Waiting, decoded: Decoded) -> bool:
    """Whether what was decoded is the picture that its path held, saved again."""
    if decoded.kind not in KINDS:
        return False
    before = await sql.fetchrow(_BEFORE, waiting.entry_id, waiting.held, decoded.kind, waiting.batch_id)
    if before is None or waiting.held is None:
        return False
    alike = await duplicates.looks_like(sql, waiting.held, decoded)
    if alike is None:
        return (before["width"], before["height"]) == (decoded.width, decoded.height)
    ratio = (before["width"] * decoded.height) / (before["height"] * decoded.width)
    return alike and abs(ratio - 1) <= ASPECT


ASPECT = 0.05
"""By so much the shape of a picture may change."""

# What a person turned is drawn anew, turned; all else was drawn by this import.
_TAKE = f"""
WITH {FENCE}, made AS (
    UPDATE asset a SET sha256 = $8, size = $9, mime = $10,
           width = CASE WHEN a.turn IN (90, 270) THEN $12::int ELSE $11::int END,
           height = CASE WHEN a.turn IN (90, 270) THEN $11::int ELSE $12::int END,
           duration_ms = $13, frames = $14, dominant = $15, flags = $16, notes = $17, facts = $18
    FROM fence WHERE a.id = $19
    RETURNING a.id, a.turn
), placed AS (
    INSERT INTO asset_file (asset_id, root_id, path, size, mtime_ns)
    SELECT made.id, fence.root_id, $20, $9, $21 FROM made, fence
    ON CONFLICT (root_id, path) DO UPDATE
        SET asset_id = excluded.asset_id, size = excluded.size, mtime_ns = excluded.mtime_ns,
            verified_at = now(), fault = NULL, fault_detail = NULL, fault_at = NULL
), let_go AS (
    DELETE FROM rendition r USING made WHERE r.asset_id = made.id AND r.name <> ALL($22::text[])
), unwished AS (
    DELETE FROM conversion c USING made WHERE c.asset_id = made.id
), pictured AS (
    INSERT INTO rendition AS r (asset_id, name, status, width, height, bytes, reason, detail, finished_at)
    SELECT made.id, p.name, s.status, p.width, p.height, p.bytes, p.reason, p.detail,
           CASE WHEN s.status = 'pending' THEN NULL ELSE now() END
    FROM made, unnest($22::text[], $23::text[], $24::int[], $25::int[], $26::bigint[], $27::text[],
                      $28::text[]) AS p(name, status, width, height, bytes, reason, detail),
         LATERAL (SELECT CASE WHEN made.turn <> 0 AND p.status = 'complete' THEN 'pending'
                         ELSE p.status END AS status) AS s
    ON CONFLICT (asset_id, name) DO UPDATE
        SET status = excluded.status, width = excluded.width, height = excluded.height,
            bytes = excluded.bytes, reason = excluded.reason, detail = excluded.detail,
            finished_at = excluded.finished_at, claim = NULL, worker_id = NULL, version = r.version + 1
), noted AS (
    UPDATE root_entry e SET outcome = 'imported', reason = NULL, detail = NULL, sha256 = $8, size = $9,
           mtime_ns = $21, asset_id = made.id, changed_at = now()
    FROM made, fence WHERE e.id = fence.entry_id
), counted AS (
    UPDATE import_batch b SET imported = b.imported + 1, hashed = b.hashed + 1, decoded = b.decoded + 1
    FROM fence, made WHERE b.id = fence.batch_id
)
SELECT count(*) = 1 FROM fence
"""


# What holds the old content is an asset of its own, once it is read.
_LET_GO = f"""
WITH backup AS MATERIALIZED (
    SELECT o.id, o.root_id, o.path, o.outcome
    FROM asset_file f, root_entry o, import_batch b
    WHERE f.asset_id = $1 AND o.root_id = $3 AND o.id <> $4 AND b.id = $2 AND {_FRESH}
), unplaced AS (
    DELETE FROM asset_file f USING backup o WHERE f.root_id = o.root_id AND f.path = o.path
), untraced AS (
    DELETE FROM provenance p USING backup o
    WHERE p.asset_id = $1 AND p.root_id = o.root_id AND p.path = o.path AND p.batch_id = $2
), unread AS (
    UPDATE root_entry e SET outcome = 'pending', asset_id = NULL, sha256 = NULL, changed_at = now()
    FROM backup o WHERE e.id = o.id
), queued AS (
    INSERT INTO import_task (batch_id, root_id, entry_id) SELECT $2, root_id, id FROM backup ORDER BY id
    ON CONFLICT (entry_id) WHERE status IN ('pending', 'processing') DO NOTHING
), counted AS (
    UPDATE import_batch b SET duplicate = b.duplicate - c.copies, moved = greatest(b.moved - c.others, 0)
    FROM (SELECT count(*) FILTER (WHERE outcome = 'duplicate') AS copies,
                 count(*) FILTER (WHERE outcome <> 'duplicate') AS others FROM backup) c
    WHERE b.id = $2 AND c.copies + c.others > 0
)
SELECT count(*) FROM backup
"""


async def _take(
    sql: Connection[Any], claimed: Claimed, read: Read, decoded: Decoded, milliseconds: int
) -> None:
    waiting: Waiting = claimed.row
    ours: bool = await sql.fetchval(
        _TAKE,
        claimed.id, claimed.claim, "complete", "imported", None, None, milliseconds,
        read.sha256, read.size, decoded.mime, decoded.width, decoded.height,
        None if decoded.duration_s is None else round(decoded.duration_s * 1000), decoded.frames,
        decoded.dominant, json_text(decoded.flags), json_text(decoded.notes), json_text(decoded.facts),
        waiting.held, waiting.path, read.mtime_ns, *pictures(decoded),
    )  # fmt: skip
    if not ours:
        raise TakenOver


async def still_holds(sql: Connection[Any], asset_id: int, read: Read) -> bool:
    """Whether an asset has these bytes, from now until this transaction ends."""
    found = await sql.fetchval(
        "SELECT 1 FROM asset WHERE id = $1 AND sha256 = $2 AND size = $3 FOR KEY SHARE",
        asset_id,
        read.sha256,
        read.size,
    )
    return found is not None
