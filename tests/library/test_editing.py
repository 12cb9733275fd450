"""Editing one asset: words, dates, turning; and the month counts that follow."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest

from appliance.core.db import Database
from appliance.core.errors import Conflict, Invalid, NotFound
from appliance.library import editing, months, queries
from appliance.operations import services as operations
from appliance.operations.kinds import Kind
from tests.tagging.conftest import LATEST, many


async def view(db: Database, asset_id: int) -> Any:
    async with db.unit_of_work() as uow:
        return await queries.asset(uow.sql, asset_id)


async def test_titles_and_notes_are_stored_whatever_was_pasted(db: Database) -> None:
    (one,) = await many(db, 1)
    async with db.unit_of_work() as uow:
        assert await editing.set_title(uow, one, "  A\0 \n day \ud800") == "A day"
        assert await editing.set_note(uow, one, "first  \r\n\r\n second\0 ") == "first\n\n second"
    seen = await view(db, one)
    assert (seen.title, seen.note) == ("A day", "first\n\n second")
    async with db.unit_of_work() as uow:
        assert await editing.set_title(uow, one, " ") is None
        with pytest.raises(Invalid):
            await editing.set_title(uow, one, "x" * 201)
        with pytest.raises(Invalid):
            await editing.set_note(uow, one, "x" * 10_001)
        with pytest.raises(NotFound):
            await editing.set_title(uow, 999, "x")


async def test_two_people_at_once_keep_each_others_fields(db: Database) -> None:
    (one,) = await many(db, 1)

    async def title() -> None:
        async with db.unit_of_work() as uow:
            await editing.set_title(uow, one, "title")

    async def note() -> None:
        async with db.unit_of_work() as uow:
            await editing.set_note(uow, one, "note")

    async def date() -> None:
        async with db.unit_of_work() as uow:
            await operations.act(uow, Kind.DATE, [one], {"to": "2020-01-02T03:04:00"}, person=None)

    await asyncio.gather(title(), note(), date(), title(), note())
    seen = await view(db, one)
    assert (seen.title, seen.note, seen.date_source) == ("title", "note", "human")
    assert seen.effective_at == datetime(2020, 1, 2, 3, 4)  # noqa: DTZ001 - wall time


async def test_the_files_own_date_survives_any_number_of_corrections(db: Database) -> None:
    (one,) = await many(db, 1)
    for day in ("2020-01-02T00:00:00", "2021-01-02T00:00:00"):
        async with db.unit_of_work() as uow:
            await operations.act(uow, Kind.DATE, [one], {"to": day}, person=None)
    seen = await view(db, one)
    assert seen.own_date["source"] == "mtime"
    async with db.unit_of_work() as uow:
        await editing.use_own_date(uow, one)
        with pytest.raises(Conflict):
            await editing.use_own_date(uow, one)
    seen = await view(db, one)
    assert (seen.effective_at, seen.taken_at, seen.date_source) == (LATEST, None, "mtime")
    assert seen.own_date is None


async def test_an_undone_date_forgets_that_a_person_set_one(db: Database) -> None:
    (one,) = await many(db, 1)
    before = await view(db, one)
    async with db.unit_of_work() as uow:
        done = await operations.act(uow, Kind.DATE, [one], {"to": "2020-01-02T00:00:00"}, person=None)
    async with db.unit_of_work() as uow:
        await operations.ask_undo(uow, done.id, person=None)
    assert await view(db, one) == before


async def test_turning_swaps_the_sides_and_draws_every_picture_again(db: Database) -> None:
    (one,) = await many(db, 1)
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO rendition (asset_id, name, status, claim) VALUES ($1, 'grid-240', 'complete', NULL),"
            " ($1, 'preview', 'processing', gen_random_uuid())",
            one,
        )
        assert await editing.turn(uow, one, 90) == 90
    seen = await view(db, one)
    assert (seen.width, seen.height, seen.turn) == (3, 4, 90)
    async with db.unit_of_work() as uow:
        rows = await uow.sql.fetch(
            "SELECT name, status, version, claim, priority FROM rendition ORDER BY name"
        )
        assert [tuple(r) for r in rows] == [
            ("grid-240", "pending", 2, None, 1),
            ("preview", "pending", 2, None, 0),
        ]
        assert await editing.turn(uow, one, 180) == 270
        assert await editing.turn(uow, one, 90) == 0
        with pytest.raises(Invalid):
            await editing.turn(uow, one, 45)
    seen = await view(db, one)
    assert (seen.width, seen.height) == (4, 3)


async def test_month_counts_are_folded_and_mended(db: Database) -> None:
    ids = await many(db, 1000)

    async def shown() -> dict[str, int]:
        async with db.unit_of_work() as uow:
            rows = await uow.sql.fetch("SELECT month, assets FROM month_count ORDER BY month")
        return {str(r[0]): r[1] for r in rows}

    async with db.unit_of_work() as uow:
        assert await months.fold(uow.sql) == 2
    before = await shown()
    assert sum(before.values()) == 1000
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE month_count SET assets = 1 WHERE month = '2026-11-01'")
        assert await months.mend(uow.sql) == 1
        assert await months.mend(uow.sql) == 0
        await months.fold(uow.sql)
    assert await shown() == before
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET state = 'trashed' WHERE id = ANY($1::bigint[])", ids)
        await months.fold(uow.sql)
    assert await shown() == {}
