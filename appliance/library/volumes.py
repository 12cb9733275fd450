"""Volumes as they are written and asked for: their pages in order, and what a person sees of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core import names
from appliance.core.db import UnitOfWork
from appliance.library.backfilling import OUTSIDE
from appliance.library.facts import PagesWanted
from appliance.library.models import VISIBLE
from appliance.library.renditions import URGENT
from appliance.media import hops
from appliance.media.reasons import Reason
from appliance.media.wire import Decoded


# Failures of the machine and the moment, not of a page.
OF_THE_MOMENT = OUTSIDE | {Reason.TIMEOUT, Reason.OUT_OF_MEMORY}

if TYPE_CHECKING:
    from asyncpg import Connection


class PageView(msgspec.Struct, frozen=True):
    """One page of a volume."""

    position: int
    name: bytes
    mime: str
    status: str
    reason: str | None
    detail: str | None
    asset_id: int | None
    width: int | None
    height: int | None
    turn: int
    grid: int | None
    """Version of its small picture, when it is there."""
    shut: bool
    """A person put this very picture away, so that only administrators see it."""
    turned: bool
    """Its own file asks to be turned."""

    @property
    def version(self) -> str:
        """Another one than before when it was made, or turned by a person."""
        return f"{self.asset_id or 0}-{self.turn}"

    @property
    def wide(self) -> bool:
        """Two pages in one picture, which stands alone."""
        return self.width is not None and self.height is not None and self.width > self.height


class VolumeView(msgspec.Struct, frozen=True):
    """What the page of a volume and its reader say about it."""

    asset_id: int
    pages: int
    failed: int
    """So many of them cannot be shown."""
    first_failed: int | None
    status: str
    right_to_left: bool
    place: int | None
    """The page that the person read last."""
    version_of: int | None
    newer: int | None
    """The volume that was found in its place later."""
    reason: str | None
    detail: str | None
    path: bytes | None
    """Under which it came in."""

    @property
    def name(self) -> str | None:
        """What it is called by its file."""
        return names.display(os.path.splitext(os.path.basename(self.path))[0]) if self.path else None


async def made(sql: Connection[Any], asset_id: int, decoded: Decoded) -> None:
    """Write down the pages of a volume that has just become an asset."""
    if not decoded.pages:
        return
    await sql.execute(
        "INSERT INTO volume (asset_id, right_to_left) VALUES ($1, $2)",
        asset_id,
        decoded.facts.get("right_to_left") is True,
    )
    await sql.execute(
        "INSERT INTO volume_page (volume_id, position, name, hops, mime)"
        " SELECT $1, p.position, p.name, p.hops::jsonb, p.mime"
        " FROM unnest($2::bytea[], $3::text[], $4::text[]) WITH ORDINALITY AS p(name, hops, mime, position)",
        asset_id,
        [page.name for page in decoded.pages],
        [hops.written(page.hops) for page in decoded.pages],
        [page.mime for page in decoded.pages],
    )


# A page that met a limit may meet it again and hold a decoder for minutes: not with every look.
_PAGES_AGAIN = """
UPDATE volume_page p SET status = 'pending', reason = NULL, detail = NULL
FROM volume v WHERE v.asset_id = p.volume_id AND v.status = 'complete'
  AND v.finished_at < now() - interval '1 hour'
  AND p.volume_id = $1 AND p.status = 'failed' AND p.reason = ANY($2::text[])
"""


async def want_pages(uow: UnitOfWork, volume_id: int) -> None:
    """Have the pages of a volume made before those of others; what failed by the moment is tried again."""
    await uow.sql.execute(_PAGES_AGAIN, volume_id, sorted(OF_THE_MOMENT))
    asked = await uow.sql.execute(
        "UPDATE volume v SET status = 'pending', priority = $2::smallint, reason = NULL, detail = NULL,"
        " queued_at = now(), finished_at = NULL, deliveries = 0, interruptions = 0 WHERE asset_id = $1 AND"
        " (status = 'failed' OR status = 'pending' AND priority > $2::smallint"
        "  OR status = 'complete' AND EXISTS (SELECT FROM volume_page p WHERE p.volume_id = v.asset_id"
        "                                     AND p.status = 'pending'))",
        volume_id,
        URGENT,
    )
    if asked == "UPDATE 1":
        uow.record(PagesWanted())


async def reopen(uow: UnitOfWork) -> int:
    """Have volumes and pages tried again that failed by the disk and not by themselves; how many volumes."""
    reasons = sorted(OUTSIDE)
    reopened: int = await uow.sql.fetchval(_REOPEN, reasons)
    if reopened:
        uow.record(PagesWanted())
    return reopened


_REOPEN = """
WITH again AS (
    UPDATE volume_page SET status = 'pending', reason = NULL, detail = NULL
    WHERE status = 'failed' AND reason = ANY($1::text[]) RETURNING volume_id
), reopened AS (
    UPDATE volume v SET status = 'pending', reason = NULL, detail = NULL, queued_at = now(),
           finished_at = NULL, deliveries = 0, interruptions = 0
    WHERE v.status = 'failed' AND v.reason = ANY($1::text[])
       OR v.status = 'complete' AND v.asset_id IN (SELECT volume_id FROM again)
    RETURNING 1
) SELECT count(*) FROM reopened
"""
_VIEW = """
SELECT v.asset_id, p.pages, p.failed, p.first_failed, v.status,
       coalesce(r.right_to_left, v.right_to_left), r.page,
       v.version_of, (SELECT max(n.asset_id) FROM volume n WHERE n.version_of = v.asset_id),
       v.reason, v.detail,
       (SELECT o.path FROM provenance o WHERE o.asset_id = v.asset_id ORDER BY o.id LIMIT 1)
FROM volume v CROSS JOIN LATERAL (
    SELECT count(*) AS pages, count(*) FILTER (WHERE p.status = 'failed') AS failed,
           min(p.position) FILTER (WHERE p.status = 'failed') AS first_failed
    FROM volume_page p WHERE p.volume_id = v.asset_id
) p LEFT JOIN reading_place r ON r.volume_id = v.asset_id AND r.user_id = $2
WHERE v.asset_id = $1
"""
_PAGES = """
SELECT p.position, p.name, p.mime, p.status, p.reason, p.detail, p.asset_id, a.width, a.height,
       coalesce(a.turn, 0),
       (SELECT r.version FROM rendition r
        WHERE r.asset_id = a.id AND r.name = 'grid-240' AND r.status = 'complete'),
       coalesce(a.private OR a.state IN ('archived', 'trashed'), false), coalesce(a.facts ? 'turned', false)
FROM volume_page p LEFT JOIN asset a ON a.id = p.asset_id
WHERE p.volume_id = $1 AND p.position BETWEEN $2 AND $3 ORDER BY p.position
"""


async def view(sql: Connection[Any], asset_id: int, user_id: int | None) -> VolumeView | None:
    """A volume as one person sees it; None for any other asset."""
    row = await sql.fetchrow(_VIEW, asset_id, user_id)
    return row and VolumeView(*row)


async def pages(sql: Connection[Any], volume_id: int, first: int, last: int) -> list[PageView]:
    """A stretch of a volume's pages."""
    return [PageView(*row) for row in await sql.fetch(_PAGES, volume_id, first, last)]


async def page(sql: Connection[Any], volume_id: int, position: int) -> PageView | None:
    """One page of a volume."""
    return next(iter(await pages(sql, volume_id, position, position)), None)


async def is_put_away(sql: Connection[Any], sha256: bytes, size: int) -> bool:
    """Whether a person put the picture with this content away or deleted it for good."""
    away: bool = await sql.fetchval(
        "SELECT EXISTS (SELECT FROM asset WHERE sha256 = $1 AND size = $2"
        "               AND (private OR state IN ('archived', 'trashed')))"
        " OR EXISTS (SELECT FROM tombstone WHERE sha256 = $1 AND size = $2)",
        sha256,
        size,
    )
    return away


async def places(sql: Connection[Any], user_id: int, volume_ids: Sequence[int]) -> dict[int, int]:
    """How far a person has read some volumes: those that were opened beyond the first page."""
    rows = await sql.fetch(
        "SELECT volume_id, page FROM reading_place"
        " WHERE user_id = $1 AND volume_id = ANY($2::bigint[]) AND page > 1",
        user_id,
        volume_ids,
    )
    return {row["volume_id"]: row["page"] for row in rows}


async def read_to(
    sql: Connection[Any], volume_id: int, user_id: int, page: int, *, right_to_left: bool | None = None
) -> None:
    """Remember where a person is, and the direction when one was chosen."""
    await sql.execute(
        "INSERT INTO reading_place (user_id, volume_id, page, right_to_left)"
        " SELECT $1, p.volume_id, p.position, $4 FROM volume_page p"
        " WHERE p.volume_id = $2 AND p.position = $3"
        " ON CONFLICT (user_id, volume_id) DO UPDATE SET page = excluded.page, seen_at = now(),"
        " right_to_left = coalesce(excluded.right_to_left, reading_place.right_to_left)",
        user_id,
        volume_id,
        page,
        right_to_left,
    )


class Holder(msgspec.Struct, frozen=True):
    """A volume in which a picture is a page."""

    volume_id: int
    position: int
    title: str | None
    path: bytes | None


async def holders(sql: Connection[Any], asset_id: int, *, everything: bool) -> list[Holder]:
    """The volumes in which a picture is a page; for viewers those that they see."""
    rows = await sql.fetch(
        "SELECT o.volume_id, o.position, title, (SELECT p.path FROM provenance p WHERE p.asset_id = a.id"
        " ORDER BY p.id LIMIT 1) FROM volume_page o JOIN asset a ON a.id = o.volume_id"
        f" WHERE o.asset_id = $1 AND ($2 OR {VISIBLE}) ORDER BY o.volume_id, o.position LIMIT 20",
        asset_id,
        everything,
    )
    return [Holder(*row) for row in rows]


async def lost_with(sql: Connection[Any], volume_ids: Sequence[int]) -> list[int]:
    """Pages that lie nowhere else than in these volumes: they go with them."""
    rows = await sql.fetch(
        "SELECT DISTINCT a.id FROM volume_page p JOIN asset a ON a.id = p.asset_id"
        " WHERE p.volume_id = ANY($1::bigint[]) AND a.state = 'inside'"
        " AND NOT EXISTS (SELECT FROM asset_file f WHERE f.asset_id = a.id)"
        " AND NOT EXISTS (SELECT FROM volume_page o WHERE o.asset_id = a.id"
        "                 AND NOT o.volume_id = ANY($1::bigint[]))",
        volume_ids,
    )
    return [row[0] for row in rows]
