"""What the workers do while a browser looks: pictures are drawn and films prepared."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from appliance.library import converting, renditions
from appliance.media.decoder import DecodePool
from tests.ingest.conftest import Ingest, ingest


__all__ = ["ingest", "working"]


async def _drain(ingest: Ingest, pool: DecodePool) -> None:
    """What the thumbnail and play lanes do, until cancelled."""

    async def always(_sql: object) -> bool:
        return True

    draw = renditions.claim_when(always)
    while True:
        async with ingest.db.unit_of_work() as uow:
            drawn = list(await draw(uow.sql, 1, 1))
            made = [] if drawn else list(await converting.claim(uow.sql, 1, 1))
        for claimed in drawn:
            async with pool.child() as child:
                await renditions.render(ingest.settings, ingest.db, claimed, child)
        for claimed in made:
            async with pool.child() as child:
                await converting.convert(ingest.settings, ingest.db, claimed, child, limit_s=60)
        if not drawn and not made:
            await asyncio.sleep(0.05)


@pytest.fixture
async def working(ingest: Ingest) -> AsyncIterator[None]:
    pool = DecodePool(1)
    task = asyncio.create_task(_drain(ingest, pool))
    yield
    assert not task.done(), task.exception()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await pool.close()
