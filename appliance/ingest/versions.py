"""A volume in whose place another version was found: linked, and what people said about it carried over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from appliance.core.db import UnitOfWork
from appliance.ingest.claims import Waiting
from appliance.media.wire import Decoded
from appliance.tagging import services as tagging


if TYPE_CHECKING:
    from asyncpg import Connection


async def former(sql: Connection[Any], waiting: Waiting, decoded: Decoded) -> int | None:
    """The volume that this path held before; asked before the path is given to the new one."""
    if not decoded.pages:
        return None
    before: int | None = await sql.fetchval(
        "SELECT a.id FROM root_entry e JOIN asset a ON a.id = e.asset_id"
        " WHERE e.id = $1 AND a.kind = 'volume' AND a.state <> 'trashed'",
        waiting.entry_id,
    )
    if before is not None:
        # Tags before the rows of the import, as everywhere.
        carried = await sql.fetch("SELECT tag_id FROM asset_tag WHERE asset_id = $1", before)
        await tagging.current(sql, [r["tag_id"] for r in carried])
    return before


async def follow(uow: UnitOfWork, before: int | None, asset_id: int) -> None:
    """Let a volume stand for the one before it, when at least half of the pages of one are in the other.

    The one before keeps everything. Where no file of it is left it goes to the archive, so that the
    gallery shows one of them; nobody deleted it, so it is no trash, and it comes back with its bytes.
    """
    if before is None or not await uow.sql.fetchval(_ALIKE, before, asset_id):
        return
    # Tags before assets, as everywhere.
    await tagging.carry(uow, before, asset_id)
    await uow.sql.execute(_LINK, before, asset_id)
    await uow.sql.execute(_SAID, before, asset_id)
    await uow.sql.execute(_PLACES, before, asset_id)
    await uow.sql.execute(
        "UPDATE asset SET state = 'archived' WHERE id = $1 AND state IN ('inbox', 'kept')"
        " AND missing_since IS NOT NULL",
        before,
    )


# Pages are told by size and checksum: they may have other names, and have not been hashed yet.
_ALIKE = """
WITH page AS (
    SELECT DISTINCT volume_id, hops->-1->>2 AS size, hops->-1->>4 AS crc FROM volume_page
    WHERE volume_id IN ($1, $2)
), shared AS (SELECT FROM page GROUP BY size, crc HAVING count(*) = 2)
SELECT 2 * (SELECT count(*) FROM shared)
    >= (SELECT min(n) FROM (SELECT count(*) AS n FROM page GROUP BY volume_id) each)
"""
_LINK = "UPDATE volume SET version_of = $1 WHERE asset_id = $2"
# A title that only a file said stays with that file.
_SAID = """
UPDATE asset n SET rating = greatest(n.rating, o.rating), favourite = n.favourite OR o.favourite,
       private = o.private, state = CASE WHEN o.state = 'archived' THEN o.state ELSE n.state END,
       note = coalesce(n.note, o.note),
       title = CASE WHEN o.title IS DISTINCT FROM
           (SELECT w.given->>'title' FROM asset_words w WHERE w.asset_id = o.id)
           THEN coalesce(o.title, n.title) ELSE n.title END
FROM asset o WHERE o.id = $1 AND n.id = $2
"""
_PLACES = """
INSERT INTO reading_place (user_id, volume_id, page, right_to_left, seen_at)
SELECT r.user_id, $2, least(r.page, (SELECT count(*) FROM volume_page p WHERE p.volume_id = $2)),
       r.right_to_left, r.seen_at
FROM reading_place r WHERE r.volume_id = $1
ON CONFLICT DO NOTHING
"""
