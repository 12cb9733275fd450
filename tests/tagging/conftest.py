"""Assets by the thousand without files, and the counts that ought to be."""

from __future__ import annotations

import os
from collections.abc import Collection
from datetime import datetime, timedelta

from appliance.core.db import Database
from appliance.library.models import VISIBLE
from appliance.tagging import services
from tests.queues.conftest import _tables, make_process, quick, store


__all__ = [
    "_tables",
    "carried",
    "counted",
    "make_process",
    "many",
    "nothing",
    "quick",
    "store",
    "tag",
    "true_counts",
]

LATEST = datetime(2026, 11, 23, 18, 0)  # noqa: DTZ001 - wall time


async def many(db: Database, count: int) -> list[int]:
    """So many visible assets, newest first."""
    async with db.unit_of_work() as uow:
        rows = await uow.sql.fetch(
            "INSERT INTO asset (kind, sha256, size, mime, width, height, date_source, effective_at)"
            " SELECT 'still', d, 1, 'image/jpeg', 4, 3, 'mtime', at"
            " FROM unnest($1::bytea[], $2::timestamp[]) AS t(d, at) RETURNING id",
            [os.urandom(32) for _ in range(count)],
            [LATEST - timedelta(hours=n) for n in range(count)],
        )
    return [r[0] for r in rows]


async def counted(db: Database) -> dict[int, int]:
    """Tag counts as pages may show them at this moment: folded and waiting together."""
    async with db.unit_of_work() as uow:
        rows = await uow.sql.fetch(
            "SELECT t.id, t.uses + coalesce((SELECT sum(uses) FROM tag_delta d WHERE d.tag_id = t.id), 0)"
            " FROM tag t"
        )
    return {r[0]: int(r[1]) for r in rows}


async def true_counts(db: Database) -> dict[int, int]:
    """The same, counted."""
    async with db.unit_of_work() as uow:
        rows = await uow.sql.fetch(
            "SELECT t.id, (SELECT count(*) FROM asset_tag x JOIN asset a ON a.id = x.asset_id"
            f" WHERE x.tag_id = t.id AND {VISIBLE}) FROM tag t"
        )
    return {r[0]: r[1] for r in rows}


async def carried(db: Database) -> set[tuple[int, int]]:
    """All assignments as pairs of asset and tag."""
    async with db.unit_of_work() as uow:
        return {(r[0], r[1]) for r in await uow.sql.fetch("SELECT asset_id, tag_id FROM asset_tag")}


async def tag(db: Database, name: str, kind: str = "general", fandom_id: int | None = None) -> int:
    """A tag, made if need be."""
    async with db.unit_of_work() as uow:
        return await services.make(uow, name, kind, fandom_id=fandom_id)


async def nothing(sql: object, pairs: Collection[tuple[int, int]]) -> set[tuple[int, int]]:
    """What files say that were never read."""
    return set()
