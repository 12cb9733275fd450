"""The doorbell coalesces, may be wiped, and never raises."""

from __future__ import annotations

import asyncio
from typing import Any

from redis.asyncio import Redis
from saq import Status

from appliance.core.db import Database
from queues.doorbell import Doorbell
from queues.valkey import LaneQueue, connect
from tests.queues.conftest import INSTALLATION, until
from tests.queues.tables import Yard
from tests.queues.test_drain import add, states


def belled(redis_url: str, yard: Yard) -> Doorbell:
    return Doorbell(connect(redis_url, blocking=False), INSTALLATION, yard.register)


async def test_many_rings_become_one_wake_until_it_begins(redis_url: str) -> None:
    yard = Yard()
    bell = belled(redis_url, yard)
    queue = bell.queue("yard")

    for _ in range(50):
        assert await bell.ring(yard.stow)
    waiting = await queue.count("queued")
    await bell.begun(yard.stow, None)
    await bell.ring(yard.stow)

    assert waiting == 1
    assert await queue.count("queued") == 2
    await bell.close()


async def test_each_wake_has_a_key_of_its_own_and_an_explicit_limit(redis_url: str) -> None:
    yard = Yard(limit=200)
    bell = belled(redis_url, yard)

    await bell.ring(yard.stow)
    await bell.ring(yard.stow, force=True)
    await bell.ring(yard.sail, 7)
    await bell.ring(yard.sail, 8)
    jobs = [j async for j in bell.queue("yard").iter_jobs()]

    assert len({j.key for j in jobs}) == 4
    assert {j.retries for j in jobs} == {1}
    assert {j.timeout for j in jobs if j.function == yard.stow.name} == {200 + 30 + 60}
    assert {j.timeout for j in jobs if j.function == yard.sail.name} == {200 + 30}
    assert sorted(j.kwargs["row"] for j in jobs if j.function == yard.sail.name) == [7, 8]
    assert bell.queue("yard").name == f"{INSTALLATION}:yard"
    await bell.close()


async def test_keys_carry_the_installation_so_that_two_may_share_a_server(redis_url: str) -> None:
    yard = Yard()
    one = belled(redis_url, yard)
    other = Doorbell(connect(redis_url, blocking=False), "other", yard.register)

    await one.ring(yard.stow)
    await other.ring(yard.stow)
    client = Redis.from_url(redis_url)
    keys = [k.decode() for k in await client.keys("*rung*")]

    assert sorted(keys) == [f"other:rung:{yard.stow.name}", f"{INSTALLATION}:rung:{yard.stow.name}"]
    for each in (one, other, client):
        await (each.close() if isinstance(each, Doorbell) else each.aclose())


async def test_a_bell_without_its_server_says_so_and_does_not_raise(tmp_path: Any, capfd: Any) -> None:
    yard = Yard()
    bell = belled(f"unix://{tmp_path}/nobody.sock", yard)

    answers = [await bell.ring(yard.stow) for _ in range(5)]
    await bell.begun(yard.stow, None)
    await bell.heard([])

    assert answers == [False] * 5
    assert capfd.readouterr().err.count("doorbell went away") <= 1
    await bell.close()


async def test_a_lane_without_its_server_waits_instead_of_spinning(tmp_path: Any) -> None:
    queue = LaneQueue(connect(f"unix://{tmp_path}/nobody.sock", blocking=True), "x:yard")
    looks = 0

    async def look_again() -> None:
        nonlocal looks
        while True:
            assert await queue.dequeue(1) is None
            looks += 1

    looking = asyncio.create_task(look_again())
    await asyncio.wait({looking}, timeout=1.6)
    looking.cancel()

    assert looks <= 2


async def test_a_wiped_doorbell_loses_nothing(store: Database, serve: Any, redis_url: str) -> None:
    yard = Yard()
    process = await serve(yard)
    await until(lambda: process.worker_id, "enrolled")
    client = Redis.from_url(redis_url)
    yard.gate = asyncio.Event()
    await add(store, 10)
    await until(lambda: yard.seen, "begun")

    await client.flushall()
    yard.gate.set()
    await add(store, 10)

    async def done() -> bool:
        return await states(store) == {"complete": 20}

    await until(done, "all stowed after the wipe")
    assert sorted(set(yard.seen)) == sorted(yard.seen)
    await client.aclose()


async def test_no_ring_is_lost_in_the_ending_window(store: Database, serve: Any) -> None:
    yard = Yard()
    process = await serve(yard)
    await until(lambda: process.worker_id, "enrolled")

    for n in range(60):
        await add(store, 1)
        # Just long enough for the pass to be ending when the next ring comes.
        await asyncio.sleep(0.002 * (n % 7))

    async def done() -> bool:
        return await states(store) == {"complete": 60}

    await until(done, "each came in by its own ring")
    assert len(yard.seen) == 60


async def test_wakes_that_died_with_their_worker_are_forgotten(redis_url: str) -> None:
    yard = Yard()
    bell = belled(redis_url, yard)
    queue = bell.queue("yard")
    for row in (1, 2):
        await bell.ring(yard.sail, row)
    orphan, held = await queue.dequeue(1), await queue.dequeue(1)
    assert orphan is not None
    assert held is not None
    orphan.started = 1
    await orphan.update(status=Status.ACTIVE)
    await held.update(status=Status.ACTIVE)

    gone = await queue.tidy()

    assert gone == 1
    assert await queue.job(orphan.key) is None
    assert await queue.job(held.key) is not None
    await bell.close()
