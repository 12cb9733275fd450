"""Task bodies that look after our own files."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from appliance.core import db
from appliance.core.offload import child, python
from appliance.ingest import scanning, telling, walk
from appliance.library import sweeping
from queues import lanes
from queues.declare import hours, minutes, seconds, task
from queues.runs import Run


Unnamed = Callable[[Any, Sequence[bytes]], Awaitable[list[bytes]]]


@task(lane=lanes.MAINTENANCE, limit=seconds(120), cron="*/10 * * * *", at_start=True, quiet=True)
async def sweep_temporary(run: Run) -> None:
    """Remove unfinished files that killed imports left behind an hour ago."""
    run.counts["removed"] = sweeping.sweep_temporary(run.settings.home)


@task(lane=lanes.MAINTENANCE_LONG, limit=hours(2), wrap_up=minutes(1), cron="30 4 * * *", button=True)
async def sweep_unnamed(run: Run) -> None:
    """Remove stored files and pictures that no asset names any more."""
    home = run.settings.home
    await _sweep(run, home.renditions, sweeping.unnamed_renditions)
    await _sweep(run, home.originals, sweeping.unnamed_originals)


async def _sweep(run: Run, base: Path, unnamed: Unnamed) -> None:
    argument = walk.arguments(bytes(base), b"", None, [])
    async with child(python("appliance.ingest.walk", argument), limit=hours(2)) as process:
        async for record in scanning.records(process.stdout):
            if run.wrap_up.is_set():
                return
            if isinstance(record, telling.Files):
                await _judge(run, base, [s.path for s in record.seen], unnamed)
                await asyncio.sleep(0)


async def _judge(run: Run, base: Path, paths: list[bytes], unnamed: Unnamed) -> None:
    async with db.unit_of_work() as uow:
        suspects = await unnamed(uow.sql, paths)
    aside = {p: sweeping.SetAside(run.settings.home, base, p) for p in suspects}
    taken = [p for p, file in aside.items() if file.take()]
    if not taken:
        return
    async with db.unit_of_work() as uow:
        still = set(await unnamed(uow.sql, taken))
    for path in taken:
        if path in still:
            aside[path].drop()
            run.counts["removed"] += 1
        else:
            aside[path].put_back()
