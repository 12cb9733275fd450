"""Files that are still being written are read when they rest, and never given up."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from appliance.core import clock
from appliance.ingest import resting, services, telling, walk
from tests.ingest.conftest import Ingest
from tests.media_files import jpeg, put
from tests.servers import wait_until


OLD = 1_600_000_000


async def found(ingest: Ingest, folder: Path) -> int:
    """Walk as a scan does; what is fresh has to rest."""
    batch_id = await ingest.queue(folder)
    await ingest.walk(await ingest.claim_walk(batch_id), rested=False)
    return batch_id


async def test_fresh_file_waits_and_holds_nothing_up(ingest: Ingest, folder: Path) -> None:
    put(folder, "fresh.jpg", jpeg(1))
    batch_id = await found(ingest, folder)

    assert await ingest.drain() == {}
    async with ingest.db.unit_of_work() as uow:
        left = await resting.soonest(uow.sql)
        assert left is not None
        assert 0 < left <= resting.SETTLE_S
        assert await services.imports_idle(uow.sql)
        assert not (await services.view_batch(uow.sql, batch_id)).finished

    await ingest.rest()
    assert await ingest.drain() == {"imported": 1}
    async with ingest.db.unit_of_work() as uow:
        assert await resting.soonest(uow.sql) is None


async def test_growing_file_is_looked_at_again_until_it_rests(ingest: Ingest, folder: Path) -> None:
    whole = jpeg(1, size=(300, 200))
    path = put(folder, "growing.jpg", whole[:200])
    batch_id = await found(ingest, folder)

    for length in (400, 600):
        path.write_bytes(whole[:length])
        await ingest.rest()
        assert await ingest.drain() == {"waits": 1}
    path.write_bytes(whole)
    await ingest.rest()
    assert await ingest.drain() == {"waits": 1}
    await ingest.rest()
    assert await ingest.drain() == {"imported": 1}

    batch = await ingest.view(batch_id)
    # What was looked at in between was not read.
    assert (batch.imported, batch.failed, batch.hashed) == (1, 0, 1)


async def test_pause_grows_with_the_time_that_a_file_grows(ingest: Ingest, folder: Path) -> None:
    path = put(folder, "growing.jpg", jpeg(1)[:200])
    await found(ingest, folder)
    waits = []
    for minutes, length in ((0, 300), (1, 400), (600, 500)):
        path.write_bytes(jpeg(1)[:length])
        async with ingest.db.unit_of_work() as uow:
            begun = clock.now() - timedelta(minutes=minutes)
            await uow.sql.execute("UPDATE import_task SET run_at = now(), queued_at = $1", begun)
        await ingest.drain()
        async with ingest.db.unit_of_work() as uow:
            waits.append(await resting.soonest(uow.sql) or 0)

    assert waits[0] <= resting.SETTLE_S
    assert 20 < waits[1] <= 31
    assert 50 < waits[2] <= 60


def test_what_rests_for_a_while_is_read_at_once(folder: Path) -> None:
    path = put(folder, "old.jpg", jpeg(1))
    os.utime(path, (OLD, OLD))

    def told() -> bool:
        """Whether the walk says that it is fresh; the change of its time is what just happened to it."""
        files = [
            r
            for r in walk.Walk(bytes(folder), None, frozenset()).records(b"")
            if isinstance(r, telling.Files)
        ]
        return files[0].seen[0].rest_ms > 0

    assert told()
    wait_until(lambda: not told(), "it rested", limit=20)


async def test_time_in_the_future_does_not_keep_a_file_waiting_for_ever(ingest: Ingest, folder: Path) -> None:
    path = put(folder, "ahead.jpg", jpeg(1))
    os.utime(path, (OLD * 2, OLD * 2))
    await found(ingest, folder)

    await ingest.rest()

    assert await ingest.drain() == {"imported": 1}
