"""Editing one asset: words, dates, turning; and the month counts that follow."""

from __future__ import annotations

import asyncio
from datetime import datetime
from itertools import permutations
from typing import Any

import pytest

from appliance.core.db import Database
from appliance.core.errors import Invalid
from appliance.library import editing, months, queries
from appliance.operations import services as operations
from appliance.operations.kinds import Kind
from appliance.operations.services import Asked
from tests.tagging.conftest import LATEST, many


async def view(db: Database, asset_id: int) -> Any:
    async with db.unit_of_work() as uow:
        return await queries.asset(uow.sql, asset_id)


async def act(db: Database, kind: Kind, asset_id: int, **form: str) -> Asked:
    async with db.unit_of_work() as uow:
        wish = await operations.wish(uow, kind, form)
        return await operations.act(uow, kind, [asset_id], wish, person=None)


async def undo(db: Database, operation_id: int) -> Asked:
    async with db.unit_of_work() as uow:
        return await operations.ask_undo(uow, operation_id, person=None)


def test_titles_and_notes_are_read_whatever_was_pasted() -> None:
    assert editing.title_of("  A\0 \n day \ud800") == "A day"
    assert editing.note_of("first  \r\n\r\n second\0 ") == "first\n\n second"
    assert editing.title_of("a\tbell\7 and\x1b[31m \x1b \x9b red\x7f") == "a bell and[31m red"
    assert editing.note_of("a\tbell\7\r\n\x1b[31mred\x85") == "a\tbell\n[31mred"
    assert editing.title_of("\u202eyad \U0001f3d6\ufe0f") == "\u202eyad \U0001f3d6\ufe0f"
    assert editing.title_of(" ") is None is editing.note_of("\n \r")
    with pytest.raises(Invalid):
        editing.title_of("x" * 201)
    with pytest.raises(Invalid):
        editing.note_of("x" * 10_001)


async def test_titles_and_notes_are_stored_and_taken_away(db: Database) -> None:
    (one,) = await many(db, 1)
    await act(db, Kind.TITLE, one, title="  A   day ")
    await act(db, Kind.NOTE, one, note="two\r\nlines")
    seen = await view(db, one)
    assert (seen.title, seen.note) == ("A day", "two\nlines")
    assert (await act(db, Kind.TITLE, one, title="A day")).changed == 0
    assert (await act(db, Kind.TITLE, one, title=" ")).changed == 1
    assert (await view(db, one)).title is None


async def test_two_people_at_once_keep_each_others_fields(db: Database) -> None:
    (one,) = await many(db, 1)
    wishes = [(Kind.TITLE, {"title": "title"}), (Kind.NOTE, {"note": "note"}), (Kind.TURN, {"by": "90"})]
    date = (Kind.DATE, {"to": "2020-01-02T03:04:00"})

    await asyncio.gather(*(act(db, kind, one, **form) for kind, form in [*wishes, date, *wishes]))

    seen = await view(db, one)
    assert (seen.title, seen.note, seen.date_source, seen.turn) == ("title", "note", "human", 180)
    assert seen.effective_at == datetime(2020, 1, 2, 3, 4)  # noqa: DTZ001 - wall time


async def test_the_files_own_date_survives_any_number_of_corrections(db: Database) -> None:
    (one,) = await many(db, 1)
    for day in ("2020-01-02T00:00:00", "2021-01-02T00:00:00"):
        await act(db, Kind.DATE, one, to=day)
    corrected = await view(db, one)
    assert corrected.own_date["source"] == "mtime"

    done = await act(db, Kind.OWN_DATE, one)

    seen = await view(db, one)
    assert (seen.effective_at, seen.taken_at, seen.date_source) == (LATEST, None, "mtime")
    assert seen.own_date is None
    assert (await act(db, Kind.OWN_DATE, one)).changed == 0
    await undo(db, done.id)
    assert await view(db, one) == corrected


async def test_the_own_date_of_a_file_that_was_read_anew_is_not_undone(db: Database) -> None:
    (one,) = await many(db, 1)
    await act(db, Kind.DATE, one, to="2020-01-02T00:00:00")
    done = await act(db, Kind.OWN_DATE, one)
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "UPDATE asset SET effective_at = '2019-05-05', taken_at = '2019-05-05', date_source = 'exif'"
        )
    read = await view(db, one)

    assert (await undo(db, done.id)).notes == {"changed_since": 1}
    assert await view(db, one) == read


async def test_an_undone_date_forgets_that_a_person_set_one(db: Database) -> None:
    (one,) = await many(db, 1)
    before = await view(db, one)
    async with db.unit_of_work() as uow:
        done = await operations.act(uow, Kind.DATE, [one], {"to": "2020-01-02T00:00:00"}, person=None)
    async with db.unit_of_work() as uow:
        await operations.ask_undo(uow, done.id, person=None)
    assert await view(db, one) == before


async def drawn(db: Database) -> list[tuple[Any, ...]]:
    async with db.unit_of_work() as uow:
        rows = await uow.sql.fetch(
            "SELECT name, status, version, claim, priority FROM rendition ORDER BY name"
        )
    return [tuple(row) for row in rows]


async def test_turning_swaps_the_sides_and_draws_every_picture_again(db: Database) -> None:
    (one,) = await many(db, 1)
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO rendition (asset_id, name, status, claim) VALUES ($1, 'grid-240', 'complete', NULL),"
            " ($1, 'preview', 'processing', gen_random_uuid())",
            one,
        )
    await act(db, Kind.TURN, one, by="90")
    seen = await view(db, one)
    assert (seen.width, seen.height, seen.turn) == (3, 4, 90)
    assert await drawn(db) == [("grid-240", "pending", 2, None, 1), ("preview", "pending", 2, None, 0)]
    await act(db, Kind.TURN, one, by="180")
    assert (await view(db, one)).turn == 270
    await act(db, Kind.TURN, one, by="90")
    seen = await view(db, one)
    assert (seen.width, seen.height, seen.turn) == (4, 3, 0)
    with pytest.raises(Invalid):
        await act(db, Kind.TURN, one, by="45")


async def test_an_undone_turn_is_drawn_again_as_well(db: Database) -> None:
    (one,) = await many(db, 1)
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO rendition (asset_id, name, status) VALUES ($1, 'preview', 'complete')", one
        )
    before = await view(db, one)
    done = await act(db, Kind.TURN, one, by="270")
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE rendition SET status = 'complete'")

    await undo(db, done.id)

    assert await view(db, one) == before
    assert await drawn(db) == [("preview", "pending", 3, None, 0)]


async def test_a_picture_that_was_turned_on_since_stays_as_it_is(db: Database) -> None:
    (one,) = await many(db, 1)
    first = await act(db, Kind.TURN, one, by="90")
    await act(db, Kind.TURN, one, by="90")
    assert (await undo(db, first.id)).notes == {"changed_since": 1}
    assert (await view(db, one)).turn == 180


STEPS = [
    (Kind.TITLE, {"title": "A day"}),
    (Kind.NOTE, {"note": "two\nlines"}),
    (Kind.TURN, {"by": "90"}),
    (Kind.OWN_DATE, {}),
]


@pytest.mark.parametrize("order", list(permutations(range(4))))
async def test_words_turns_and_dates_are_undone_exactly_in_any_order(
    db: Database, order: tuple[int, ...]
) -> None:
    (one,) = await many(db, 1)
    await act(db, Kind.TITLE, one, title="before")
    await act(db, Kind.DATE, one, to="2020-01-02T03:04:05")
    before = await view(db, one)
    done = [await act(db, kind, one, **form) for kind, form in STEPS]
    changed = ("title", "note", "turn", "effective_at")
    after = await view(db, one)
    assert all(getattr(after, name) != getattr(before, name) for name in changed)

    for n, step in enumerate(order):
        undone = await undo(db, done[step].id)
        assert (undone.changed, undone.notes) == (1, {})
        seen, back = await view(db, one), {changed[s] for s in order[: n + 1]}
        assert {name for name in changed if getattr(seen, name) == getattr(before, name)} == back
    assert await view(db, one) == before


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
