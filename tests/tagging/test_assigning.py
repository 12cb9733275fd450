"""Putting tags on and taking them off: exact, undoable, counted."""

from __future__ import annotations

import asyncio

import pytest

from appliance.core.db import Database
from appliance.tagging import services
from appliance.tagging.errors import BadKind, BadName
from tests.tagging.conftest import carried, counted, many, nothing, tag, true_counts


async def test_assign_answers_what_was_really_new(db: Database) -> None:
    ids = await many(db, 5)
    cat, dog = await tag(db, "cat"), await tag(db, "dog")
    async with db.unit_of_work() as uow:
        assert len(await services.assign(uow, ids[:2], [cat])) == 2
        new = await services.assign(uow, ids, [cat, dog])
    assert sorted(new) == sorted([(i, cat) for i in ids[2:]] + [(i, dog) for i in ids])
    assert await counted(db) == {cat: 5, dog: 5}


@pytest.mark.parametrize("by", ["sidecar", "source", "rule", "model"])
async def test_a_persons_word_takes_the_place_of_what_others_said(db: Database, by: str) -> None:
    ids = await many(db, 3)
    cat = await tag(db, "cat")
    async with db.unit_of_work() as uow:
        await services.assign(uow, ids[:1], [cat], by=by)
        await uow.sql.execute("UPDATE asset_tag SET model_id = 3, score = 0.5")
        await services.assign(uow, ids[1:2], [cat], user_id=8)
        before = await uow.sql.fetch("SELECT * FROM asset_tag ORDER BY asset_id")
    async with db.unit_of_work() as uow:
        put = await services.put(uow, ids, [cat], user_id=7)
        now = await uow.sql.fetch("SELECT by, user_id, model_id, score FROM asset_tag ORDER BY asset_id")

    assert [tuple(row) for row in now] == [("human", who, None, None) for who in (7, 8, 7)]
    assert put.new == [(ids[2], cat)]
    [replaced] = put.replaced
    assert (replaced.by, replaced.model_id, replaced.score) == (by, 3, 0.5)
    assert replaced.added_at == before[0]["added_at"]
    assert await counted(db) == await true_counts(db) == {cat: 3}


async def test_of_many_people_at_once_each_says_it_once(db: Database) -> None:
    ids = await many(db, 40)
    cat, dog = await tag(db, "cat"), await tag(db, "dog")
    async with db.unit_of_work() as uow:
        await services.assign(uow, ids[::2], [cat, dog], by="sidecar")

    async def say(person: int) -> services.Put:
        async with db.unit_of_work() as uow:
            return await services.put(uow, ids[::-1], [dog, cat], user_id=person)

    puts = await asyncio.gather(*(say(person) for person in range(1, 6)))

    assert sum(len(p.new) for p in puts) == 40
    assert sum(len(p.replaced) for p in puts) == 40
    async with db.unit_of_work() as uow:
        assert await uow.sql.fetchval("SELECT count(*) FROM asset_tag WHERE by = 'human'") == 80
    assert await counted(db) == await true_counts(db) == {cat: 40, dog: 40}


async def test_removed_tags_come_back_exactly_as_they_were(db: Database) -> None:
    ids = await many(db, 3)
    cat = await tag(db, "cat")
    async with db.unit_of_work() as uow:
        await services.assign(uow, ids[:2], [cat], by="source")
        before = await uow.sql.fetch("SELECT * FROM asset_tag ORDER BY asset_id")
        removed = await services.unassign(uow, ids, [cat])
        assert [r.asset_id for r in removed] == ids[:2]
        assert len((await services.restore(uow, removed, said=nothing)).put) == 2
        assert await uow.sql.fetch("SELECT * FROM asset_tag ORDER BY asset_id") == before
        assert (await services.restore(uow, removed, said=nothing)).put == []
    assert await counted(db) == await true_counts(db) == {cat: 2}


async def test_hidden_assets_carry_tags_that_are_not_counted(db: Database) -> None:
    ids = await many(db, 4)
    cat = await tag(db, "cat")
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET private = true WHERE id = $1", ids[0])
        await services.assign(uow, ids, [cat])
        await uow.sql.execute("UPDATE asset SET state = 'trashed' WHERE id = $1", ids[1])
    assert await counted(db) == await true_counts(db) == {cat: 2}
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET private = false WHERE id = $1", ids[0])
        await uow.sql.execute("DELETE FROM asset WHERE id = $1", ids[2])
    assert await counted(db) == await true_counts(db) == {cat: 2}


async def test_counts_stay_true_while_assets_are_hidden_and_tagged_at_once(db: Database) -> None:
    ids = await many(db, 60)
    cat = await tag(db, "cat")

    async def put(some: list[int]) -> None:
        async with db.unit_of_work() as uow:
            await services.assign(uow, some, [cat])

    async def hide(some: list[int]) -> None:
        async with db.unit_of_work() as uow:
            await uow.sql.execute(
                "UPDATE asset SET private = NOT private, effective_at = effective_at - interval '40 days'"
                " WHERE id = ANY($1::bigint[])",
                some,
            )

    for part in range(0, 60, 10):
        some = ids[part : part + 10]
        await asyncio.gather(put(some), hide(some), put(some[::-1]))
    assert len(await carried(db)) == 60
    assert await counted(db) == await true_counts(db)
    async with db.unit_of_work() as uow:
        apart = await uow.sql.fetchval(
            "SELECT count(*) FROM asset_tag x JOIN asset a ON a.id = x.asset_id"
            " WHERE a.effective_at <> x.effective_at"
        )
    assert apart == 0


async def test_one_tag_is_made_by_many_at_once(db: Database) -> None:
    spellings = ("Long hair", "long_hair", " LONG  HAIR ")
    assert len(set(await asyncio.gather(*(tag(db, s) for s in spellings)))) == 1


@pytest.mark.parametrize("name", ["", "  ", "__", "a\0b", "a\u202eb", "x" * 101, "tab\x07"])
async def test_names_that_cannot_be_seen_or_written_are_refused(db: Database, name: str) -> None:
    with pytest.raises(BadName):
        await tag(db, name)


REAL = ["-_-", ":3", 'don\'t say "lazy"', "\\m/", ";)", "re:zero", "/a/", "straße", "👩\u200d🎨"]


@pytest.mark.parametrize("name", REAL)
async def test_names_of_real_boorus_are_found_again(db: Database, name: str) -> None:
    made = await tag(db, name)
    async with db.unit_of_work() as uow:
        assert await services.resolve(uow.sql, services.name_key(name)) == [made]


async def test_one_name_of_two_works_is_two_tags(db: Database) -> None:
    first, second = await tag(db, "One", "fandom"), await tag(db, "Two", "fandom")
    a = await tag(db, "Rin", "character", first)
    b = await tag(db, "Rin", "character", second)
    async with db.unit_of_work() as uow:
        assert await services.resolve(uow.sql, "rin") == [a, b]
        assert await services.resolve(uow.sql, "rin", fandom="two") == [b]
        assert await services.resolve(uow.sql, "rin", kind="artist") == []
    with pytest.raises(BadKind):
        await tag(db, "Rin", "artist", first)
    with pytest.raises(BadKind):
        await tag(db, "Rin", "character", a)


async def test_what_no_column_can_hold_is_found_nowhere(db: Database) -> None:
    async with db.unit_of_work() as uow:
        assert await services.resolve(uow.sql, "a\0b") == []
        assert await services.complete(uow.sql, "\ud800\0") == []
        assert await services.expand(uow.sql, "x\0", limit=5) == ([], 0)


async def test_recent_tags_of_a_person_come_newest_first(db: Database) -> None:
    ids = await many(db, 2)
    cat, dog = await tag(db, "cat"), await tag(db, "dog")
    for each in (cat, dog, cat):
        async with db.unit_of_work() as uow:
            await services.assign(uow, ids, [each], user_id=7)
    async with db.unit_of_work() as uow:
        assert [t.id for t in await services.recent(uow.sql, 7)] == [cat, dog]
        assert await services.recent(uow.sql, 8) == []


async def test_shares_of_a_selection_tell_all_from_some(db: Database) -> None:
    ids = await many(db, 3)
    cat, dog = await tag(db, "cat"), await tag(db, "dog")
    async with db.unit_of_work() as uow:
        await services.assign(uow, ids, [cat])
        await services.assign(uow, ids[:1], [dog])
        shares = await services.shares(uow.sql, ids)
    assert [(t.name, n) for t, n in shares] == [("cat", 3), ("dog", 1)]


async def test_folding_and_mending_counts(db: Database) -> None:
    ids = await many(db, 10)
    cat, dog = await tag(db, "cat"), await tag(db, "dog")
    async with db.unit_of_work() as uow:
        await services.assign(uow, ids, [cat, dog])
        assert await services.fold(uow.sql) == 2
    async with db.unit_of_work() as uow:
        assert {t.id: t.uses for t in await services.find(uow.sql, [cat, dog])} == {cat: 10, dog: 10}
        await uow.sql.execute("UPDATE tag SET uses = 3 WHERE id = $1", cat)
        drift = await services.mend(uow.sql)
        assert (drift.tags, drift.off) == (1, 7)
    async with db.unit_of_work() as uow:
        assert (await services.mend(uow.sql)).tags == 0
    assert await counted(db) == await true_counts(db)
