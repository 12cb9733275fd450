"""Merging: serialised, nothing left behind, other names and former ids go on."""

from __future__ import annotations

import asyncio

import pytest

from appliance.core.db import Database
from appliance.core.errors import Conflict, Invalid
from appliance.tagging import services
from tests.tagging.conftest import carried, counted, many, nothing, tag, true_counts


async def merge(db: Database, source: int, target: int) -> services.Merged:
    async with db.unit_of_work() as uow:
        return await services.merge(uow, source, target)


async def put(db: Database, ids: list[int], tag_id: int, by: str = "human") -> None:
    async with db.unit_of_work() as uow:
        await services.assign(uow, ids, [tag_id], by=by)


@pytest.mark.parametrize("order", [0, 1])
async def test_a83_two_merges_and_an_assignment_at_once_leave_all_on_the_last(
    db: Database, order: int
) -> None:
    ids = await many(db, 1000)
    a, b, c = await tag(db, "a"), await tag(db, "b"), await tag(db, "c")
    await put(db, ids[:600], a)
    await put(db, ids[400:], b)
    works = [merge(db, a, b), merge(db, b, c)]
    await asyncio.gather(*(works[::-1] if order else works), put(db, ids[:50], a), put(db, ids[-50:], b))
    assert await carried(db) == {(i, c) for i in ids}
    async with db.unit_of_work() as uow:
        assert await services.resolve(uow.sql, "a") == await services.resolve(uow.sql, "b") == [c]
    assert await counted(db) == await true_counts(db) == {c: 1000}
    await put(db, ids[:1], a)
    assert await tag(db, "a") == c


async def test_merge_counts_the_overlap_before_it(db: Database) -> None:
    ids = await many(db, 10)
    a, b = await tag(db, "a"), await tag(db, "b")
    await put(db, ids[:6], a)
    await put(db, ids[4:], b)
    async with db.unit_of_work() as uow:
        seen = await services.overlap(uow.sql, a, b)
    assert (seen.source, seen.target, seen.both) == (6, 6, 2)
    done = await merge(db, a, b)
    assert (done.moved, done.both) == (4, 2)


async def test_a_persons_assignment_is_kept_over_a_models(db: Database) -> None:
    ids = await many(db, 2)
    a, b = await tag(db, "a"), await tag(db, "b")
    await put(db, ids, a, "human")
    await put(db, ids[:1], b, "model")
    await merge(db, a, b)
    async with db.unit_of_work() as uow:
        tags = [await services.of_asset(uow.sql, i) for i in ids]
    assert [[t.by for t in each] for each in tags] == [["human"], ["human"]]
    assert await counted(db) == await true_counts(db)


async def test_undo_after_a_merge_lands_on_what_the_tag_became(db: Database) -> None:
    ids = await many(db, 2)
    a, b = await tag(db, "a"), await tag(db, "b")
    await put(db, ids, a)
    async with db.unit_of_work() as uow:
        removed = await services.unassign(uow, ids, [a])
    await merge(db, a, b)
    async with db.unit_of_work() as uow:
        restored = await services.restore(uow, removed, said=nothing)
        assert sorted(restored.put) == [(i, b) for i in sorted(ids)]


async def test_merging_twice_changes_nothing_and_into_itself_is_refused(db: Database) -> None:
    a, b, c = await tag(db, "a"), await tag(db, "b"), await tag(db, "c")
    await merge(db, a, b)
    assert (await merge(db, a, b)).moved == 0
    with pytest.raises(Conflict):
        await merge(db, a, c)
    with pytest.raises(Invalid):
        await merge(db, b, b)


async def test_merged_fandoms_merge_the_characters_that_both_have(db: Database) -> None:
    ids = await many(db, 2)
    one, two = await tag(db, "One", "fandom"), await tag(db, "Two", "fandom")
    rin1, rin2 = await tag(db, "Rin", "character", one), await tag(db, "Rin", "character", two)
    luka = await tag(db, "Luka", "character", one)
    await put(db, ids[:1], rin1)
    await put(db, ids[1:], luka)
    await merge(db, one, two)
    assert await carried(db) == {(ids[0], rin2), (ids[1], luka)}
    async with db.unit_of_work() as uow:
        assert await services.resolve(uow.sql, "luka", fandom="two") == [luka]
        assert await services.resolve(uow.sql, "rin") == [rin2]
    assert await tag(db, "Luka", "character", two) == luka
    with pytest.raises(Invalid):
        await merge(db, two, luka)


async def test_a_fandom_with_characters_becomes_no_other_kind(db: Database) -> None:
    one, plain = await tag(db, "One", "fandom"), await tag(db, "plain")
    rin = await tag(db, "Rin", "character", one)
    with pytest.raises(Conflict):
        await merge(db, one, plain)
    async with db.unit_of_work() as uow:
        with pytest.raises(services.InUse):
            await services.recast(uow, one, "general")
        await services.recast(uow, rin, "artist")
        await services.recast(uow, one, "general")


async def test_renaming_keeps_the_former_name_and_offers_the_other_tag(db: Database) -> None:
    cat, dog = await tag(db, "cat"), await tag(db, "dog")
    async with db.unit_of_work() as uow:
        await services.rename(uow, cat, "Kitty")
        with pytest.raises(services.Taken) as refused:
            await services.rename(uow, cat, "Dog")
        assert refused.value.other_id == dog
        assert await services.resolve(uow.sql, "cat") == await services.resolve(uow.sql, "kitty") == [cat]
        await services.rename(uow, cat, "Cat")
        assert await services.resolve(uow.sql, "kitty") == [cat]
        assert await uow.sql.fetchval("SELECT count(*) FROM tag_alias WHERE name_key = 'cat'") == 0


async def test_other_names_are_added_removed_and_never_stolen(db: Database) -> None:
    cat, dog = await tag(db, "cat"), await tag(db, "dog")
    async with db.unit_of_work() as uow:
        await services.add_alias(uow, cat, "feline")
        for name in ("feline", "Cat"):
            with pytest.raises(services.Taken):
                await services.add_alias(uow, dog, name)
        alias = await uow.sql.fetchval("SELECT id FROM tag_alias")
        assert await services.remove_alias(uow, cat, alias) == "feline"
        await services.add_alias(uow, dog, "feline")
        assert await services.resolve(uow.sql, "feline") == [dog]


async def test_a_tag_is_deleted_only_when_nothing_carries_it(db: Database) -> None:
    ids = await many(db, 1)
    cat, dog = await tag(db, "cat"), await tag(db, "dog")
    await put(db, ids, cat)
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET state = 'trashed'")
        with pytest.raises(services.InUse):
            await services.delete(uow, cat)
        assert await services.delete(uow, dog) == "dog"
        with pytest.raises(services.NoTag):
            await services.delete(uow, dog)
