"""Decisions about pairs: what moves with them, how they are undone, and that they stick to the contents."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from appliance.duplicates import services as duplicates
from appliance.operations import services
from appliance.operations.kinds import Kind
from appliance.operations.services import Asked
from tests.duplicates.conftest import Doubles, jpeg, scene
from tests.media_files import put


async def decide(doubles: Doubles, kind: str, one: int, other: int) -> Asked:
    async with doubles.lib.db.unit_of_work() as uow:
        return await services.act(uow, Kind(kind), [one, other], {"pair": [one, other]}, person=None)


async def bring(doubles: Doubles, folder: Path, *names: str, seed: int = 1) -> list[int]:
    """Copies of one picture, each a little worse, imported and compared."""
    for name in names:
        put(folder, name, jpeg(scene(seed), 94 - 4 * "abcdefgh".index(name[0])))
    await doubles.imports.scan(folder)
    await doubles.search()
    return await doubles.ids(*names)


async def origins(doubles: Doubles, asset_id: int) -> list[str]:
    rows = await doubles.lib.rows("SELECT path FROM provenance WHERE asset_id = $1 ORDER BY path", asset_id)
    return [bytes(row["path"]).decode() for row in rows]


async def state(doubles: Doubles) -> list[Any]:
    """All that a decision may touch."""
    sources = await doubles.lib.rows("SELECT asset_id, how, path FROM provenance ORDER BY 1, 3")
    groups = await doubles.lib.rows("SELECT asset_id, group_id FROM alternate ORDER BY 1")
    decided = await doubles.lib.rows("SELECT a_size, b_size, verdict FROM duplicate_decision ORDER BY 1, 2")
    pairs = await doubles.lib.rows("SELECT a_id, b_id, verdict, shown FROM duplicate_pair ORDER BY 1, 2")
    tables = [[tuple(row) for row in rows] for rows in (sources, groups, decided, pairs)]
    return [await doubles.lib.snapshot(), *tables]


async def test_keeping_one_moves_what_was_said_about_the_other_and_throws_that_away(
    doubles: Doubles, folder: Path
) -> None:
    keep, drop = await bring(doubles, folder, "a.jpg", "b.jpg")
    await doubles.lib.act("tag", [keep], tags="sea; anna")
    await doubles.lib.act("tag", [drop], tags="anna; artist:ben")
    await doubles.lib.act("rate", [keep], rating="2")
    await doubles.lib.act("rate", [drop], rating="4")
    await doubles.lib.act("favourite", [drop])
    await doubles.lib.act("title", [drop], title="A day")
    await doubles.lib.act("note", [keep], note="mine")
    await doubles.lib.act("note", [drop], note="theirs")

    asked = await decide(doubles, "keep_one", keep, drop)

    assert asked.changed == 2
    kept, dropped = await doubles.lib.rows("SELECT * FROM asset ORDER BY id = $1", drop)
    assert dropped["state"] == "trashed"
    assert (kept["state"], kept["rating"], kept["favourite"]) == ("kept", 4, True)
    assert (kept["title"], kept["note"]) == ("A day", "mine")
    tags = await doubles.lib.rows(
        "SELECT t.name FROM asset_tag x JOIN tag t ON t.id = x.tag_id WHERE x.asset_id = $1 ORDER BY 1", keep
    )
    assert [row["name"] for row in tags] == ["anna", "ben", "sea"]
    assert await origins(doubles, keep) == ["a.jpg", "b.jpg"]
    assert await doubles.shown() == []


@pytest.mark.parametrize("kind", ["keep_one", "alternate", "different"])
async def test_a_decision_is_undone_with_all_that_it_moved(doubles: Doubles, folder: Path, kind: str) -> None:
    one, other = await bring(doubles, folder, "a.jpg", "b.jpg")
    await doubles.lib.act("tag", [other], tags="sea")
    await doubles.lib.act("rate", [other], rating="4")
    await doubles.lib.act("title", [other], title="A day")
    before = await state(doubles)

    asked = await decide(doubles, kind, one, other)
    assert asked.changed == 2
    assert await state(doubles) != before
    undone = await doubles.lib.undo(asked.id)

    assert await state(doubles) == before
    assert (undone.changed, undone.notes) == (2, {})


async def test_what_was_changed_since_stays_with_whoever_changed_it(doubles: Doubles, folder: Path) -> None:
    keep, drop = await bring(doubles, folder, "a.jpg", "b.jpg")
    await doubles.lib.act("rate", [drop], rating="4")
    await doubles.lib.act("title", [drop], title="A day")
    asked = await decide(doubles, "keep_one", keep, drop)
    await doubles.lib.act("rate", [keep], rating="5")

    undone = await doubles.lib.undo(asked.id)

    (kept,) = await doubles.lib.rows("SELECT rating, title FROM asset WHERE id = $1", keep)
    assert (kept["rating"], kept["title"]) == (5, None)
    assert undone.notes == {"changed_since": 1}


async def test_a67_a_group_is_offered_once_and_nobody_of_it_again(doubles: Doubles, folder: Path) -> None:
    a, b = await bring(doubles, folder, "a.jpg", "b.jpg")
    await decide(doubles, "alternate", a, b)
    assert await doubles.shown() == []

    (c,) = await bring(doubles, folder, "c.jpg")

    (pair,) = await doubles.shown()
    assert c in pair
    assert set(pair) & {a, b}

    await decide(doubles, "different", *pair)
    assert await doubles.shown() == []


async def test_a67_an_alternate_of_one_is_an_alternate_of_all(doubles: Doubles, folder: Path) -> None:
    a, b = await bring(doubles, folder, "a.jpg", "b.jpg")
    await decide(doubles, "alternate", a, b)
    (c,) = await bring(doubles, folder, "c.jpg")
    (pair,) = await doubles.shown()

    asked = await decide(doubles, "alternate", *pair)

    async with doubles.lib.db.unit_of_work() as uow:
        assert await duplicates.versions(uow.sql, c) == sorted([a, b])
    assert await doubles.shown() == []
    await doubles.lib.undo(asked.id)
    assert await doubles.shown() == [pair]


async def test_a67_the_rest_of_a_group_is_offered_when_the_first_of_it_is_thrown_away(
    doubles: Doubles, folder: Path
) -> None:
    a, b = await bring(doubles, folder, "a.jpg", "b.jpg")
    await decide(doubles, "alternate", a, b)
    (c,) = await bring(doubles, folder, "c.jpg")
    (pair,) = await doubles.shown()
    (offered,) = set(pair) - {c}

    await doubles.lib.act("trash", [offered])

    (rest,) = {a, b} - {offered}
    assert await doubles.shown() == [tuple(sorted((rest, c)))]


@pytest.mark.parametrize("verdict", ["different", "alternate"])
async def test_a70_what_was_deleted_and_imported_again_is_searched_and_decisions_hold(
    doubles: Doubles, folder: Path, verdict: str
) -> None:
    a, b, c = await bring(doubles, folder, "a.jpg", "b.jpg", "c.jpg")
    await decide(doubles, verdict, a, b)
    content = (folder / "b.jpg").read_bytes()
    await doubles.lib.act("trash", [b])
    await doubles.lib.act("purge", [b])
    async with doubles.lib.db.unit_of_work() as uow:
        await duplicates.welcome(uow.sql, hashlib.sha256(content).digest(), len(content), person=None)
    (folder / "b.jpg").unlink()
    await doubles.imports.scan(folder)

    (again,) = await bring(doubles, folder, "again.jpg", seed=2)
    put(folder, "b.jpg", content)
    await doubles.imports.scan(folder)
    await doubles.search()
    (again,) = await doubles.ids("b.jpg")

    assert again != b
    shown = await doubles.shown()
    assert tuple(sorted((a, again))) not in shown
    async with doubles.lib.db.unit_of_work() as uow:
        versions = await duplicates.versions(uow.sql, again)
    assert versions == ([a] if verdict == "alternate" else [])
    # It is searched: with the third there is nothing decided.
    assert any(c in pair and set(pair) & {a, again} for pair in shown)
    assert (
        await doubles.lib.value("SELECT count(*) FROM duplicate_pair WHERE a_id = $1 OR b_id = $1", again)
        == 2
    )


async def test_words_of_a_deleted_picture_leave_the_history_of_its_pair(
    doubles: Doubles, folder: Path
) -> None:
    keep, drop = await bring(doubles, folder, "a.jpg", "b.jpg")
    await doubles.lib.act("title", [drop], title="A secret")
    asked = await decide(doubles, "keep_one", keep, drop)
    await doubles.lib.act("trash", [keep])

    await doubles.lib.act("purge", [keep, drop])

    left = await doubles.lib.value(
        "SELECT string_agg(before::text, ' ') FROM operation_item WHERE operation_id = $1", asked.id
    )
    assert "secret" not in (left or "")
