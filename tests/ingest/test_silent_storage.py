"""A folder that stops answering holds nobody up: its files wait until a scan finds it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance.core.drains import Interrupted
from appliance.ingest import claims, scanning, services
from appliance.ingest.importing import Import
from appliance.media.decoder import DecodePool
from appliance.media.limits import Limits
from tests.ingest.conftest import Ingest
from tests.media_files import jpeg, put


async def test_file_on_silent_storage_goes_back_and_its_folder_is_left_alone(
    ingest: Ingest, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(1, size=(6000, 4000)))
    put(folder, "b.jpg", jpeg(2))
    batch_id = await ingest.queue(folder)
    await ingest.walk(await ingest.claim_walk(batch_id))
    # No child dies within no time at all: what a mount that hangs in the kernel looks like.
    pool = DecodePool(1, Limits(kill_grace_s=0.0, poll_s=0.001, resident=1))
    async with ingest.db.unit_of_work() as uow:
        (first, *_rest) = await claims.claim(uow.sql, 1, 1)

    with pytest.raises(Interrupted):
        await Import(ingest.settings, ingest.db, first).run(pool.child)
    await pool.close()

    async with ingest.db.unit_of_work() as uow:
        assert await claims.claim(uow.sql, 1, 16) == []
        batch = await services.view_batch(uow.sql, batch_id)
    assert (batch.available, batch.finished, batch.failed) == (False, False, 0)


async def test_files_of_a_disk_that_is_unplugged_meanwhile_wait(ingest: Ingest, folder: Path) -> None:
    for number in range(3):
        put(folder, f"{number}.jpg", jpeg(number))
    await ingest.walk(await ingest.claim_walk(await ingest.queue(folder)))
    folder.rename(folder.with_name("unplugged"))
    async with ingest.db.unit_of_work() as uow:
        (first, *_rest) = await claims.claim(uow.sql, 1, 1)

    with pytest.raises(Interrupted):
        await Import(ingest.settings, ingest.db, first).run(ingest.pool.child)

    assert await ingest.rows("SELECT status, reason FROM root") == [
        {"status": "unavailable", "reason": "No such file or directory"}
    ]
    # The others are not even tried, and none has failed.
    assert await ingest.drain() == {}
    assert await ingest.rows("SELECT DISTINCT outcome FROM root_entry") == [{"outcome": "pending"}]


async def test_scan_that_reads_the_folder_again_lets_its_files_go_on(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    batch_id = await ingest.queue(folder)
    walking = await ingest.claim_walk(batch_id)
    await ingest.walk(walking)
    async with ingest.db.unit_of_work() as uow:
        await services.mark_unavailable(uow.sql, walking.root_id, "the storage does not answer")
    assert await ingest.drain() == {}

    async with ingest.db.unit_of_work() as uow:
        # Previews of everything else must not wait for a disk that may never come back.
        assert await services.imports_idle(uow.sql)
        await scanning.mark_read(uow.sql, walking)

    assert await ingest.drain() == {"imported": 1}
