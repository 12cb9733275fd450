"""The ingest pipeline without queues: walk, record, claim and import until nothing waits."""

from __future__ import annotations

import asyncio
import io
import os
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest

from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.ingest import (
    catching_up,
    claims,
    folders,
    forgetting,
    scanning,
    services,
    telling,
    vanished,
    walk,
)
from appliance.ingest.importing import Import
from appliance.ingest.models import Mode
from appliance.ingest.services import BatchView
from appliance.media.decoder import DecodePool


class Ingest:
    """Drives one database through scans and imports."""

    def __init__(self, db: Database, settings: Settings, pool: DecodePool) -> None:
        self.db = db
        self.settings = settings
        self.pool = pool

    async def queue(self, folder: Path, mode: Mode = Mode.IN_PLACE) -> int:
        async with self.db.unit_of_work() as uow:
            place = await services.add_root(uow, folders.folder(folder), mode)
            return await services.queue_scan(uow, place)

    async def claim_walk(self, batch_id: int) -> scanning.Walking:
        async with self.db.unit_of_work() as uow:
            claim = uuid.uuid4()
            await uow.sql.execute(
                "UPDATE import_batch SET status = 'walking', claim = $2 WHERE id = $1", batch_id, claim
            )
            return await scanning.load(uow.sql, batch_id, claim)

    async def walk(
        self,
        walking: scanning.Walking,
        *,
        only: int | None = None,
        rested: bool = True,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        """Record the walk, all of it or its first records; `rested` as if all files were old.

        `meanwhile` happens when it has told what the root is and has read nothing yet.
        """
        told = walk.Walk(walking.root, walking.after, frozenset()).records(walking.under)
        found = [next(told)]
        if meanwhile:
            meanwhile()
        found += told
        reader = asyncio.StreamReader()
        frames = io.BytesIO()
        for record in found[:only]:
            telling.write(record, frames)
        reader.feed_data(frames.getvalue())
        reader.feed_eof()
        await scanning.follow(self.db, walking, reader, stop=lambda: False)
        judged = await vanished.judge(self.db, walking) is vanished.Verdict.JUDGED
        if judged:
            await catching_up.catch_up(self.db, walking)
        async with self.db.unit_of_work() as uow:
            await scanning.mark_read(uow.sql, walking)
            await uow.sql.execute(
                "UPDATE import_batch SET status = 'importing', walked_at = now() WHERE id = $1",
                walking.batch_id,
            )
            if judged:
                await forgetting.forget(uow.sql, walking)
        if rested:
            await self.rest()

    async def rest(self) -> None:
        """Let the moment pass that fresh files must rest."""
        async with self.db.unit_of_work() as uow:
            await uow.sql.execute("UPDATE import_task SET run_at = now() WHERE run_at > now()")

    async def drain(self) -> Counter[str]:
        outcomes: Counter[str] = Counter()
        while True:
            async with self.db.unit_of_work() as uow:
                taken = await claims.claim(uow.sql, 1, 16)
            if not taken:
                return outcomes
            for claimed in taken:
                lend = partial(self.pool.child, fresh=claimed.alone)
                outcomes[await Import(self.settings, self.db, claimed).run(lend)] += 1

    async def scan(self, folder: Path, mode: Mode = Mode.IN_PLACE) -> BatchView:
        """Everything that one scan does."""
        batch_id = await self.queue(folder, mode)
        await self.walk(await self.claim_walk(batch_id))
        await self.drain()
        return await self.view(batch_id)

    async def view(self, batch_id: int) -> BatchView:
        async with self.db.unit_of_work() as uow:
            return await services.view_batch(uow.sql, batch_id)

    async def rows(self, sql: str, *args: object) -> list[dict[str, object]]:
        async with self.db.unit_of_work() as uow:
            return [dict(r) for r in await uow.sql.fetch(sql, *args)]


@pytest.fixture
async def ingest(db: Database, settings: Settings) -> AsyncIterator[Ingest]:
    pool = DecodePool(2)
    yield Ingest(db, settings, pool)
    await pool.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder to fill and to import."""
    made = tmp_path / "pictures"
    made.mkdir()
    return made


def tree(path: Path) -> dict[bytes, tuple[int, int]]:
    """Names, sizes and times of everything below a folder, to prove that nothing changed."""
    found = {}
    for base, _folders, files in os.walk(os.fsencode(path)):
        for name in files:
            s = os.lstat(base + b"/" + name)
            found[base + b"/" + name] = (s.st_size, s.st_mtime_ns)
    return found
