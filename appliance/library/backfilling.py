"""Pictures that should exist and do not: found by a pass over all assets, chunk by chunk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from appliance.core.db import UnitOfWork
from appliance.core.paths import Home
from appliance.library.facts import PreviewWanted
from appliance.library.renditions import BACKGROUND
from appliance.media.reasons import Reason
from appliance.media.wire import GRID_240, GRID_480, PREVIEW


if TYPE_CHECKING:
    from asyncpg import Connection

NAME = "renditions"
CHUNK = 200
EVERY = (GRID_240, GRID_480, PREVIEW)
"""What each asset has; the others are made when somebody asks."""
# Failures of the disk and of the moment, not of the file: another day may go better.
OUTSIDE = frozenset({Reason.NO_SPACE, Reason.UNWRITABLE, Reason.UNREADABLE, Reason.VANISHED, Reason.CHANGED})

# An original that cannot be reached now would only turn one failure into another; pages lie in volumes.
_CHUNK = """
SELECT a.id, a.sha256, n.name, r.id AS rendition_id, r.status, r.reason, r.bytes,
       a.missing_since IS NULL AND EXISTS (
           SELECT FROM asset_file f LEFT JOIN root o ON o.id = f.root_id
           WHERE f.asset_id = ANY(ARRAY(
               SELECT a.id UNION ALL SELECT g.volume_id FROM volume_page g WHERE g.asset_id = a.id))
           HAVING bool_or(f.root_id IS NULL OR o.status = 'ready')) AS reachable
FROM (SELECT id, sha256, missing_since FROM asset WHERE id > $1 ORDER BY id LIMIT $2) a
CROSS JOIN unnest($3::text[]) n(name)
LEFT JOIN rendition r ON r.asset_id = a.id AND r.name = n.name
ORDER BY a.id
"""


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture that an asset should have, and what is known of it."""

    asset_id: int
    sha256: bytes
    name: str
    rendition_id: int | None
    status: str | None
    reason: str | None
    bytes: int | None
    reachable: bool


async def begin(sql: Connection[Any]) -> int:
    """Where the pass stands: after this asset. 0 begins a new one."""
    position: int = await sql.fetchval(
        "INSERT INTO backfill (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET began_at ="
        " CASE WHEN backfill.position = 0 THEN now() ELSE backfill.began_at END RETURNING position",
        NAME,
    )
    return position


async def pictures(sql: Connection[Any], after: int, *, assets: int = CHUNK) -> list[Picture]:
    """Every picture that the next assets should have."""
    return [Picture(*row) for row in await sql.fetch(_CHUNK, after, assets, list(EVERY))]


def lacking(home: Home, found: Sequence[Picture]) -> list[Picture]:
    """Those that are to be drawn: without a row, failed from outside, or without their file."""
    return [picture for picture in found if picture.reachable and _lacks(home, picture)]


def _lacks(home: Home, picture: Picture) -> bool:
    match picture.status:
        case None:
            return True
        case "failed":
            return picture.reason in OUTSIDE
        case "complete":
            return _is_lost(home, picture)
    return False


def _is_lost(home: Home, picture: Picture) -> bool:
    try:
        size = os.stat(home.rendition(picture.sha256, picture.name)).st_size
    except OSError:
        # What cannot even be looked at is drawn again as well, and the failure then stands on its row.
        return True
    # A cut of the power leaves names without content.
    return size == 0 or (picture.bytes is not None and size != picture.bytes)


async def want(uow: UnitOfWork, wanted: Sequence[Picture]) -> int:
    """Have pictures drawn; how many were not on their way already."""
    made = await uow.sql.fetchval(
        "WITH made AS (INSERT INTO rendition (asset_id, name, priority)"
        " SELECT a.id, n.name, $3 FROM unnest($1::bigint[], $2::text[]) n(asset_id, name)"
        " JOIN asset a ON a.id = n.asset_id ON CONFLICT (asset_id, name) DO NOTHING RETURNING 1)"
        " SELECT count(*) FROM made",
        [p.asset_id for p in wanted if p.rendition_id is None],
        [p.name for p in wanted if p.rendition_id is None],
        BACKGROUND,
    )
    again = await uow.sql.fetchval(
        "WITH again AS (UPDATE rendition SET status = 'pending', priority = $2, queued_at = now(),"
        " deliveries = 0, interruptions = 0, reason = NULL, detail = NULL, finished_at = NULL"
        " WHERE id = ANY($1::bigint[]) AND status IN ('complete', 'failed') RETURNING 1)"
        " SELECT count(*) FROM again",
        [p.rendition_id for p in wanted if p.rendition_id is not None],
        BACKGROUND,
    )
    if made + again:
        uow.record(PreviewWanted())
    return int(made + again)


async def move_on(sql: Connection[Any], position: int) -> None:
    """Remember how far the pass has come; 0 when it is through."""
    await sql.execute("UPDATE backfill SET position = $2 WHERE name = $1", NAME, position)
