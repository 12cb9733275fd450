"""Run tasks: one row, one execution, whatever happens to wakes and workers."""

from __future__ import annotations

import asyncio
from typing import Any

from appliance.core.db import Database
from queues import clock, runs
from queues.declare import seconds
from queues.process import Process, Why
from queues.runs import Run
from tests.queues.conftest import until
from tests.queues.tables import VoyageAsked, Yard


async def ask(db: Database, count: int = 1) -> list[int]:
    async with db.unit_of_work() as uow:
        rows = await uow.sql.fetch(
            "INSERT INTO q_voyage (status) SELECT 'pending' FROM generate_series(1, $1) RETURNING id", count
        )
        uow.record(VoyageAsked())
    return [r["id"] for r in rows]


async def voyage(db: Database, row: int) -> Any:
    async with db.unit_of_work() as uow:
        return await uow.sql.fetchrow("SELECT * FROM q_voyage WHERE id = $1", row)


async def recorded(db: Database) -> list[Any]:
    async with db.unit_of_work() as uow:
        return list(await uow.sql.fetch("SELECT * FROM task_run ORDER BY id"))


async def enrolled(make_process: Any, yard: Yard) -> Process:
    process: Process = await make_process(yard)
    await process.enrol()
    return process


async def test_two_wakes_for_one_row_have_one_effect(store: Database, make_process: Any) -> None:
    yard = Yard()
    process = await enrolled(make_process, yard)
    (row,) = await ask(store)

    await asyncio.gather(*(runs.execute(process, yard.sail, row) for _ in range(5)))
    await runs.execute(process, yard.sail, row)

    found = await voyage(store, row)
    assert yard.seen == [row]
    assert (found["status"], found["effects"], found["claim"]) == ("done", 1, None)
    assert [(r["status"], r["ledger_id"]) for r in await recorded(store)] == [("done", row)]


async def test_a_fact_starts_all_pending_rows_without_naming_them(store: Database, serve: Any) -> None:
    yard = Yard()
    process = await serve(yard)
    await until(lambda: process.worker_id, "enrolled")
    rows = await ask(store, 5)

    await until(lambda: sorted(yard.seen) == rows, "all sailed")

    async def done() -> bool:
        return [r["status"] for r in await recorded(store)] == ["done"] * 5

    await until(done, "all recorded")


async def test_a_body_that_raises_leaves_its_reason_and_no_secret(store: Database, make_process: Any) -> None:
    yard = Yard()
    yard.raises = RuntimeError("no wind at http://user:hunter2@sea/\0")
    process = await enrolled(make_process, yard)
    (row,) = await ask(store)

    await runs.execute(process, yard.sail, row)

    found = await voyage(store, row)
    (run,) = await recorded(store)
    assert (found["status"], run["status"]) == ("error", "error")
    assert found["error"] == run["error"] == "RuntimeError: no wind at http://[redacted]@sea/"
    assert found["finished_at"] is not None


async def test_an_outage_in_a_body_costs_the_row_nothing(store: Database, make_process: Any) -> None:
    yard = Yard()
    yard.raises = ConnectionResetError("the server closed the connection")
    process = await enrolled(make_process, yard)
    (row,) = await ask(store)

    await runs.execute(process, yard.sail, row)
    waiting = await voyage(store, row)
    yard.raises = None
    await runs.execute(process, yard.sail, row)

    assert (waiting["status"], waiting["error"], waiting["interruptions"]) == ("pending", None, 0)
    assert (await voyage(store, row))["status"] == "done"
    assert [r["status"] for r in await recorded(store)] == ["recovered", "done"]


async def test_a_body_over_its_limit_is_ended_and_says_so(store: Database, make_process: Any) -> None:
    yard = Yard(limit=0.2)
    yard.gate = asyncio.Event()
    process = await enrolled(make_process, yard)
    (row,) = await ask(store)

    await runs.execute(process, yard.sail, row)

    found = await voyage(store, row)
    assert found["status"] == "error"
    assert "limit" in found["error"]


async def test_a_cancelled_run_is_cancelled_at_once_and_stays_so(store: Database, make_process: Any) -> None:
    yard = Yard()
    yard.gate = asyncio.Event()
    process = await enrolled(make_process, yard)
    (row,) = await ask(store)
    running = asyncio.create_task(runs.execute(process, yard.sail, row))
    await until(lambda: yard.seen, "begun")

    process.end_all(Why.CANCELLED)
    await asyncio.wait_for(running, 60)

    assert (await voyage(store, row))["status"] == "cancelled"
    assert [r["status"] for r in await recorded(store)] == ["cancelled"]


async def test_an_orderly_stop_gives_the_row_back_at_no_cost(store: Database, make_process: Any) -> None:
    yard = Yard()
    yard.gate = asyncio.Event()
    process = await enrolled(make_process, yard)
    (row,) = await ask(store)
    running = asyncio.create_task(runs.execute(process, yard.sail, row))
    await until(lambda: yard.seen, "begun")

    process.end_all(Why.STOPPING)
    await asyncio.wait_for(running, 60)

    found = await voyage(store, row)
    assert (found["status"], found["interruptions"], found["claim"]) == ("pending", 0, None)


async def test_a_late_finish_changes_nothing(store: Database, make_process: Any) -> None:
    yard = Yard()
    process = await enrolled(make_process, yard)
    (row,) = await ask(store)
    run = await runs.claim(process, yard.sail, row)
    async with store.unit_of_work() as uow:
        await uow.sql.execute(
            "UPDATE q_voyage SET status = 'sailing', claim = gen_random_uuid() WHERE id = $1", row
        )
        await uow.sql.execute("UPDATE task_run SET status = 'recovered', claim = NULL")
    before = await voyage(store, row)

    assert run is not None
    async with store.unit_of_work() as uow:
        assert await run.finish(uow, "done", effects=99) is False
    assert await runs.record(run, runs.Ending("done")) is False

    assert await voyage(store, row) == before
    assert [r["status"] for r in await recorded(store)] == ["recovered"]


async def test_a_paused_lane_takes_nothing(store: Database, make_process: Any) -> None:
    yard = Yard()
    process = await enrolled(make_process, yard)
    (row,) = await ask(store)
    async with store.unit_of_work() as uow:
        await uow.sql.execute("INSERT INTO lane_state (lane, paused_at) VALUES ('yard', now())")

    await runs.execute(process, yard.sail, row)

    assert yard.seen == []
    assert (await voyage(store, row))["status"] == "pending"


async def test_wrap_up_comes_before_the_limit_and_lets_the_body_end_tidily(
    store: Database, make_process: Any
) -> None:
    yard = Yard()

    @yard.register.task(lane=yard.lane, limit=seconds(30), wrap_up=seconds(29.9), button=True)
    async def bail(run: Run) -> None:
        """Bail until told to stop."""
        await run.wrap_up.wait()
        run.counts["buckets"] += 3

    process = await enrolled(make_process, yard)
    async with store.unit_of_work() as uow:
        await clock.queue(uow, bail, asked_by="mara", silence=60)

    await asyncio.wait_for(runs.execute(process, bail, None), 60)

    assert [(r["status"], r["counts"]) for r in await recorded(store)] == [("done", {"buckets": 3})]


async def test_what_is_started_by_a_start_runs_once_for_each_start(store: Database, serve: Any) -> None:
    yard = Yard()

    @yard.register.task(lane=yard.lane, limit=seconds(30), at_start=True)
    async def cast_off(run: Run) -> None:
        """Cast off."""
        run.counts["ropes"] += 1

    await serve(yard)

    async def done() -> bool:
        return [(r["task"], r["status"]) for r in await recorded(store)] == [(cast_off.name, "done")]

    await until(done, "cast off once")
