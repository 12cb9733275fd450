"""What was deleted for good since cannot be given back: no undo is offered for it, and the rest is told."""

from __future__ import annotations

import asyncio

import pytest

from appliance.core.errors import Conflict
from appliance.operations import carrying, history, listing
from appliance.operations.history import OperationView
from appliance.operations.stored import plain
from tests.operations.conftest import Library


async def seen(library: Library, operation_id: int) -> OperationView:
    async with library.db.unit_of_work() as uow:
        return await history.view(uow.sql, operation_id)


async def purge(library: Library, ids: list[int]) -> int:
    await library.act("trash", ids)
    return (await library.act("purge", ids)).id


async def test_an_action_of_which_nothing_is_left_offers_no_undo(library: Library) -> None:
    ids = await library.fill(3)
    rated = await library.act("rate", ids, rating="3")
    await purge(library, ids)

    found = await seen(library, rated.id)

    assert (found.gone, found.changed, found.undoable) == (3, 3, False)
    with pytest.raises(Conflict, match="nothing left"):
        await library.undo(rated.id)
    assert (await library.operation(rated.id))["undoes"] is None


async def test_what_is_left_is_undone_and_what_is_gone_is_counted(library: Library) -> None:
    ids = await library.fill(5)
    rated = await library.act("rate", ids, rating="3")
    tagged = await library.act("tag", ids[2:], tags="sea")
    await purge(library, ids[:2])
    await purge(library, ids[2:3])

    assert (await seen(library, rated.id)).gone == 3
    found = await seen(library, tagged.id)
    assert (found.gone, found.undoable) == (1, True)
    undone = await library.undo(rated.id)

    assert (undone.changed, undone.notes) == (2, {"gone": 3})
    assert await library.value("SELECT sum(rating) FROM asset") == 0
    assert await library.tagged("sea") == 2


async def test_the_few_that_are_left_of_very_many_are_undone(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "AT_ONCE", 3)
    ids = await library.fill(5)
    rated = await library.act("rate", ids, rating="3")
    await purge(library, ids[:3])

    undone = await library.undo(rated.id)

    assert (undone.status, undone.changed) == ("done", 2)
    assert await library.value("SELECT sum(rating) FROM asset") == 0


async def test_only_what_an_action_changed_counts_as_gone_from_it(library: Library) -> None:
    ids = await library.fill(4)
    await library.act("rate", ids[:2], rating="3")
    again = await library.act("rate", ids, rating="3")
    assert again.changed == 2

    await purge(library, ids[:2])
    assert (await seen(library, again.id)).gone == 0
    await purge(library, ids[2:])

    found = await seen(library, again.id)
    assert (found.gone, found.undoable) == (2, False)


async def test_deletions_have_nothing_counted_beside_them(library: Library) -> None:
    ids = await library.fill(2)
    await library.act("rate", ids, rating="3")
    deleted = await purge(library, ids)
    counted = await library.rows("SELECT operation_id, purge_id FROM operation_gone ORDER BY operation_id")
    assert {row["purge_id"] for row in counted} == {deleted}
    assert deleted not in {row["operation_id"] for row in counted}


async def test_what_was_given_back_and_then_deleted_is_not_missed(library: Library) -> None:
    ids = await library.fill(5)
    rated = await library.act("rate", ids, rating="3")
    over = await library.act("rate", ids[2:], rating="5")
    assert (await library.undo(rated.id)).notes == {"changed_since": 3}
    await library.undo(over.id)
    await purge(library, ids[1:3])

    found = await seen(library, rated.id)
    assert (found.left, found.gone, found.taken_back, found.undoable) == (2, 2, "partly", True)
    undone = await library.undo(rated.id)

    assert (undone.changed, undone.notes) == (2, {"gone": 1})
    found = await seen(library, rated.id)
    assert (found.left, found.taken_back, found.undoable) == (0, "done", False)
    assert (await seen(library, undone.id)).gone == 0


async def test_what_is_deleted_between_the_wish_and_its_turn_is_gone_and_not_changed(
    library: Library,
) -> None:
    ids = await library.fill(600)
    rated = await library.act("rate", ids, rating="3")
    await library.carry_out(rated.id)
    await library.act("rate", ids[:1], rating="5")
    undone = await library.undo(rated.id)
    await purge(library, ids[-2:])

    await library.carry_out(undone.id)

    after = await library.operation(undone.id)
    assert (after["changed"], plain(after["notes"])) == (597, {"changed_since": 1, "gone": 2})


async def test_one_key_passes_by_what_is_gone(library: Library) -> None:
    ids = await library.fill(2)
    first = await library.act("favourite", ids[:1], person=7)
    await library.act("rate", ids[1:], person=7, rating="3")
    await purge(library, ids[1:])

    async with library.db.unit_of_work() as uow:
        last = await history.last_undoable(uow.sql, 7)

    assert last is not None
    assert last.id == first.id


async def test_many_are_counted_in_one_row_for_each_deletion(library: Library) -> None:
    ids = await library.fill(900)
    rated = await library.act("rate", ids, rating="3")
    await library.carry_out(rated.id)
    await library.act("trash", ids[:450])
    await library.act("trash", ids[450:])
    deleted = await library.act("purge", ids)
    assert deleted.status == "pending"

    await library.carry_out(deleted.id, chunks=2)
    assert (await seen(library, rated.id)).gone == 400
    await library.carry_out(deleted.id)

    rows = await library.rows("SELECT purge_id, assets FROM operation_gone WHERE operation_id = $1", rated.id)
    assert [tuple(row) for row in rows] == [(deleted.id, 900)]
    assert not (await seen(library, rated.id)).undoable


async def test_a_deletion_does_not_wait_for_an_action_that_goes_on(library: Library) -> None:
    ids = await library.fill(1_500)
    rated = await library.act("rate", ids, rating="3")
    await library.carry_out(rated.id, chunks=1)
    claim = await library.claim(rated.id)

    async with library.db.unit_of_work() as uow:
        working = await carrying._fenced(uow.sql, rated.id, claim)
        # The row of the action is held here, and its next thousand still waits for its assets.
        await asyncio.wait_for(purge(library, ids[:1] + ids[-1:]), timeout=60)
        assert (await carrying.chunk(uow, working))[0] == 500

    assert (await seen(library, rated.id)).gone == 1
    assert (await library.operation(rated.id))["changed"] == 1_499


async def test_words_about_a_picture_leave_the_history_with_it(library: Library) -> None:
    ids = await library.fill(2)
    for one, text in zip(ids, ("gone", "kept"), strict=True):
        for kind in ("title", "note"):
            await library.act(kind, [one], **{kind: f"first {text}"})
            await library.act(kind, [one], **{kind: f"then {text}"})
    before = await library.rows("SELECT id FROM operation WHERE arguments::text LIKE '%kept%' ORDER BY id")

    await purge(library, ids[:1])

    left = await library.value(
        "SELECT string_agg(o::text || i::text, '') FROM operation o"
        " JOIN operation_item i ON i.operation_id = o.id"
    )
    assert "gone" not in left
    assert len(before) == 4
    await library.undo(before[-1]["id"])
    await library.undo(before[1]["id"])
    assert await library.value("SELECT title || ', ' || note FROM asset") == "first kept, first kept"


async def test_counts_of_what_is_gone_leave_the_history_with_their_action(library: Library) -> None:
    ids = await library.fill(1)
    rated = await library.act("rate", ids, rating="3")
    await purge(library, ids)
    await library.execute("DELETE FROM operation WHERE id = $1", rated.id)
    left = await library.rows("SELECT 1 FROM operation_gone WHERE operation_id = $1", rated.id)
    assert left == []
