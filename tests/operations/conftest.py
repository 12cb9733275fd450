"""A library of rows, and operations carried out as their task does it, without a queue between."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.ingest import following
from appliance.ingest.words import Moment, Own
from appliance.operations import services
from appliance.operations.kinds import Kind
from appliance.operations.services import Asked
from appliance.tagging import services as tagging
from tests.ingest.conftest import folder, ingest  # noqa: F401 - fixtures


SNAPSHOT = """
SELECT a.id, a.state, a.rating, a.favourite, a.private, a.effective_at, a.taken_at, a.date_source,
       a.trashed_from, a.trashed_at IS NULL AS out, a.title, a.note, a.turn, a.width, a.height,
       a.own_date::text,
       ARRAY(SELECT (t.tag_id, t.by, t.user_id, t.added_at)::text FROM asset_tag t
             WHERE t.asset_id = a.id ORDER BY t.tag_id) AS tags,
       ARRAY(SELECT (n.tag_id, n.user_id, n.rejected_at)::text FROM tag_rejection n
             WHERE n.asset_id = a.id ORDER BY n.tag_id) AS rejected
FROM asset a ORDER BY a.id
"""


class Library:
    """What a test does to the collection, and how it stands."""

    def __init__(self, db: Database) -> None:
        self.db = db

    async def fill(self, count: int) -> list[int]:
        async with self.db.unit_of_work() as uow:
            rows = await uow.sql.fetch(
                "INSERT INTO asset (kind, sha256, size, mime, width, height, date_source, effective_at)"
                " SELECT 'still', sha256(n::text::bytea), n, 'image/jpeg', 4, 3, 'exif',"
                " timestamp '2026-11-23 18:00' - n * interval '1 hour' FROM generate_series(1, $1) n"
                " RETURNING id",
                count,
            )
        return [row["id"] for row in rows]

    async def say(self, ids: Sequence[int], *tags: str) -> None:
        """What the files of these assets say from now on, as an import that reads them has it followed."""
        async with self.db.unit_of_work() as uow:
            for row in await uow.sql.fetch(
                "SELECT id, effective_at FROM asset WHERE id = ANY($1::bigint[])", list(ids)
            ):
                date = Moment(None, None, "exif", row["effective_at"])
                own = Own(date, tags=[("general", tag) for tag in tags])
                await uow.sql.execute(
                    "INSERT INTO asset_words (asset_id, own, given) VALUES ($1, $2, '{}')"
                    " ON CONFLICT (asset_id) DO UPDATE SET own = excluded.own",
                    row["id"],
                    msgspec.json.encode(own).decode(),
                )
            await following.refresh(uow, list(ids))

    async def who(self, asset_id: int) -> dict[str, str]:
        """Tags of an asset, and who put them there."""
        rows = await self.rows(
            "SELECT t.name, x.by FROM asset_tag x JOIN tag t ON t.id = x.tag_id WHERE x.asset_id = $1",
            asset_id,
        )
        return {row["name"]: row["by"] for row in rows}

    async def act(self, kind: str, ids: Sequence[int], /, person: int | None = None, **form: str) -> Asked:
        """As the page of an asset, or a selection of a few, does it."""
        async with self.db.unit_of_work() as uow:
            wish = await services.wish(uow, Kind(kind), form)
            asked = await services.act(uow, Kind(kind), ids, wish, person=person)
        await services.unlink(asked.doomed)
        return asked

    async def undo(self, operation_id: int) -> Asked:
        async with self.db.unit_of_work() as uow:
            return await services.ask_undo(uow, operation_id, person=None)

    async def claim(self, operation_id: int) -> uuid.UUID:
        claim = uuid.uuid4()
        await self.execute(
            "UPDATE operation SET status = 'running', claim = $2 WHERE id = $1", operation_id, claim
        )
        return claim

    async def carry_out(self, operation_id: int, *, chunks: int | None = None) -> str:
        """The body of the task; `chunks` ends it early, as its limit does."""
        claim = await self.claim(operation_id)
        left = [10_000 if chunks is None else chunks]

        def stop() -> bool:
            left[0] -= 1
            return left[0] < 0

        state = await services.carry_out(self.db, operation_id, claim, stop=stop)
        await self.execute(
            "UPDATE operation SET status = $2, claim = NULL, finished_at = CASE WHEN $2 <> 'pending'"
            " THEN now() END WHERE id = $1 AND claim = $3",
            operation_id,
            state,
            claim,
        )
        return state

    async def snapshot(self) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self.rows(SNAPSHOT)]

    async def rows(self, sql: str, *values: object) -> list[Mapping[str, Any]]:
        async with self.db.unit_of_work() as uow:
            return list(await uow.sql.fetch(sql, *values))

    async def value(self, sql: str, *values: object) -> Any:
        async with self.db.unit_of_work() as uow:
            return await uow.sql.fetchval(sql, *values)

    async def execute(self, sql: str, *values: object) -> None:
        async with self.db.unit_of_work() as uow:
            await uow.sql.execute(sql, *values)

    async def operation(self, operation_id: int) -> Mapping[str, Any]:
        (row,) = await self.rows("SELECT * FROM operation WHERE id = $1", operation_id)
        return row

    async def tagged(self, name: str) -> int:
        """How many assets carry the tag, counted."""
        ids = await self.value("SELECT array_agg(id) FROM tag WHERE name = $1", name)
        return int(
            await self.value("SELECT count(*) FROM asset_tag WHERE tag_id = ANY($1::bigint[])", ids or [])
        )

    async def uses(self, name: str) -> int:
        """How many the counters say."""
        return int(
            await self.value(
                "SELECT uses + coalesce((SELECT sum(d.uses) FROM tag_delta d WHERE d.tag_id = tag.id), 0)"
                " FROM tag WHERE name = $1",
                name,
            )
        )


@pytest.fixture
def library(db: Database, settings: Settings) -> Library:
    return Library(db)


@pytest.fixture
async def anna(library: Library) -> int:
    async with library.db.unit_of_work() as uow:
        return await tagging.make(uow, "anna", "artist")
