"""Drains: rows are claimed in batches, end once, and go back when they must."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from appliance.core import clock
from appliance.core.clock import Clock
from appliance.core.columns import ALONE_AFTER_INTERRUPTIONS, MAX_DELIVERIES
from appliance.core.db import Database
from appliance.core.drains import Delivered, Interrupted
from queues.declare import Task
from queues.drain import Runner
from queues.process import Process, Why
from tests.queues.conftest import until
from tests.queues.tables import CrateCame, Yard


async def add(db: Database, count: int = 1) -> None:
    async with db.unit_of_work() as uow:
        await uow.sql.execute("INSERT INTO q_crate (shelf) SELECT 0 FROM generate_series(1, $1)", count)
        uow.record(CrateCame())


async def states(db: Database) -> dict[str, int]:
    async with db.unit_of_work() as uow:
        return dict(await uow.sql.fetch("SELECT status, count(*) FROM q_crate GROUP BY 1"))


async def crates(db: Database) -> list[Any]:
    async with db.unit_of_work() as uow:
        return list(await uow.sql.fetch("SELECT * FROM q_crate ORDER BY id"))


async def passes(db: Database) -> list[Any]:
    async with db.unit_of_work() as uow:
        return list(await uow.sql.fetch("SELECT * FROM task_run ORDER BY id"))


async def runner(make_process: Any, yard: Yard) -> tuple[Process, Runner]:
    process: Process = await make_process(yard)
    await process.enrol()
    return process, Runner(process, yard.stow, yard.drain)


async def test_a_fact_starts_the_drain_and_each_row_has_one_effect(store: Database, serve: Any) -> None:
    yard = Yard()
    process = await serve(yard)
    await until(lambda: process.worker_id, "enrolled")
    await add(store, 100)

    async def done() -> bool:
        return [p["counts"] for p in await passes(store) if p["status"] == "done"] == [{"stowed": 100}]

    await until(done, "all stowed in one recorded pass")
    assert {c["effects"] for c in await crates(store)} == {1}
    assert await states(store) == {"complete": 100}


async def test_a_pass_works_on_several_rows_at_once_and_not_on_more(
    store: Database, make_process: Any
) -> None:
    yard = Yard(parallel=3)
    _, drain = await runner(make_process, yard)
    await add(store, 30)

    await drain.wake()

    assert yard.most_at_once == 3
    assert await states(store) == {"complete": 30}


async def test_a_pass_with_nothing_to_do_leaves_no_record(store: Database, make_process: Any) -> None:
    yard = Yard()
    _, drain = await runner(make_process, yard)

    await drain.wake()

    assert await passes(store) == []


async def test_a_hand_of_one_for_each_place_lets_an_urgent_row_go_next(
    store: Database, make_process: Any
) -> None:
    yard = Yard(parallel=1, hand=1)
    yard.gate = asyncio.Event()
    _, drain = await runner(make_process, yard)
    await add(store, 3)
    working = asyncio.create_task(drain.wake())
    await until(lambda: yard.seen, "begun")
    async with store.unit_of_work() as uow:
        urgent = await uow.sql.fetchval("INSERT INTO q_crate (shelf) VALUES (-1) RETURNING id")

    yard.gate.set()
    await working

    assert yard.seen[1] == urgent


async def test_a_drain_yields_its_slot_and_rings_itself(store: Database, make_process: Any) -> None:
    class Stepping(Clock):
        ahead = 0.0

        def monotonic(self) -> float:
            return super().monotonic() + self.ahead

    yard = Yard(parallel=1)
    yard.gate = asyncio.Event()
    process, drain = await runner(make_process, yard)
    held = Stepping()
    restore = clock.use(held)
    try:
        await add(store, 10)
        working = asyncio.create_task(drain.wake())
        await until(lambda: yard.seen, "begun")
        held.ahead = 61.0
        drain.stir()

        async def rest_is_back() -> bool:
            return await states(store) == {"processing": 1, "pending": 9}

        async def rung() -> bool:
            return await process.bell.queue("yard").count("queued") == 1

        await until(rest_is_back, "what was not begun is back before the last item ends")
        await until(rung, "the next pass is rung for")
        yard.gate.set()
        await asyncio.wait_for(working, 60)
    finally:
        restore()

    assert await states(store) == {"complete": 1, "pending": 9}
    assert {c["interruptions"] for c in await crates(store)} == {0}


async def test_a_new_pass_uses_the_free_places_while_the_old_one_ends(
    store: Database, make_process: Any
) -> None:
    yard = Yard(parallel=2)
    yard.gate = asyncio.Event()
    process, drain = await runner(make_process, yard)
    await add(store, 1)
    old = asyncio.create_task(drain.wake())
    await until(lambda: yard.seen, "begun")
    current = drain.current
    assert current is not None
    current.deadline = 0
    current.stirred.set()
    await until(lambda: drain.current is None, "ending")

    held, yard.gate = yard.gate, None
    await add(store, 5)
    await asyncio.wait_for(drain.wake(), 60)
    held.set()
    await old

    assert await states(store) == {"complete": 6}
    assert process.active == set()


async def test_rows_that_were_not_begun_go_back_uncounted_on_stop(store: Database, make_process: Any) -> None:
    yard = Yard(parallel=2)
    yard.gate = asyncio.Event()
    process, drain = await runner(make_process, yard)
    await add(store, 20)
    working = asyncio.create_task(drain.wake())
    await until(lambda: len(yard.seen) == 2, "begun")

    process.stopping.set()
    process.end_all(Why.STOPPING)
    await asyncio.wait_for(working, 60)

    assert await states(store) == {"pending": 20}
    assert {(c["interruptions"], c["deliveries"], c["claim"]) for c in await crates(store)} == {(0, 0, None)}


async def test_a_pass_waits_for_a_row_that_is_ready_soon(store: Database, make_process: Any) -> None:
    process, first = await runner(make_process, Yard())
    async with store.unit_of_work() as uow:
        await uow.sql.execute("INSERT INTO q_crate (shelf, queued_at) VALUES (0, now() + interval '300 ms')")

    async def ripe(sql: Any, worker_id: int, count: int) -> Any:
        waits = await sql.fetchval("SELECT count(*) FROM q_crate WHERE queued_at > now()")
        return [] if waits else await first.drain.claim(sql, worker_id, count)

    async def later(sql: Any) -> float | None:
        left: float | None = await sql.fetchval(
            "SELECT extract(epoch FROM min(queued_at) - now())::float8 FROM q_crate WHERE queued_at > now()"
        )
        return left

    one = Runner(process, first.task, replace(first.drain, claim=ripe, later=later))
    await one.wake()

    assert await states(store) == {"complete": 1}
    assert len(await passes(store)) == 1


async def test_a_blocked_drain_claims_nothing(store: Database, make_process: Any) -> None:
    reasons = ["disk is full"]
    yard = Yard(blocked=lambda: reasons[0])
    _, drain = await runner(make_process, yard)
    await add(store, 3)

    await drain.wake()

    assert await states(store) == {"pending": 3}


async def test_an_interrupted_row_goes_back_uncounted(store: Database, make_process: Any) -> None:
    yard = Yard(parallel=1)
    yard.raises = Interrupted()
    _process, drain = await runner(make_process, yard)
    await add(store, 1)
    working = asyncio.create_task(drain.wake())
    await until(lambda: len(yard.seen) >= 3, "taken again")

    yard.raises = None
    await working

    (crate,) = await crates(store)
    assert (crate["status"], crate["interruptions"], crate["deliveries"]) == ("complete", 0, 0)


async def test_a_row_whose_child_dies_is_tried_three_times_and_then_fails_alone(
    store: Database, make_process: Any
) -> None:
    yard = Yard(parallel=4)
    _, drain = await runner(make_process, yard)
    await add(store, 12)
    body, poison = yard._stow, 5
    alone_at: list[int] = []

    async def stow(item: Any) -> str:
        if item.id == poison:
            alone_at.append(yard.at_once if item.alone else -1)
            raise Delivered("killed by its own file")
        return await body(item)

    yard._stow = stow  # type: ignore[method-assign]
    await drain.wake()

    found = {c["id"]: c for c in await crates(store)}
    assert (found[poison]["status"], found[poison]["reason"]) == ("failed", "crashed")
    assert found[poison]["deliveries"] == MAX_DELIVERIES
    # Twice among others, the third time with nothing else in hand.
    assert alone_at == [-1, -1, 0]
    assert {c["status"] for i, c in found.items() if i != poison} == {"complete"}
    assert {c["deliveries"] for i, c in found.items() if i != poison} == {0}


async def test_a_row_that_was_interrupted_often_is_worked_on_alone(
    store: Database, make_process: Any
) -> None:
    yard = Yard(parallel=4)
    _, drain = await runner(make_process, yard)
    await add(store, 8)
    async with store.unit_of_work() as uow:
        await uow.sql.execute("UPDATE q_crate SET interruptions = $1 WHERE id = 3", ALONE_AFTER_INTERRUPTIONS)
    body = yard._stow
    beside: dict[int, int] = {}

    async def stow(item: Any) -> str:
        beside[item.id] = yard.at_once
        await asyncio.sleep(0)
        assert not item.alone or drain.busy == 1
        return await body(item)

    yard._stow = stow  # type: ignore[method-assign]
    await drain.wake()

    assert beside[3] == 0
    assert await states(store) == {"complete": 8}


async def test_a55_a_body_that_hangs_fails_its_row_and_the_lane_goes_on(
    store: Database, make_process: Any
) -> None:
    yard = Yard(parallel=2, limit=0.3)
    _, drain = await runner(make_process, yard)
    await add(store, 6)
    body = yard._stow

    async def stow(item: Any) -> str:
        if item.id == 2:
            await asyncio.Event().wait()
        return await body(item)

    yard._stow = stow  # type: ignore[method-assign]
    await drain.wake()

    found = {c["id"]: (c["status"], c["reason"]) for c in await crates(store)}
    assert found.pop(2) == ("failed", "timeout")
    assert set(found.values()) == {("complete", None)}


async def test_an_unforeseen_error_ends_only_its_row(store: Database, make_process: Any) -> None:
    yard = Yard()
    _, drain = await runner(make_process, yard)
    await add(store, 4)
    body = yard._stow

    async def stow(item: Any) -> str:
        if item.id == 2:
            raise ZeroDivisionError
        return await body(item)

    yard._stow = stow  # type: ignore[method-assign]
    await drain.wake()

    assert [(c["status"], c["reason"]) for c in await crates(store)] == [
        ("complete", None),
        ("failed", "unexpected"),
        ("complete", None),
        ("complete", None),
    ]
    assert [p["counts"] for p in await passes(store)] == [{"stowed": 3, "unexpected": 1}]


async def test_pausing_a_lane_stops_its_drain_within_seconds(store: Database, serve: Any) -> None:
    yard = Yard(parallel=1)
    yard.gate = asyncio.Event()
    process = await serve(yard)
    await until(lambda: process.worker_id, "enrolled")
    await add(store, 10)
    await until(lambda: yard.seen, "begun")

    async with store.unit_of_work() as uow:
        await uow.sql.execute("INSERT INTO lane_state (lane, paused_at) VALUES ('yard', now())")

    async def rest_is_back() -> bool:
        return await states(store) == {"processing": 1, "pending": 9}

    await until(rest_is_back, "the rest is back", 5)
    yard.gate.set()

    async def over() -> bool:
        return await states(store) == {"complete": 1, "pending": 9} and not process.active

    await until(over, "the item in hand ended and nothing new began")


async def test_rows_of_a_claim_whose_answer_was_lost_are_released(store: Database, make_process: Any) -> None:
    yard = Yard()
    _process, drain = await runner(make_process, yard)
    await add(store, 3)
    real, calls = yard.drain.claim, 0

    async def lossy(sql: Any, worker_id: int, n: int) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            async with store.unit_of_work() as uow:
                await real(uow.sql, worker_id, n)
            raise ConnectionResetError
        return await real(sql, worker_id, n)

    object.__setattr__(drain.drain, "claim", lossy)
    await asyncio.wait_for(drain.wake(), 60)

    assert await states(store) == {"complete": 3}


async def test_a_claim_that_cannot_work_leaves_nothing_in_hand(store: Database, make_process: Any) -> None:
    yard = Yard(parallel=1)
    yard.gate = asyncio.Event()
    _, drain = await runner(make_process, yard)
    await add(store, 12)
    real = yard.drain.claim

    async def broken(sql: Any, worker_id: int, n: int) -> Any:
        if yard.seen:
            await sql.execute("SELECT no_such_column")
        return await real(sql, worker_id, n)

    object.__setattr__(drain.drain, "claim", broken)
    working = asyncio.create_task(drain.wake())
    await until(lambda: yard.seen, "begun")
    drain.passes[0].hand.clear()
    drain.passes[0].ring()
    await asyncio.wait({working}, timeout=60)

    assert working.exception() is not None
    assert drain.current is None
    async with store.unit_of_work() as uow:
        held = await uow.sql.fetchval("SELECT started_at FROM q_crate WHERE id = $1", yard.seen[0])
    assert held is None


async def test_the_limit_of_a_wake_does_not_cut_off_what_was_begun(
    store: Database, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Task, "wake_timeout", property(lambda _self: timedelta(seconds=1)))
    yard = Yard(parallel=1)
    yard.gate = asyncio.Event()
    process = await serve(yard)
    await until(lambda: process.worker_id, "enrolled")
    await add(store, 1)
    await until(lambda: yard.seen, "begun")
    queue = process.bell.queue("yard")

    async def given_up() -> bool:
        return await queue.count("active") == 0

    await until(given_up, "the wake is over for SAQ")
    yard.gate.set()

    async def done() -> bool:
        return await states(store) == {"complete": 1}

    await until(done, "ended by its own limits")
