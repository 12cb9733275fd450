"""What an undo left, as it had been changed since, is given back when asked again; and nothing twice."""

from __future__ import annotations

import asyncio

import pytest

from appliance.core.errors import Conflict
from appliance.operations import history, listing, services
from appliance.operations.stored import plain
from tests.operations.conftest import Library


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("rate", {"rating": "3"}, {"rating": "5"}),
        ("title", {"title": "mine"}, {"title": "yours"}),
        ("turn", {"by": "90"}, {"by": "180"}),
        ("date", {"to": "2020-02-02"}, {"days": "1"}),
    ],
)
async def test_an_undo_in_vain_may_be_asked_again(
    library: Library, kind: str, first: dict[str, str], second: dict[str, str]
) -> None:
    ids = await library.fill(1)
    before = await library.snapshot()
    one = await library.act(kind, ids, **first)
    two = await library.act(kind, ids, **second)

    for _ in range(2):
        vain = await library.undo(one.id)
        assert (vain.changed, vain.notes) == (0, {"changed_since": 1})
    assert (await library.undo(two.id)).changed == 1
    assert (await library.undo(one.id)).changed == 1

    assert await library.snapshot() == before
    with pytest.raises(Conflict, match="undone already"):
        await library.undo(one.id)


@pytest.mark.parametrize("at_once", [True, False])
async def test_what_an_undo_left_is_given_back_later_and_nothing_twice(
    library: Library, at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "AT_ONCE", 500 if at_once else 0)
    monkeypatch.setattr(listing, "AT_ONCE", 20_000 if at_once else 0)

    async def undo(operation_id: int) -> tuple[int, dict[str, int]]:
        asked = await library.undo(operation_id)
        if not at_once:
            assert asked.status == "pending"
            await library.carry_out(asked.id)
        after = await library.operation(asked.id)
        return after["changed"], plain(after["notes"])

    async def rate(ids: list[int], rating: str) -> int:
        asked = await library.act("rate", ids, rating=rating)
        if not at_once:
            await library.carry_out(asked.id)
        return asked.id

    ids = await library.fill(10)
    three = await rate(ids, "3")
    five = await rate(ids[:4], "5")
    assert await undo(three) == (6, {"changed_since": 4})
    # Somebody wants three stars for one that was given back: that is theirs.
    await rate(ids[9:], "3")
    assert await undo(five) == (4, {})
    assert await undo(three) == (4, {})

    ratings = [r["rating"] for r in await library.rows("SELECT rating FROM asset ORDER BY id")]
    assert ratings == [0] * 9 + [3]
    with pytest.raises(Conflict, match="undone already"):
        await library.undo(three)


async def test_one_key_passes_by_what_was_undone_in_vain(library: Library) -> None:
    ids = await library.fill(2)
    first = await library.act("favourite", ids, person=7)
    vain = await library.act("rate", ids, person=7, rating="3")
    await library.act("rate", ids, rating="5")
    assert (await library.undo(vain.id)).changed == 0

    async with library.db.unit_of_work() as uow:
        last = await history.last_undoable(uow.sql, 7)

    assert last is not None
    assert last.id == first.id


async def test_of_many_people_at_once_one_takes_an_action_back(library: Library) -> None:
    ids = await library.fill(3)
    before = await library.snapshot()
    asked = await library.act("turn", ids, by="90")

    answers = await asyncio.gather(*(library.undo(asked.id) for _ in range(6)), return_exceptions=True)

    refused = [a for a in answers if isinstance(a, Conflict)]
    assert len(refused) == 5
    assert [a.changed for a in answers if not isinstance(a, BaseException)] == [3]
    assert await library.snapshot() == before


async def test_of_two_at_once_each_asset_is_given_back_by_one(library: Library) -> None:
    ids = await library.fill(6)
    asked = await library.act("rate", ids, rating="3")
    await library.act("rate", ids[:2], rating="5")

    answers = await asyncio.gather(library.undo(asked.id), library.undo(asked.id))

    assert sorted(a.changed for a in answers) == [0, 4]
    given = await library.rows(
        "SELECT asset_id FROM operation_item i JOIN operation o ON o.id = i.operation_id"
        " WHERE o.undoes = $1 AND i.changed",
        asked.id,
    )
    assert sorted(r["asset_id"] for r in given) == ids[2:]


async def test_a_second_wish_is_refused_while_the_first_undo_waits(library: Library) -> None:
    ids = await library.fill(600)
    asked = await library.act("rate", ids, rating="3")
    await library.carry_out(asked.id)
    first = await library.undo(asked.id)
    with pytest.raises(Conflict, match="being undone"):
        await library.undo(asked.id)
    await library.carry_out(first.id)
    with pytest.raises(Conflict, match="undone already"):
        await library.undo(asked.id)


async def test_a_stopped_undo_goes_on_with_the_rest(library: Library) -> None:
    ids = await library.fill(1_200)
    before = await library.snapshot()
    asked = await library.act("rate", ids, rating="3")
    await library.carry_out(asked.id)
    first = await library.undo(asked.id)
    await library.carry_out(first.id, chunks=1)
    async with library.db.unit_of_work() as uow:
        assert await services.cancel(uow, first.id)

    rest = await library.undo(asked.id)

    assert (rest.status, rest.changed, rest.notes) == ("done", 200, {})
    assert await library.snapshot() == before
