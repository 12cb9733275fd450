"""A library made for searching: assets and tags as rows, nothing else."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.search import services
from appliance.search.services import Plan, Scope
from appliance.tagging import services as tagging


if TYPE_CHECKING:
    from asyncpg import Connection


NOW = datetime(2026, 12, 1, 12).astimezone()
ADMIN, VIEWER = Scope(admin=True), Scope(admin=False)


class Library:
    """What a test puts in and asks."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.random = random.Random(7)
        self._made = 0

    async def add(
        self,
        count: int,
        *,
        latest: datetime = datetime(2026, 11, 1),
        apart: timedelta = timedelta(hours=7),
        **columns: Sequence[Any] | Any,
    ) -> list[int]:
        """Assets of one kind, newest first; a column is one value for all or one for each."""
        rows = []
        for number in range(count):
            self._made += 1
            own = {k: v[number] if isinstance(v, (list, tuple)) else v for k, v in columns.items()}
            rows.append({"n": self._made, "at": latest - apart * number, **own})
        async with self.db.unit_of_work() as uow:
            return [await self._insert(uow.sql, row) for row in rows]

    async def _insert(self, sql: Connection[Any], row: dict[str, Any]) -> int:
        n, at = row.pop("n"), row.pop("at")
        values = {
            "kind": "still", "sha256": n.to_bytes(32, "big"), "size": 1000 + n, "mime": "image/jpeg",
            "width": 1600, "height": 1200, "date_source": "exif", "effective_at": at, **row,
        }  # fmt: skip
        marks = ", ".join(f"${i}" for i in range(1, len(values) + 1))
        return await sql.fetchval(
            f"INSERT INTO asset ({', '.join(values)}) VALUES ({marks}) RETURNING id", *values.values()
        )

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
