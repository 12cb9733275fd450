"""Dead workers: their rows are settled once, and nobody who wakes up late changes anything."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from appliance.core.db import Database
from appliance.core.settings import Settings
from queues import reaping, settling
from queues.liveness import born, host
from tests.queues.conftest import INSTALLATION, until
from tests.queues.processes import worker
from tests.queues.tables import Yard
from tests.queues.test_drain import add, crates, passes, runner, states
from tests.queues.test_runs import ask, enrolled, voyage


@pytest.fixture
def yard(monkeypatch: pytest.MonkeyPatch, quick: Settings) -> Yard:
    """The register that the supervisor's settling would load."""
    made = Yard()
    monkeypatch.setattr(reaping, "load", lambda: made.register)
    quick.home.instance.write_text(f'{{"id": "{INSTALLATION}"}}')
    return made


async def workers(db: Database) -> list[Any]:
    async with db.unit_of_work() as uow:
        return list(await uow.sql.fetch("SELECT * FROM worker ORDER BY id"))


async def test_a_killed_worker_is_settled_at_once_and_its_rows_go_back(
    store: Database, redis_url: str, quick: Settings, yard: Yard, tmp_path: Path
) -> None:
    await add(store, 10)
    async with worker(quick, tmp_path / "gate") as dead:
        await until(dead.has_begun, "an item is in hand")
        since = born(dead.pid)
        dead.send(signal.SIGKILL)
        await dead.ended()

    assert since is not None
    await asyncio.to_thread(reaping.settle, quick, dead.pid, since)

    found = await crates(store)
    assert {c["status"] for c in found} == {"pending"}
    # What was begun counts, what only waited in its hand does not; no delivery in either case.
    assert sorted(c["interruptions"] for c in found) == [0] * 8 + [1] * 2
    assert {(c["deliveries"], c["claim"], c["worker_id"]) for c in found} == {(0, None, None)}
    assert [p["status"] for p in await passes(store)] == ["recovered"]
    assert [w["settled_at"] is not None for w in await workers(store)] == [True]


async def test_settling_of_one_process_leaves_the_others_alone(
    store: Database, make_process: Any, quick: Settings, yard: Yard
) -> None:
    process, drain = await runner(make_process, yard)
    await add(store, 2)
    async with store.unit_of_work() as uow:
        await drain.drain.claim(uow.sql, process.worker_id, 2)

    await asyncio.to_thread(reaping.settle, quick, os.getpid(), (born(os.getpid()) or 0) + 1)
    await asyncio.to_thread(reaping.settle_host, quick)

    assert await states(store) == {"processing": 2}


async def test_the_supervisor_settles_what_an_earlier_life_left(
    store: Database, quick: Settings, yard: Yard
) -> None:
    async with store.unit_of_work() as uow:
        gone = await uow.sql.fetchval(
            "INSERT INTO worker (host, group_name, pid, pid_started, version)"
            " VALUES ($1, 'quick', $2, 1, '0') RETURNING id",
            host(),
            os.getpid(),
        )
        elsewhere = await uow.sql.fetchval(
            "INSERT INTO worker (host, group_name, pid, pid_started, version)"
            " VALUES ('other', 'quick', 1, 1, '0') RETURNING id"
        )
        await uow.sql.execute(
            "INSERT INTO q_crate (status, worker_id, claim, claimed_at, started_at)"
            " SELECT 'processing', w, gen_random_uuid(), now(), now() FROM unnest($1::bigint[]) w",
            [gone, elsewhere],
        )

    await asyncio.to_thread(reaping.settle_host, quick)

    assert [(c["status"], c["interruptions"]) for c in await crates(store)] == [
        ("pending", 1),
        ("processing", 0),
    ]


async def test_a_worker_that_wakes_after_its_death_changes_nothing(
    store: Database, redis_url: str, quick: Settings, yard: Yard, tmp_path: Path
) -> None:
    await add(store, 1)
    (row,) = await ask(store)
    gate = tmp_path / "gate"
    async with worker(quick, gate) as zombie:

        async def both_held() -> bool:
            return (await crates(store))[0]["started_at"] and (await voyage(store, row))["claim"]

        await until(both_held, "a crate and a voyage are in hand")
        zombie.send(signal.SIGSTOP)

        async def silent() -> Any:
            async with store.unit_of_work() as uow:
                return await uow.sql.fetchval(
                    "SELECT heartbeat_at < now() - make_interval(secs => $1) FROM worker", quick.silence
                )

        await until(silent, "silent for longer than a living worker is")
        async with store.unit_of_work() as uow:
            await settling.sweep(uow.sql, yard.register, quick.silence)
        async with store.unit_of_work() as uow:
            # Someone else has them now.
            await uow.sql.execute(
                "UPDATE q_crate SET status = 'processing', claim = gen_random_uuid(), claimed_at = now()"
            )
            await uow.sql.execute(
                "UPDATE q_voyage SET status = 'sailing', claim = gen_random_uuid(), claimed_at = now()"
            )
        before = (await crates(store), await voyage(store, row))
        (gate / "go").touch()
        zombie.send(signal.SIGCONT)

        async def reborn() -> bool:
            return len(await workers(store)) == 2

        await until(reborn, "it learned of its death and began anew")
        after = (await crates(store), await voyage(store, row))

    assert after == before
    assert before[0][0]["effects"] == before[1]["effects"] == 0
    assert {p["status"] for p in await passes(store)} == {"recovered"}


async def test_a_terminated_worker_gives_everything_back_uncounted(
    store: Database, redis_url: str, quick: Settings, yard: Yard, tmp_path: Path
) -> None:
    await add(store, 10)
    async with worker(quick, tmp_path / "gate") as ending:
        await until(ending.has_begun, "an item is in hand")
        ending.send(signal.SIGTERM)
        assert await ending.ended(limit=5) == 0

    assert await states(store) == {"pending": 10}
    assert {c["interruptions"] for c in await crates(store)} == {0}
    (row,) = await workers(store)
    assert row["ended_at"] is not None
    assert row["settled_at"] is not None


async def test_an_old_row_is_settled_although_its_worker_lives(
    store: Database, make_process: Any, yard: Yard
) -> None:
    process, drain = await runner(make_process, yard)
    await add(store, 2)
    (row,) = await ask(store)
    async with store.unit_of_work() as uow:
        await drain.drain.claim(uow.sql, process.worker_id, 2)
        await uow.sql.execute(
            "UPDATE q_crate SET claimed_at = now() - $1::interval, started_at = now() - $1::interval"
            " WHERE id = 1",
            yard.stow.stuck_after * 1.1,
        )
        await uow.sql.execute(
            "UPDATE q_voyage SET status = 'sailing', worker_id = $1, claimed_at = now() - $2::interval",
            process.worker_id,
            yard.sail.stuck_after * 1.1,
        )

    async with store.unit_of_work() as uow:
        settled = await settling.sweep(uow.sql, yard.register, 180)

    assert [(c["status"], c["interruptions"]) for c in await crates(store)] == [
        ("pending", 1),
        ("processing", 0),
    ]
    found = await voyage(store, row)
    assert (found["status"], found["interruptions"]) == ("pending", 1)
    assert settled.tasks == [yard.sail, yard.stow]


async def test_a_run_that_always_loses_its_worker_ends_as_an_error(store: Database, yard: Yard) -> None:
    (row,) = await ask(store)

    for _ in range(11):
        async with store.unit_of_work() as uow:
            await uow.sql.execute(
                "UPDATE q_voyage SET status = 'sailing', worker_id = 99, claimed_at = now()"
                " WHERE status = 'pending'"
            )
            await settling.sweep(uow.sql, yard.register, 180)

    found = await voyage(store, row)
    assert found["status"] == "error"
    assert found["finished_at"] is not None


async def test_executions_that_nobody_runs_are_settled_by_their_own_worker(
    store: Database, make_process: Any, yard: Yard
) -> None:
    process = await enrolled(make_process, yard)
    lost, held = await ask(store, 2)
    async with store.unit_of_work() as uow:
        await uow.sql.execute(
            "UPDATE q_voyage SET status = 'sailing', worker_id = $1, claimed_at = now() - interval '10 s'",
            process.worker_id,
        )
        condition = settling.strays(process.worker_id, [held], [])
        await settling.settle(uow.sql, yard.register, condition)

    assert (await voyage(store, lost))["status"] == "pending"
    assert (await voyage(store, held))["status"] == "sailing"


async def test_a64_a_worker_killed_in_the_middle_costs_nothing_but_time(
    store: Database, redis_url: str, quick: Settings, yard: Yard, tmp_path: Path
) -> None:
    """A progress that stands still because its worker died goes on to its true end."""
    await add(store, 40)
    async with worker(quick, tmp_path / "gate") as dead:
        await until(dead.has_begun, "in the middle")
        dead.send(signal.SIGKILL)
        await dead.ended()
    async with store.unit_of_work() as uow:
        found = (await workers(store))[0]
        await settling.settle_worker(uow.sql, yard.register, found["id"])
    async with worker(quick, None):

        async def done() -> bool:
            return await states(store) == {"complete": 40}

        await until(done, "all stowed, once each")

    assert {c["effects"] for c in await crates(store)} == {1}
