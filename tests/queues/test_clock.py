"""Schedules: what is due is asked of the database, so ticks may be missed, late or doubled."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from redis.asyncio import Redis
from saq import Job, Status

from appliance.core.db import Database
from appliance.core.settings import Settings
from queues import clock
from queues.clock import Lock, last_due, take_lock
from queues.doorbell import Doorbell
from queues.valkey import ClockQueue, LaneQueue, connect
from tests.queues.conftest import INSTALLATION, until
from tests.queues.tables import Yard
from tests.queues.test_doorbell import belled
from tests.queues.test_drain import add
from tests.queues.test_runs import enrolled, recorded


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def yard() -> Yard:
    return Yard()


async def tick(db: Database, bell: Doorbell, yard: Yard, quick: Settings) -> list[str]:
    return [t.name for t in await clock.tick(db, bell, yard.register, quick)]


async def pretend_last_start(db: Database, ago: str) -> None:
    async with db.unit_of_work() as uow:
        await uow.sql.execute(f"UPDATE task_schedule SET last_started_at = now() - interval '{ago}'")


async def test_a_new_schedule_is_not_overdue(
    store: Database, redis_url: str, yard: Yard, quick: Settings
) -> None:
    bell = belled(redis_url, yard)

    assert await tick(store, bell, yard, quick) == []
    await bell.close()


async def test_a_missed_tick_is_made_good_by_the_next_and_a_doubled_one_does_nothing(
    store: Database, redis_url: str, yard: Yard, quick: Settings
) -> None:
    bell = belled(redis_url, yard)
    await tick(store, bell, yard, quick)
    await pretend_last_start(store, "3 days")

    started = await asyncio.gather(*(tick(store, bell, yard, quick) for _ in range(4)))
    again = await tick(store, bell, yard, quick)

    assert [name for names in started for name in names] == [yard.scrub.name]
    assert again == []
    assert [(r["task"], r["status"], r["asked_by"]) for r in await recorded(store)] == [
        (yard.scrub.name, "pending", None)
    ]
    await bell.close()


async def test_a_tick_whose_wake_was_lost_rings_the_same_row_again(
    store: Database, redis_url: str, yard: Yard, quick: Settings
) -> None:
    bell = belled(redis_url, yard)
    await tick(store, bell, yard, quick)
    for _ in range(2):
        await pretend_last_start(store, "3 days")
        await tick(store, bell, yard, quick)
        await bell.redis.flushall()

    assert len(await recorded(store)) == 1
    await bell.close()


async def test_a_task_that_still_runs_is_not_started_a_second_time_but_a_dead_one_does_not_block(
    store: Database, make_process: Any, yard: Yard, quick: Settings
) -> None:
    process = await enrolled(make_process, yard)
    async with store.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO task_run (task, lane, kind, status, worker_id, claimed_at)"
            " VALUES ($1, 'yard', 'run', 'running', $2, now())",
            yard.scrub.name,
            process.worker_id,
        )
        answer = await clock.queue(uow, yard.scrub, asked_by="mara", silence=quick.silence)
        await uow.sql.execute("UPDATE worker SET settled_at = now()")
        after = await clock.queue(uow, yard.scrub, asked_by="mara", silence=quick.silence)

    assert isinstance(answer, str)
    assert "running since" in answer
    assert isinstance(after, clock.Ring)


async def test_a_drain_is_rung_by_its_schedule_only_when_something_waits(
    store: Database, redis_url: str, yard: Yard, quick: Settings
) -> None:
    bell = belled(redis_url, yard)
    await tick(store, bell, yard, quick)
    await pretend_last_start(store, "2 minutes")
    nothing = await tick(store, bell, yard, quick)
    await add(store, 1)
    await pretend_last_start(store, "2 minutes")
    something = await tick(store, bell, yard, quick)

    assert yard.stow.name not in nothing
    assert yard.stow.name in something
    await bell.close()


async def test_only_one_host_ticks_at_a_time(
    store: Database, redis_url: str, yard: Yard, quick: Settings
) -> None:
    bell = belled(redis_url, yard)
    await tick(store, bell, yard, quick)
    await pretend_last_start(store, "3 days")
    async with store.unit_of_work() as elsewhere:
        assert await take_lock(elsewhere.sql, Lock.CLOCK)
        beside = await tick(store, bell, yard, quick)

    assert beside == []
    assert await tick(store, bell, yard, quick) == [yard.scrub.name]
    await bell.close()


async def test_the_group_puts_one_tick_for_each_schedule_on_the_clock(
    store: Database, serve: Any, redis_url: str
) -> None:
    yard = Yard()
    await serve(yard)
    client = Redis.from_url(redis_url)

    async def both() -> bool:
        keys = await client.zrange(f"saq:{INSTALLATION}:clock:incomplete", 0, -1)
        names = sorted(k.decode().rpartition("cron:")[2] for k in keys)
        return names == sorted([yard.scrub.name, yard.stow.name])

    await until(both, "scheduled")
    await client.aclose()


@pytest.mark.parametrize(
    ("cron", "now", "due"),
    [
        ("15 3 * * *", "2026-06-01 03:15:00", "2026-06-01 03:15:00"),
        ("15 3 * * *", "2026-06-01 03:14:59", "2026-05-31 03:15:00"),
        ("* * * * *", "2026-06-01 12:00:30", "2026-06-01 12:00:00"),
        # The hour that does not exist: the run of that night is not lost.
        ("30 2 * * *", "2026-03-29 12:00:00", "2026-03-29 03:00:00"),
        ("30 2 * * *", "2026-10-25 12:00:00", "2026-10-25 02:30:00"),
    ],
)
def test_schedules_mean_the_wall_clock_of_the_zone(cron: str, now: str, due: str) -> None:
    moment = datetime.fromisoformat(now).replace(tzinfo=BERLIN)

    found = last_due(cron, moment.astimezone(UTC), BERLIN)

    expected = datetime.fromisoformat(due).replace(tzinfo=BERLIN)
    assert abs((found - expected).total_seconds()) <= 3600
    assert found <= moment


async def test_an_orphaned_tick_frees_its_schedule(redis_url: str) -> None:
    redis = connect(redis_url, blocking=False)
    queue = ClockQueue(redis, f"{INSTALLATION}:clock")
    job = Job(function="yard.scrub", key="cron:yard.scrub", timeout=10, retries=1, ttl=-1)
    assert await queue.enqueue(job)
    orphan = await queue.dequeue(1)
    assert orphan is not None
    orphan.started = 1
    await orphan.update(status=Status.ACTIVE)
    blocked = await queue.enqueue(Job(function="yard.scrub", key="cron:yard.scrub", timeout=10))

    await queue.sweep(1, 0.1)
    # The mark of the aborted tick has a life of a few seconds of its own.
    await redis.delete("saq:abort:cron:yard.scrub")

    assert blocked is None
    assert await queue.enqueue(Job(function="yard.scrub", key="cron:yard.scrub", timeout=10))
    await queue.disconnect()


async def test_a_lane_is_never_swept(redis_url: str) -> None:
    queue = LaneQueue(connect(redis_url, blocking=False), f"{INSTALLATION}:yard")
    assert await queue.enqueue(Job(function="yard.scrub", timeout=1, retries=1))
    taken = await queue.dequeue(1)
    assert taken is not None
    taken.started = 1
    await taken.update(status=Status.ACTIVE)

    assert await queue.sweep(1, 0.1) == []
    assert await queue.count("active") == 1
    await queue.disconnect()
