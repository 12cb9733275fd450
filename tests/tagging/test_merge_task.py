"""Merges too large for a request: asked once, done whole or not at all, fenced."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from appliance.core.db import Database
from appliance.core.errors import Conflict
from appliance.tagging import merging, services
from queues import runs, tagging
from queues.process import Process
from tests.queues.tables import Yard
from tests.tagging.conftest import carried, counted, many, tag, true_counts


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "AT_ONCE", 10)


async def asked(db: Database) -> tuple[list[int], int, int, int]:
    ids = await many(db, 40)
    a, b = await tag(db, "a"), await tag(db, "b")
    async with db.unit_of_work() as uow:
        await services.assign(uow, ids[:30], [a])
        await services.assign(uow, ids[20:], [b])
        for _ in range(2):
            assert await services.ask_merge(uow, a, b, user_id=1) is None
        (row,) = await uow.sql.fetch("SELECT id FROM tag_merge")
    return ids, a, b, row["id"]


async def enrolled(make_process: Any) -> Process:
    process: Process = await make_process(Yard())
    await process.enrol()
    return process


async def test_a_small_merge_is_done_at_once(db: Database) -> None:
    ids = await many(db, 5)
    a, b = await tag(db, "a"), await tag(db, "b")
    async with db.unit_of_work() as uow:
        await services.assign(uow, ids, [a])
        done = await services.ask_merge(uow, a, b)
    assert done is not None
    assert await carried(db) == {(i, b) for i in ids}


async def test_a_large_merge_is_done_by_its_task(store: Database, make_process: Any) -> None:
    ids, a, b, row = await asked(store)
    await runs.execute(await enrolled(make_process), tagging.merge_tags, row)
    assert await carried(store) == {(i, b) for i in ids}
    assert await counted(store) == await true_counts(store)
    async with store.unit_of_work() as uow:
        (done,) = await uow.sql.fetch("SELECT status, moved, shared, claim FROM tag_merge")
        assert tuple(done) == ("done", 20, 10, None)
        assert await services.became(uow.sql, a) == b
        assert await services.last_asked(uow.sql, a) is None


async def test_a_merge_whose_row_was_taken_over_changes_nothing(store: Database, make_process: Any) -> None:
    _, a, _, row = await asked(store)
    before = await carried(store)
    run = await runs.claim(await enrolled(make_process), tagging.merge_tags, row)
    assert run is not None
    async with store.unit_of_work() as uow:
        await uow.sql.execute("UPDATE tag_merge SET claim = $1", uuid.uuid4())
    with pytest.raises(Conflict):
        await tagging.merge_tags.body(run)
    assert await carried(store) == before
    async with store.unit_of_work() as uow:
        assert [t.id for t in await services.find(uow.sql, [a])] == [a]


async def test_a_merge_that_cannot_be_says_why(store: Database, make_process: Any) -> None:
    _, a, b, row = await asked(store)
    c = await tag(store, "c")
    async with store.unit_of_work() as uow:
        await services.merge(uow, a, c)
    await runs.execute(await enrolled(make_process), tagging.merge_tags, row)
    async with store.unit_of_work() as uow:
        (row_after,) = await uow.sql.fetch("SELECT status, error FROM tag_merge")
    assert row_after["status"] == "error"
    assert "merged into another one" in row_after["error"]
    assert {t for _, t in await carried(store)} == {b, c}
