"""The stewards: settle, refill, retire."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from appliance.core import clock as clocks
from appliance.core.clock import Clock
from appliance.core.db import Database
from queues import runs, steward
from queues.declare import Register
from queues.process import Contact, Process
from queues.steward import LAST_RUNS
from tests.queues.conftest import until
from tests.queues.tables import Yard
from tests.queues.test_drain import add, crates, states
from tests.queues.test_runs import ask, enrolled, recorded


class Held(Clock):
    """A clock that goes on only when the test says so, and counts a suspend."""

    seconds = 1000.0

    def boottime(self) -> float:
        return self.seconds


@pytest.fixture
def held() -> Any:
    made = Held()
    restore = clocks.use(made)
    yield made
    restore()


def adopt(register: Register) -> None:
    """The real stewards in the register of a test."""
    for task in (steward.sweep, steward.refill, steward.retire):
        register._lanes[task.lane.name] = task.lane
        register._tasks[task.name] = task


async def process_with_stewards(make_process: Any, yard: Yard, *, patient: bool = False) -> Process:
    adopt(yard.register)
    process = await enrolled(make_process, yard)
    if not patient:
        process.contact._resumed -= 1000
    return process


async def ask_for(db: Database, process: Process, task: Any, *, by: str | None = None) -> None:
    async with db.unit_of_work() as uow:
        row = await uow.sql.fetchval(
            "INSERT INTO task_run (task, lane, kind, asked_by) VALUES ($1, $2, 'run', $3) RETURNING id",
            task.name,
            task.lane.name,
            by,
        )
    await runs.execute(process, task, row)


async def test_a_sweep_that_settled_nothing_leaves_no_record_but_counts(
    store: Database, make_process: Any
) -> None:
    process = await process_with_stewards(make_process, Yard())

    await ask_for(store, process, steward.sweep)

    assert await recorded(store) == []
    async with store.unit_of_work() as uow:
        assert await uow.sql.fetchval("SELECT sweeps FROM worker") == 1


async def test_a_sweep_that_a_person_asked_for_is_recorded(store: Database, make_process: Any) -> None:
    process = await process_with_stewards(make_process, Yard())

    await ask_for(store, process, steward.sweep, by="mara")

    assert [r["status"] for r in await recorded(store)] == ["done"]


async def test_a_sweep_settles_silence_and_rings_what_waits_again(store: Database, make_process: Any) -> None:
    yard = Yard()
    process = await process_with_stewards(make_process, yard)
    await add(store, 3)
    async with store.unit_of_work() as uow:
        silent = await uow.sql.fetchval(
            "INSERT INTO worker (host, group_name, pid, pid_started, version, heartbeat_at)"
            " VALUES ('other', 'quick', 1, 1, '0', now() - interval '1 hour') RETURNING id"
        )
        await uow.sql.execute(
            "UPDATE q_crate SET status = 'processing', worker_id = $1, claim = gen_random_uuid(),"
            " claimed_at = now() WHERE id <= 2",
            silent,
        )

    await ask_for(store, process, steward.sweep)

    assert await states(store) == {"pending": 3}
    (run,) = await recorded(store)
    assert run["counts"] == {"workers": 1, yard.stow.name: 2}
    assert await process.bell.queue("yard").count("queued") == 1


async def test_a_sweep_after_a_suspend_waits_before_it_judges_silence(held: Held) -> None:
    contact = Contact(30)
    held.seconds += 45
    contact.note()
    assert contact.patience() == 0

    held.seconds += 7200
    asleep = contact.patience()
    contact.note()
    held.seconds += 20
    woken = contact.patience()
    held.seconds += 30
    contact.note()

    assert asleep == 45
    assert woken == 25
    assert contact.patience() == 0


async def test_a_sweep_right_after_the_start_is_patient_and_recovers_nothing_that_lives(
    store: Database, make_process: Any
) -> None:
    yard = Yard()
    process = await process_with_stewards(make_process, yard, patient=True)
    await add(store, 1)
    async with store.unit_of_work() as uow:
        # Looks dead, as everybody does after a suspend, and speaks while the sweep waits.
        neighbour = await uow.sql.fetchval(
            "INSERT INTO worker (host, group_name, pid, pid_started, version, heartbeat_at)"
            " VALUES ('other', 'quick', 1, 1, '0', now() - interval '1 hour') RETURNING id"
        )
        await uow.sql.execute(
            "UPDATE q_crate SET status = 'processing', worker_id = $1, claim = gen_random_uuid(),"
            " claimed_at = now()",
            neighbour,
        )
    sweeping = asyncio.create_task(ask_for(store, process, steward.sweep))
    await until(lambda: process.active, "the sweep has begun and waits")
    async with store.unit_of_work() as uow:
        await uow.sql.execute("UPDATE worker SET heartbeat_at = now()")
    assert not sweeping.done()
    await sweeping

    assert await states(store) == {"processing": 1}


async def test_a_lost_wake_is_found_by_the_refill(store: Database, make_process: Any) -> None:
    yard = Yard()
    process = await process_with_stewards(make_process, yard)
    await add(store, 5)
    await ask(store)
    queue = process.bell.queue("yard")
    before = await queue.count("queued")

    await ask_for(store, process, steward.refill)

    assert before == 0
    assert sorted([j.function async for j in queue.iter_jobs()]) == sorted([yard.stow.name, yard.sail.name])
    assert await recorded(store) == []


async def test_the_refill_leaves_paused_lanes_alone(store: Database, make_process: Any) -> None:
    yard = Yard()
    process = await process_with_stewards(make_process, yard)
    await add(store, 5)
    async with store.unit_of_work() as uow:
        await uow.sql.execute("INSERT INTO lane_state (lane, paused_at) VALUES ('yard', now())")

    await ask_for(store, process, steward.refill)

    assert await process.bell.queue("yard").count("queued") == 0


async def test_retention_takes_old_finished_rows_and_never_live_ones(
    store: Database, make_process: Any
) -> None:
    yard = Yard()
    process = await process_with_stewards(make_process, yard)
    old = timedelta(days=400)
    async with store.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO q_crate (status, queued_at, claimed_at, finished_at) SELECT s, now() - $1::interval,"
            " now() - $1::interval, now() - $1::interval"
            " FROM unnest(ARRAY['pending', 'processing', 'complete', 'failed']) s, generate_series(1, 700)",
            old,
        )
        await uow.sql.execute("INSERT INTO q_crate (status, finished_at) VALUES ('complete', now())")
        await uow.sql.execute(
            "INSERT INTO q_voyage (status, queued_at, finished_at)"
            " SELECT s, now() - $1::interval, now() - $1::interval"
            " FROM unnest(ARRAY['pending', 'sailing', 'done', 'error']) s",
            old,
        )
        await uow.sql.execute(
            "INSERT INTO worker (host, group_name, pid, pid_started, version, settled_at)"
            " VALUES ('gone', 'quick', 1, 1, '0', now() - $1::interval)",
            old,
        )

    await ask_for(store, process, steward.retire)

    assert await states(store) == {"pending": 700, "processing": 700, "complete": 1}
    async with store.unit_of_work() as uow:
        left = sorted(r["status"] for r in await uow.sql.fetch("SELECT status FROM q_voyage"))
        workers = await uow.sql.fetchval("SELECT count(*) FROM worker")
    assert left == ["pending", "sailing"]
    assert workers == 1
    (run,) = await recorded(store)
    assert run["counts"][yard.stow.name] == 1400


async def test_the_last_executions_stay_whatever_their_age(store: Database, make_process: Any) -> None:
    process = await process_with_stewards(make_process, Yard())
    async with store.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO task_run (task, lane, kind, status, queued_at, finished_at)"
            " SELECT 'a.b', 'yard', 'run', CASE WHEN n = 1 THEN 'running' ELSE 'done' END,"
            " now() - interval '1 year', now() - interval '1 year' FROM generate_series(1, $1) n",
            LAST_RUNS + 1500,
        )

    await ask_for(store, process, steward.retire)

    found = await recorded(store)
    # The live one, the last ones, and the retirement itself (which was among the last when it looked).
    assert found[0]["status"] == "running"
    assert len(found) == LAST_RUNS + 1
    assert await crates(store) == []
