"""Decisions that are taken back in any order: what stands stays, and what was undone never returns."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from appliance.core.errors import Conflict
from tests.duplicates.conftest import Doubles, jpeg, scene
from tests.duplicates.test_deciding import bring, decide, state
from tests.duplicates.test_groups import groups
from tests.media_files import put


class Taken(msgspec.Struct, frozen=True):
    """A decision that a person took."""

    id: int
    kind: str
    one: int
    other: int


async def take(doubles: Doubles, kind: str, one: int, other: int) -> Taken:
    asked = await decide(doubles, kind, one, other)
    assert asked.changed == 2
    return Taken(asked.id, kind, one, other)


async def verdicts(doubles: Doubles) -> dict[tuple[int, int], str]:
    rows = await doubles.lib.rows("SELECT a_id, b_id, verdict FROM duplicate_pair WHERE verdict IS NOT NULL")
    return {(row["a_id"], row["b_id"]): row["verdict"] for row in rows}


def as_if(taken: Sequence[Taken]) -> tuple[dict[tuple[int, int], str], list[list[int]]]:
    """Verdicts and groups as they are where exactly these decisions were taken, one after the other."""
    said: dict[tuple[int, int], str] = {}
    company: dict[int, set[int]] = {}
    for each in taken:
        one, other = (company.setdefault(i, {i}) for i in (each.one, each.other))
        if each.kind == "keep_one":
            continue
        said[min(each.one, each.other), max(each.one, each.other)] = each.kind
        if each.kind == "alternate":
            company |= dict.fromkeys(one | other, one | other)
        elif one is other:
            one.discard(each.other)
            company[each.other] = {each.other}
    return said, sorted({tuple(sorted(s)) for s in company.values() if len(s) > 1})  # type: ignore[return-value]


async def agree(doubles: Doubles, taken: Sequence[Taken]) -> None:
    said, together = as_if(taken)
    assert await verdicts(doubles) == said
    assert await groups(doubles) == [list(group) for group in together]


@pytest.mark.parametrize("kinds", itertools.product(("different", "alternate"), repeat=2))
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_two_verdicts_about_a_pair_are_undone_in_either_order(
    doubles: Doubles, folder: Path, kinds: tuple[str, str], order: tuple[int, int]
) -> None:
    one, other = await bring(doubles, folder, "a.jpg", "b.jpg")
    before = await state(doubles)
    taken = [await take(doubles, kind, one, other) for kind in kinds]

    undone = await doubles.lib.undo(taken[order[0]].id)

    assert (undone.changed, undone.notes) == (2, {})
    await agree(doubles, [taken[order[1]]])
    await doubles.lib.undo(taken[order[1]].id)
    assert await state(doubles) == before


async def test_who_was_held_together_by_two_stackings_is_parted_when_both_are_undone(
    doubles: Doubles, folder: Path
) -> None:
    a, b, c = sorted(await bring(doubles, folder, "a.jpg", "b.jpg", "c.jpg"))
    before = await state(doubles)
    taken = [await take(doubles, "alternate", *pair) for pair in ((a, b), (b, c), (a, c))]

    await doubles.lib.undo(taken[0].id)
    assert await groups(doubles) == [[a, b, c]]
    await doubles.lib.undo(taken[1].id)
    assert await groups(doubles) == [[a, c]]

    await doubles.lib.undo(taken[2].id)
    assert await state(doubles) == before


async def test_an_undone_verdict_stays_undone_when_its_row_has_left_the_history(
    doubles: Doubles, folder: Path
) -> None:
    a, b, c = sorted(await bring(doubles, folder, "a.jpg", "b.jpg", "c.jpg"))
    first = await take(doubles, "alternate", a, b)
    second = await take(doubles, "alternate", b, c)
    third = await take(doubles, "different", a, b)
    await doubles.lib.undo(first.id)
    await doubles.lib.execute("DELETE FROM operation WHERE id = $1", first.id)

    await doubles.lib.undo(third.id)

    await agree(doubles, [second])


async def test_what_came_in_with_an_old_decision_stays_with_its_own_when_groups_part(
    doubles: Doubles, folder: Path
) -> None:
    a, b, c = sorted(await bring(doubles, folder, "a.jpg", "b.jpg", "c.jpg"))
    await doubles.lib.execute("DELETE FROM duplicate_pair WHERE a_id = $1 AND b_id = $2", b, c)
    joined = await take(doubles, "alternate", a, b)
    # As the search does with a pair whose contents were stacked before.
    await doubles.lib.execute(
        "INSERT INTO duplicate_pair (a_id, b_id, distance, mirrored, verdict)"
        " VALUES ($1, $2, 1, false, 'alternate')",
        b,
        c,
    )
    await doubles.lib.execute("INSERT INTO alternate (asset_id, group_id) VALUES ($1, $2)", c, a)

    await doubles.lib.undo(joined.id)

    assert await groups(doubles) == [[b, c]]


async def test_a_record_of_before_numbers_were_drawn_in_turn_is_undone_from_its_end(
    doubles: Doubles, folder: Path
) -> None:
    one, other = await bring(doubles, folder, "a.jpg", "b.jpg")
    before = await state(doubles)
    first = await take(doubles, "different", one, other)
    last = await take(doubles, "alternate", one, other)
    # The later number held first: each remembers what the other one found.
    await doubles.lib.execute(
        "UPDATE operation_item i SET before = t.before FROM operation_item t"
        " WHERE (i.operation_id, t.operation_id) IN (($1, $2), ($2, $1)) AND i.asset_id = t.asset_id",
        first.id,
        last.id,
    )
    await doubles.lib.execute(
        "UPDATE operation_item SET before = jsonb_set(before, '{verdict}', '\"alternate\"')"
        " WHERE operation_id = $1",
        first.id,
    )
    await doubles.lib.execute("UPDATE duplicate_decision SET verdict = 'different'")

    assert (await doubles.lib.undo(first.id)).changed == 2
    assert (await doubles.lib.undo(last.id)).changed == 2

    assert await state(doubles) == before


async def test_a_rating_that_came_twice_goes_with_the_last_of_both(doubles: Doubles, folder: Path) -> None:
    a, b, c = sorted(await bring(doubles, folder, "a.jpg", "b.jpg", "c.jpg"))
    await doubles.lib.act("rate", [b], rating="3")
    await doubles.lib.act("rate", [c], rating="5")
    before = await state(doubles)
    first = await take(doubles, "keep_one", a, b)
    second = await take(doubles, "keep_one", a, c)

    undone = await doubles.lib.undo(first.id)
    assert undone.notes == {}
    assert await doubles.lib.value("SELECT rating FROM asset WHERE id = $1", a) == 5

    await doubles.lib.undo(second.id)
    assert await state(doubles) == before


@pytest.mark.parametrize("seed", range(8))
async def test_any_decisions_in_any_order_of_undo_leave_nothing(
    doubles: Doubles, folder: Path, seed: int
) -> None:
    rng = random.Random(seed)
    ids = sorted(await bring(doubles, folder, "a.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg"))
    for one, rating in zip(ids, (0, *rng.sample(range(1, 6), 4)), strict=True):
        await doubles.lib.act("tag", [one], tags="; ".join(rng.sample(["sea", "anna", "pier", "dog"], 2)))
        await doubles.lib.act("rate", [one], rating=str(rating))
    await doubles.lib.act("title", [rng.choice(ids)], title="A day")
    before = await state(doubles)
    standing: list[Taken] = []

    async def undo() -> None:
        gone = standing.pop(rng.randrange(len(standing)))
        assert (await doubles.lib.undo(gone.id)).changed == 2, (gone, standing)
        await agree(doubles, standing)

    for _ in range(30):
        if standing and rng.random() < 0.3:
            await undo()
            continue
        one, other = rng.sample(ids, 2)
        kind = rng.choice(["alternate", "different", "keep_one"])
        if kind == "keep_one" and rng.random() < 0.7:
            # The same one over and over: what it gets from each is a chain.
            one, other = ids[0], rng.choice(ids[1:])
        try:
            standing.append(await take(doubles, kind, one, other))
        except Conflict as refused:
            assert refused.title.endswith("lies in the trash")
        await agree(doubles, standing)
    while standing:
        await undo()

    assert await state(doubles) == before
    assert await doubles.lib.value("SELECT count(*) FROM duplicate_decision") == 0


async def test_four_decisions_at_once_about_each_pair_agree_and_are_undone_in_any_order(
    doubles: Doubles, folder: Path
) -> None:
    for seed in range(24):
        for name, quality in (("a", 92), ("b", 80)):
            put(folder, f"{seed}{name}.jpg", jpeg(scene(seed), quality))
    await doubles.imports.scan(folder)
    await doubles.search()
    pairs = await doubles.shown()
    assert len(pairs) == 24
    before = await state(doubles)

    async def one(kind: str, a: int, b: int) -> Taken | None:
        try:
            return await take(doubles, kind, a, b)
        except Conflict as refused:
            assert refused.title.endswith("lies in the trash")
            return None

    rng = random.Random(24)
    taken: list[Taken] = []
    for a, b in pairs:
        four = [("keep_one", a, b), ("keep_one", b, a), ("different", a, b), ("alternate", a, b)]
        rng.shuffle(four)
        won = [t for t in await asyncio.gather(*(one(*each) for each in four)) if t]
        assert Counter(t.kind for t in won)["keep_one"] == 1
        taken += won
    trashed = await doubles.lib.rows("SELECT id FROM asset WHERE state = 'trashed'")
    assert {row["id"] for row in trashed} == {t.other for t in taken if t.kind == "keep_one"}
    await agree(doubles, sorted(taken, key=lambda t: t.id))

    rng.shuffle(taken)
    for each in taken:
        assert (await doubles.lib.undo(each.id)).changed == 2

    assert await state(doubles) == before
    assert await doubles.shown() == pairs
