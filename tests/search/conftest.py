"""A library made for searching: assets and tags as rows, nothing else."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.search import services
from appliance.search.services import Plan, Scope
from appliance.tagging import services as tagging


NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
ADMIN, VIEWER = Scope(admin=True), Scope(admin=False)


def wall(*parts: int) -> datetime:
    """A wall time, which has no zone."""
    return datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001


LATEST = wall(2026, 11, 1)


def _row(number: int, at: datetime) -> dict[str, Any]:
    return {
        "kind": "still",
        "sha256": f"\\x{number:064x}",
        "size": 1000 + number,
        "mime": "image/jpeg",
        "width": 1600,
        "height": 1200,
        "date_source": "exif",
        "effective_at": at.isoformat(),
        "state": "kept",
        "rating": 0,
        "favourite": False,
        "private": False,
        "flags": [],
        "notes": [],
        "facts": {},
        "turn": 0,
        "added_at": "2026-11-01T00:00:00Z",
    }


class Library:
    """What a test puts in and asks."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.random = random.Random(7)
        self._made = 0

    async def add(
        self, count: int, *, latest: datetime = LATEST, apart: timedelta = timedelta(hours=7), **columns: Any
    ) -> list[int]:
        """Assets of one kind, newest first; a column is one value for all or a list with one for each."""
        rows = []
        for number in range(count):
            self._made += 1
            own = {k: v[number] if isinstance(v, list) else v for k, v in columns.items()}
            rows.append(_row(self._made, latest - apart * number) | own)
        names = ", ".join(rows[0])
        async with self.db.unit_of_work() as uow:
            made = await uow.sql.fetch(
                f"INSERT INTO asset ({names}) SELECT {names}"
                " FROM jsonb_populate_recordset(NULL::asset, $1::jsonb) RETURNING id",
                json.dumps(rows, default=str),
            )
        return [r["id"] for r in made]

    async def tag(self, ids: Sequence[int], *names: str) -> list[int]:
        """Put tags on assets, `artist:anna` with its kind; made where they do not exist."""
        async with self.db.unit_of_work() as uow:
            tags = []
            for name in names:
                kind, bare = tagging.split(name)
                tags.append(await tagging.make(uow, bare, kind or "general"))
            await tagging.assign(uow, list(ids), tags)
        return tags

    async def plan(self, q: str, scope: Scope = ADMIN) -> Plan:
        """A plan of its own transaction."""
        async with self.db.unit_of_work() as uow:
            return await services.plan(uow.sql, services.parse(q), scope, now=NOW)

    async def find(self, q: str, scope: Scope = ADMIN, *, limit: int = 10_000) -> list[int]:
        """Ids in reading order, in one page."""
        async with self.db.unit_of_work() as uow:
            plan = await services.plan(uow.sql, services.parse(q), scope, now=NOW)
            found = await services.older(uow.sql, plan, plan.order.first(), limit, inclusive=True)
        return [t.id for t in found]


@pytest.fixture
async def library(db: Database, settings: Settings) -> Library:
    return Library(db)
