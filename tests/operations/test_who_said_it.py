"""Tags that files and people say: a person's word stays, and an undo leaves what is said at that moment."""

from __future__ import annotations

import asyncio
import json
import random

import pytest

from appliance.operations import services
from appliance.tagging import services as tagging
from tests.operations.conftest import Library


async def test_a_tag_that_a_person_confirms_stays_when_the_file_is_silent(library: Library) -> None:
    ids = await library.fill(3)
    await library.say(ids, "sea", "pier")
    before = await library.snapshot()

    confirmed = await library.act("tag", ids[:2], tags="sea", person=7)

    assert confirmed.changed == 2
    assert await library.who(ids[0]) == {"sea": "human", "pier": "sidecar"}
    assert (await library.undo(confirmed.id)).notes == {}
    assert await library.snapshot() == before
    await library.act("tag", ids[:2], tags="sea", person=7)
    await library.say(ids)
    assert [await library.who(i) for i in ids] == [{"sea": "human"}, {"sea": "human"}, {}]
    assert await library.uses("sea") == 2 == await library.tagged("sea")


async def test_undoing_a_confirmation_does_not_bring_back_what_the_file_says_no_more(
    library: Library,
) -> None:
    ids = await library.fill(2)
    await library.say(ids, "sea")
    confirmed = await library.act("tag", ids, tags="sea")
    await library.say(ids[:1])

    undone = await library.undo(confirmed.id)

    assert (undone.changed, undone.notes) == (2, {})
    assert [await library.who(i) for i in ids] == [{}, {"sea": "sidecar"}]
    await library.say(ids)
    assert await library.who(ids[1]) == {}


async def test_undoing_a_tag_leaves_what_the_file_began_to_say_since(library: Library) -> None:
    ids = await library.fill(2)
    tagged = await library.act("tag", ids, tags="sea")
    await library.say(ids[:1], "sea")
    assert await library.who(ids[0]) == {"sea": "human"}

    assert (await library.undo(tagged.id)).notes == {}

    assert [await library.who(i) for i in ids] == [{"sea": "sidecar"}, {}]
    assert await library.uses("sea") == 1
    await library.say(ids[:1])
    assert await library.who(ids[0]) == {}


async def test_undoing_a_removal_leaves_off_what_the_file_says_no_more_and_lets_it_say_it_again(
    library: Library,
) -> None:
    ids = await library.fill(2)
    await library.say(ids, "sea")
    removal = await library.act("untag", ids, tags="sea")
    await library.say(ids[:1], "pier")

    undone = await library.undo(removal.id)

    assert (undone.changed, undone.notes) == (2, {"changed_since": 1})
    assert [await library.who(i) for i in ids] == [{"pier": "sidecar"}, {"sea": "sidecar"}]
    assert await library.value("SELECT count(*) FROM tag_rejection") == 0
    await library.say(ids[:1], "sea")
    assert await library.who(ids[0]) == {"sea": "sidecar"}


async def test_a_tag_that_was_merged_meanwhile_is_said_by_its_new_name(library: Library) -> None:
    ids = await library.fill(2)
    await library.say(ids, "kitty")
    confirmed = await library.act("tag", ids[:1], tags="kitty")
    removal = await library.act("untag", ids[1:], tags="kitty")
    async with library.db.unit_of_work() as uow:
        kitty = await uow.sql.fetchval("SELECT id FROM tag WHERE name = 'kitty'")
        await tagging.merge(uow, kitty, await tagging.make(uow, "cat", "general"))

    await library.undo(confirmed.id)
    await library.undo(removal.id)

    assert [await library.who(i) for i in ids] == [{"cat": "sidecar"}, {"cat": "sidecar"}]
    assert await library.uses("cat") == 2


async def test_a_rejection_is_remembered_again_after_its_tag_was_merged(library: Library) -> None:
    ids = await library.fill(1)
    await library.say(ids, "kitty")
    await library.act("untag", ids, tags="kitty")
    again = await library.act("tag", ids, tags="kitty")
    async with library.db.unit_of_work() as uow:
        kitty = await uow.sql.fetchval("SELECT id FROM tag WHERE name = 'kitty'")
        await tagging.merge(uow, kitty, await tagging.make(uow, "cat", "general"))

    await library.undo(again.id)
    await library.say(ids, "cat", "dog")

    assert await library.who(ids[0]) == {"dog": "sidecar"}


async def test_what_older_actions_remember_can_be_undone(library: Library) -> None:
    ids = await library.fill(2)
    tagged = await library.act("tag", ids, tags="sea")
    for name in ("replaced", "accepted"):
        await library.execute("UPDATE operation_item SET before = before - $1::text", name)
    [item] = await library.rows("SELECT before::text FROM operation_item WHERE asset_id = $1", ids[0])
    assert set(json.loads(item["before"])) == {"added", "at"}

    assert (await library.undo(tagged.id)).changed == 2
    assert await library.tagged("sea") == 0


async def test_thousands_are_confirmed_and_given_back(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "AT_ONCE", 0)
    ids = await library.fill(2_400)
    await library.say(ids[::4], "sea")
    before = await library.snapshot()

    asked = await library.act("tag", ids, tags="sea; evening", person=7)
    await library.carry_out(asked.id)
    assert await library.uses("sea") == await library.tagged("sea") == 2_400
    assert await library.value("SELECT count(*) FROM asset_tag WHERE by <> 'human'") == 0
    undone = await library.undo(asked.id)
    await library.carry_out(undone.id)

    assert await library.snapshot() == before
    assert await library.uses("sea") == await library.tagged("sea")


@pytest.mark.parametrize("seed", range(4))
async def test_when_all_is_undone_assets_carry_what_their_files_say_at_that_moment(
    library: Library, seed: int
) -> None:
    rng = random.Random(seed)
    ids = await library.fill(12)
    names = ["sea", "pier", "evening"]
    done = [(await library.act("tag", ids, tags="; ".join(names))).id]
    said: dict[int, set[str]] = {i: set() for i in ids}
    for _ in range(60):
        some, tags = rng.sample(ids, rng.randint(1, 12)), rng.sample(names, rng.randint(1, 3))
        kind = rng.choice(["tag", "untag", "say", "hush"])
        if kind in ("tag", "untag"):
            asked = await library.act(kind, some, tags="; ".join(tags))
            done += [asked.id] if asked.changed else []
            continue
        now = set(tags) if kind == "say" else set()
        await library.say(some, *now)
        said |= dict.fromkeys(some, now)

    for operation in reversed(done):
        await library.undo(operation)

    assert {i: await library.who(i) for i in ids} == {i: dict.fromkeys(t, "sidecar") for i, t in said.items()}
    assert await library.value("SELECT count(*) FROM tag_rejection") == 0
    for name in names:
        assert await library.uses(name) == await library.tagged(name)


async def test_an_undo_and_a_file_that_falls_silent_at_the_same_moment(library: Library) -> None:
    ids = await library.fill(12)
    for kind in ("tag", "untag"):
        await library.say(ids, "sea")
        done = await library.act(kind, ids, tags="sea")
        await asyncio.gather(library.undo(done.id), *(library.say([i]) for i in ids))
        assert [await library.who(i) for i in ids] == [{}] * len(ids)
    assert await library.value("SELECT count(*) FROM tag_rejection") == 0
