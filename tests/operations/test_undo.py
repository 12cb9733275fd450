"""What an action did is taken back exactly; what somebody changed since stays theirs and is counted."""

from __future__ import annotations

import random

import pytest

from appliance.core.errors import Conflict, Invalid
from appliance.operations.stored import plain
from tests.operations.conftest import Library


CASES = {
    "tag": {"tags": "anna; sea"},
    "rate": {"rating": "4"},
    "favourite": {},
    "archive": {},
    "trash": {},
    "private": {},
    "date": {"days": "-1", "hours": "+2"},
    "own_date": {},
    "title": {"title": "A day"},
    "note": {"note": "two\nlines"},
    "turn": {"by": "90"},
}


@pytest.mark.parametrize("kind", CASES)
async def test_undo_brings_back_exactly_what_was(library: Library, kind: str) -> None:
    ids = await library.fill(12)
    await library.act("rate", ids[:3], rating="4")
    await library.act("favourite", ids[2:4])
    await library.act("archive", ids[4:6])
    await library.act("tag", ids[:5], tags="sea")
    await library.act("date", ids[:3], to="2020-02-02T03:04:05.678")
    await library.act("title", ids[2:4], title="A day")
    await library.act("turn", ids[3:5], by="270")
    before = await library.snapshot()

    asked = await library.act(kind, ids[:8], **CASES[kind])
    assert asked.changed > 0
    assert await library.snapshot() != before
    undone = await library.undo(asked.id)

    assert await library.snapshot() == before
    assert (undone.changed, undone.notes) == (asked.changed, {})


@pytest.mark.parametrize("kind", ["untag", "unfavourite", "keep", "public", "restore"])
async def test_undo_of_taking_away_brings_it_back(library: Library, kind: str) -> None:
    ids = await library.fill(6)
    await library.act("tag", ids[:4], tags="anna; sea")
    await library.act("favourite", ids)
    await library.act("private", ids)
    await library.act("trash" if kind == "restore" else "archive", ids)
    before = await library.snapshot()

    asked = await library.act(kind, ids, tags="sea")
    await library.undo(asked.id)

    assert await library.snapshot() == before


async def test_what_changed_since_is_kept_and_counted(library: Library) -> None:
    ids = await library.fill(10)
    rated = await library.act("rate", ids, rating="3")
    await library.act("rate", ids[:4], rating="5")

    undone = await library.undo(rated.id)

    assert (undone.changed, undone.notes) == (6, {"changed_since": 4})
    ratings = [r["rating"] for r in await library.rows("SELECT rating FROM asset ORDER BY id")]
    assert ratings == [5] * 4 + [0] * 6


async def test_a_tag_that_was_put_on_again_belongs_to_whoever_did_it(library: Library) -> None:
    ids = await library.fill(5)
    tagged = await library.act("tag", ids, tags="sea")
    await library.act("untag", ids[:2], tags="sea")
    await library.act("tag", ids[:2], tags="sea")

    undone = await library.undo(tagged.id)

    assert (undone.changed, undone.notes) == (3, {"changed_since": 2})
    assert await library.tagged("sea") == 2 == await library.uses("sea")


async def test_what_was_restored_and_thrown_away_again_stays_in_the_trash(library: Library) -> None:
    ids = await library.fill(3)
    first = await library.act("trash", ids)
    await library.act("restore", ids[:1])
    await library.act("trash", ids[:1])

    undone = await library.undo(first.id)

    assert undone.notes == {"changed_since": 1}
    states = [r["state"] for r in await library.rows("SELECT state FROM asset ORDER BY id")]
    assert states == ["trashed", "kept", "kept"]


async def test_an_action_is_undone_once(library: Library) -> None:
    ids = await library.fill(2)
    asked = await library.act("favourite", ids)
    await library.undo(asked.id)
    with pytest.raises(Conflict, match="already"):
        await library.undo(asked.id)


async def test_an_action_is_not_undone_after_thirty_days(library: Library) -> None:
    ids = await library.fill(2)
    asked = await library.act("favourite", ids)
    await library.execute("UPDATE operation SET finished_at = now() - interval '31 days'")
    with pytest.raises(Conflict, match="too long ago"):
        await library.undo(asked.id)


async def test_an_action_that_changed_nothing_says_so(library: Library) -> None:
    ids = await library.fill(2)
    asked = await library.act("restore", ids)
    assert asked.changed == 0
    with pytest.raises(Conflict, match="nothing"):
        await library.undo(asked.id)


async def test_dates_beyond_the_calendar_stay(library: Library) -> None:
    ids = await library.fill(2)
    await library.execute("UPDATE asset SET effective_at = '0100-01-01' WHERE id = $1", ids[0])
    asked = await library.act("date", ids, days=str(-190 * 365))
    assert asked.changed == 1
    await library.undo(asked.id)
    assert await library.value("SELECT date_source FROM asset WHERE id = $1", ids[1]) == "exif"


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("rate", {"rating": "6"}),
        ("rate", {}),
        ("date", {}),
        ("date", {"days": "soon"}),
        ("date", {"days": "999999999"}),
        ("date", {"to": "yesterday"}),
        ("title", {"title": "x" * 201}),
        ("turn", {}),
        ("turn", {"by": "45"}),
        ("tag", {"tags": " ; "}),
        ("untag", {"tags": "nobody has this"}),
    ],
)
async def test_arguments_that_mean_nothing_are_refused(
    library: Library, kind: str, form: dict[str, str]
) -> None:
    ids = await library.fill(1)
    with pytest.raises(Invalid):
        await library.act(kind, ids, **form)
    assert await library.value("SELECT count(*) FROM operation") == 0


async def test_dates_set_to_a_day_mean_its_noon(library: Library) -> None:
    ids = await library.fill(2)
    await library.act("date", ids, to="2001-02-03")
    found = await library.rows("SELECT effective_at, taken_at, date_source FROM asset")
    assert {str(r["effective_at"]) for r in found} == {"2001-02-03 12:00:00"}
    assert {r["date_source"] for r in found} == {"human"}


async def test_items_remember_what_was_there(library: Library) -> None:
    ids = await library.fill(2)
    await library.act("rate", ids[:1], rating="2")
    asked = await library.act("rate", ids, rating="2")
    items = await library.rows(
        "SELECT changed, before FROM operation_item WHERE operation_id = $1 ORDER BY asset_id", asked.id
    )
    assert [r["changed"] for r in items] == [False, True]
    assert plain(items[1]["before"]) == {"rating": 0}


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_was_done_is_undone_step_by_step(library: Library, seed: int) -> None:
    rng = random.Random(seed)
    ids = await library.fill(40)
    wishes: list[tuple[str, dict[str, str]]] = [
        ("tag", {"tags": "sea; artist:anna"}),
        ("tag", {"tags": "sea"}),
        ("untag", {"tags": "sea"}),
        ("rate", {"rating": "2"}),
        ("rate", {"rating": "0"}),
        ("favourite", {}),
        ("unfavourite", {}),
        ("archive", {}),
        ("keep", {}),
        ("private", {}),
        ("public", {}),
        ("date", {"days": "3"}),
        ("date", {"to": "2020-02-02"}),
        ("own_date", {}),
        ("title", {"title": "A day"}),
        ("title", {"title": ""}),
        ("note", {"note": "some"}),
        ("turn", {"by": "90"}),
        ("turn", {"by": "180"}),
        ("trash", {}),
    ]
    await library.act("tag", ids[:1], tags="sea")
    await library.say(ids[10:30], "sea", "pier")
    states, done = [await library.snapshot()], []
    for _ in range(30):
        kind, form = rng.choice(wishes)
        asked = await library.act(kind, rng.sample(ids, rng.randint(1, 40)), **form)
        if asked.changed:
            done.append(asked.id)
            states.append(await library.snapshot())
    for operation in reversed(done):
        assert await library.snapshot() == states.pop()
        assert (await library.undo(operation)).notes == {}
    assert await library.snapshot() == states.pop()
    assert await library.uses("sea") == 21
