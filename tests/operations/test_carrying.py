"""Large actions: chunk by chunk under the fence, exact through stops, deaths and cancels."""

from __future__ import annotations

import asyncio
import uuid

import pytest

from appliance.core.errors import Conflict
from appliance.operations import asking, carrying, services
from appliance.operations.carrying import LostOperation
from appliance.operations.kinds import Kind
from appliance.operations.listing import MovedOn
from appliance.search.selections import Selection
from tests.operations.conftest import Library


async def queued(library: Library, kind: str, ids: list[int], **form: str) -> int:
    async with library.db.unit_of_work() as uow:
        wish = await services.wish(uow, Kind(kind), form)
        asked = await services.act(uow, Kind(kind), ids, wish, person=None)
    assert asked.status == "pending"
    return asked.id


async def test_more_than_five_hundred_wait_for_their_task(library: Library) -> None:
    ids = await library.fill(501)
    few = await library.act("favourite", ids[:500])
    many = await queued(library, "rate", ids, rating="2")

    assert (few.status, few.changed) == ("done", 500)
    assert await library.value("SELECT count(*) FROM asset WHERE rating = 2") == 0
    assert await library.carry_out(many) == "done"
    assert await library.value("SELECT count(*) FROM asset WHERE rating = 2") == 501


async def test_select_twelve_thousand_tag_undo_is_exact(library: Library) -> None:
    ids = await library.fill(12_500)
    await library.act("tag", ids[100:400], tags="sea")
    before = await library.snapshot()

    operation = await queued(library, "tag", ids[:12_000], tags="sea; artist:anna")
    await library.carry_out(operation)
    assert (await library.tagged("sea"), await library.tagged("anna")) == (12_000, 12_000)
    assert (await library.uses("sea"), await library.uses("anna")) == (12_000, 12_000)
    done = await library.operation(operation)
    assert (done["total"], done["done"], done["changed"]) == (12_000, 12_000, 12_000)

    undo = await library.undo(operation)
    assert (undo.status, undo.total) == ("pending", 12_000)
    await library.carry_out(undo.id)

    assert await library.snapshot() == before
    assert (await library.uses("sea"), await library.uses("anna")) == (300, 0)


async def test_a_stopped_action_goes_on_where_it_stood(library: Library) -> None:
    ids = await library.fill(3_500)
    operation = await queued(library, "rate", ids, rating="5")

    assert await library.carry_out(operation, chunks=2) == "pending"
    half = await library.operation(operation)
    rated = await library.value("SELECT count(*) FROM asset WHERE rating = 5")
    assert (half["done"], half["changed"], rated) == (2_000, 2_000, 2_000)

    assert await library.carry_out(operation) == "done"
    done = await library.operation(operation)
    assert (done["done"], done["changed"]) == (3_500, 3_500)
    assert await library.value("SELECT count(*) FROM asset WHERE rating = 5") == 3_500


async def test_whoever_lost_the_fence_changes_nothing(library: Library) -> None:
    ids = await library.fill(1_500)
    operation = await queued(library, "rate", ids, rating="5")
    await library.claim(operation)

    with pytest.raises(LostOperation):
        await services.carry_out(library.db, operation, uuid.uuid4(), stop=lambda: False)

    assert await library.value("SELECT count(*) FROM asset WHERE rating = 5") == 0
    assert (await library.operation(operation))["done"] == 0


async def test_a_chunk_and_its_counters_stand_or_fall_together(library: Library) -> None:
    ids = await library.fill(1_500)
    operation = await queued(library, "tag", ids, tags="sea")
    await library.claim(operation)

    with pytest.raises(ZeroDivisionError):
        async with library.db.unit_of_work() as uow:
            await carrying.chunk(uow, await carrying.load(uow.sql, operation))
            raise ZeroDivisionError

    assert await library.tagged("sea") == 0
    assert (await library.operation(operation))["done"] == 0


async def test_a_cancelled_action_keeps_what_it_did_and_that_can_be_undone(library: Library) -> None:
    ids = await library.fill(2_500)
    operation = await queued(library, "trash", ids)
    await library.carry_out(operation, chunks=1)
    with pytest.raises(Conflict, match="still being done"):
        await library.undo(operation)

    claim = await library.claim(operation)
    async with library.db.unit_of_work() as uow:
        assert await services.cancel(uow, operation)
    state = await services.carry_out(library.db, operation, claim, stop=lambda: False)
    await library.execute(
        "UPDATE operation SET status = $2, finished_at = now() WHERE id = $1", operation, state
    )

    assert state == "cancelled"
    assert await library.value("SELECT count(*) FROM asset WHERE state = 'trashed'") == 1_000
    undo = await library.undo(operation)
    assert undo.total == 1_000
    await library.carry_out(undo.id)
    assert await library.value("SELECT count(*) FROM asset WHERE state = 'trashed'") == 0


async def test_a_waiting_action_is_cancelled_at_once(library: Library) -> None:
    ids = await library.fill(600)
    operation = await queued(library, "trash", ids)
    async with library.db.unit_of_work() as uow:
        assert await services.cancel(uow, operation)
        assert not await services.cancel(uow, operation)
    assert (await library.operation(operation))["status"] == "cancelled"


async def test_a76_seventy_thousand_are_tagged_and_deleted_without_a_list(library: Library) -> None:
    ids = await library.fill(70_000)
    tagged = await queued(library, "tag", ids, tags="sea")
    await library.carry_out(tagged)
    assert await library.tagged("sea") == 70_000 == await library.uses("sea")

    thrown = await queued(library, "trash", ids)
    await library.carry_out(thrown)
    gone = await queued(library, "purge", ids)
    await library.carry_out(gone)

    assert await library.value("SELECT count(*) FROM asset") == 0
    assert await library.uses("sea") == 0
    assert (await library.operation(gone))["changed"] == 70_000


async def test_two_actions_on_the_same_assets_do_not_stop_each_other(library: Library) -> None:
    ids = await library.fill(2_000)
    first = await queued(library, "rate", ids, rating="1")
    second = await queued(library, "date", list(reversed(ids)), days="1")
    third = await queued(library, "tag", ids, tags="sea")

    states = await asyncio.gather(*(library.carry_out(o) for o in (first, second, third)))

    assert states == ["done"] * 3
    assert await library.value("SELECT count(*) FROM asset WHERE rating = 1") == 2_000
    same = "SELECT count(*) FROM asset_tag t JOIN asset a ON a.id = t.asset_id"
    assert await library.value(f"{same} WHERE t.effective_at = a.effective_at") == 2_000


async def large(library: Library, kind: str, chosen: Selection, expect: int) -> int:
    async with library.db.unit_of_work() as uow:
        asked = await asking.ask(uow, Kind(kind), chosen, {}, person=None, expect=expect)
    assert (asked.status, asked.total) == ("pending", expect)
    return asked.id


async def test_ids_of_very_many_are_written_down_by_the_task(library: Library) -> None:
    ids = await library.fill(20_400)
    chosen = Selection(everything=True, without=tuple(ids[:300]))
    operation = await large(library, "favourite", chosen, 20_100)
    assert await library.value("SELECT count(*) FROM operation_item") == 0

    assert await library.carry_out(operation) == "done"

    found = await library.operation(operation)
    assert (found["done"], found["changed"], found["total"]) == (20_100, 20_100, 20_100)
    undo = await library.undo(operation)
    assert (undo.status, undo.total) == ("pending", 20_100)
    assert await library.carry_out(undo.id) == "done"
    assert await library.value("SELECT count(*) FROM asset WHERE favourite") == 0


async def test_very_many_that_became_another_number_are_left_alone(library: Library) -> None:
    ids = await library.fill(20_100)
    operation = await large(library, "trash", Selection(everything=True), 20_100)
    await library.act("private", ids[:1])

    with pytest.raises(MovedOn, match="20,099 now, not 20,100"):
        await library.carry_out(operation)

    assert await library.value("SELECT count(*) FROM asset WHERE state = 'trashed'") == 0
    assert await library.value("SELECT count(*) FROM operation_item WHERE operation_id = $1", operation) == 0
