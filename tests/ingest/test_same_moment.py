"""Two imports of the same bytes at the same moment, and a decoder that is free again early."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from appliance.core.drains import Claimed
from appliance.ingest import claims, progress, reports
from appliance.ingest.importing import Import, Lend
from appliance.ingest.models import Mode
from appliance.media.decoder import Child, DecodePool
from appliance.media.wire import Decoded, Wanted
from tests.ingest.conftest import Ingest
from tests.media_files import jpeg, put
from tests.waiting import until


class Together:
    """A real decoder that waits after each decode until its rival has decoded as well."""

    def __init__(self, child: Child, meeting: asyncio.Barrier) -> None:
        self._child, self._meeting = child, meeting
        self.read, self.place, self.remove_source = child.read, child.place, child.remove_source

    async def decode(self, wanted: list[Wanted]) -> Decoded:
        decoded = await self._child.decode(wanted)
        await self._meeting.wait()
        return decoded


def lent(pool: DecodePool, meeting: asyncio.Barrier) -> Lend:
    @asynccontextmanager
    async def lend() -> AsyncIterator[Together]:
        async with pool.child() as child:
            yield Together(child, meeting)

    return lend


async def claimed(ingest: Ingest, folder: Path, mode: Mode) -> list[Claimed]:
    await ingest.walk(await ingest.claim_walk(await ingest.queue(folder, mode)))
    async with ingest.db.unit_of_work() as uow:
        return list(await claims.claim(uow.sql, 1, 16))


@pytest.mark.parametrize("mode", list(Mode))
async def test_same_bytes_at_the_same_moment_make_one_asset_and_one_duplicate(
    ingest: Ingest, folder: Path, mode: Mode
) -> None:
    put(folder, "a.jpg", jpeg(1))
    put(folder, "b.jpg", jpeg(1))
    rivals = await claimed(ingest, folder, mode)
    meeting = asyncio.Barrier(len(rivals))

    outcomes = await asyncio.gather(
        *(Import(ingest.settings, ingest.db, c).run(lent(ingest.pool, meeting)) for c in rivals)
    )

    assert sorted(outcomes) == ["duplicate", "imported"]
    assert await ingest.rows("SELECT count(*) AS n FROM asset") == [{"n": 1}]
    assert len(list(folder.iterdir())) == (0 if mode is Mode.MOVE else 2)
    stored = [p for p in ingest.settings.home.originals.rglob("*") if p.is_file()]
    assert len(stored) == (0 if mode is Mode.IN_PLACE else 1)
    assert list(ingest.settings.home.tmp.iterdir()) == []


class WrittenAgain:
    """A real decoder; the source is written anew while its copy gets its name."""

    def __init__(self, child: Child, source: Path) -> None:
        self._child, self._source = child, source
        self.read, self.decode, self.remove_source = child.read, child.decode, child.remove_source

    async def place(self, temporary: bytes, final: bytes) -> None:
        await self._child.place(temporary, final)
        self._source.write_bytes(jpeg(2))


async def test_source_that_cannot_be_removed_is_told_and_stays(ingest: Ingest, folder: Path) -> None:
    source = put(folder, "a.jpg", jpeg(1))
    (task,) = await claimed(ingest, folder, Mode.MOVE)

    @asynccontextmanager
    async def lend() -> AsyncIterator[WrittenAgain]:
        async with ingest.pool.child() as child:
            yield WrittenAgain(child, source)

    assert await Import(ingest.settings, ingest.db, task).run(lend) == "imported"

    assert source.read_bytes() == jpeg(2)
    async with ingest.db.unit_of_work() as uow:
        batch = await progress.batch(uow.sql, task.row.batch_id)
        (line,) = await progress.lines(uow.sql, batch.id, 10)
        assert (await reports.summary(uow.sql, await ingest.view(batch.id)))["stayed"] == 1
    assert (batch.imported, batch.stayed) == (1, 1)
    assert line.detail == (
        "stored, but the source stayed: the source is not the file that was stored; it was kept"
    )


async def test_decoder_is_free_while_the_rows_of_its_file_are_written(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    (task,) = await claimed(ingest, folder, Mode.IN_PLACE)
    pool = DecodePool(1)
    async with ingest.db.unit_of_work() as uow:
        # Holds up the finishing statement, which moves the batch's counters.
        await uow.sql.execute("SELECT 1 FROM import_batch FOR UPDATE")
        working = asyncio.create_task(Import(ingest.settings, ingest.db, task).run(pool.child))
        await until(lambda: ingest.rows("SELECT 1 FROM pg_locks WHERE NOT granted"), "it waits for the row")
        async with asyncio.timeout(60), pool.child() as child:
            assert child.pid is not None
        assert not working.done()
    assert await working == "imported"
    await pool.close()
