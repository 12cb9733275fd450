"""Task bodies that look whether everything is still there, and whole."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from appliance.core import clock, db
from appliance.ingest import looking
from appliance.ingest import services as ingest
from appliance.library import backfilling, verifying, volumes
from appliance.library.models import Fault
from appliance.library.verifying import Due, Found
from appliance.media.decoder import StorageSilent
from queues import lanes
from queues.declare import hours, minutes, task
from queues.decoders import pool
from queues.runs import Run


if TYPE_CHECKING:
    from asyncpg import Connection

_AT_ONCE = 50
_BY_HAND_MINUTES = 60.0
_SHARE_OF_FAULTS = 0.25
_REST = timedelta(days=30)
"""What was checked within this time is not due: a small collection is not read every night."""


@task(lane=lanes.MAINTENANCE_LONG, limit=hours(7), wrap_up=minutes(5), cron="10 4 * * *", button=True)
async def verify_integrity(run: Run) -> None:
    """Read, hash and decode the originals that were checked longest ago, and list what is not as it was."""
    await _Night(run).spend()


class _Night:
    """The checks of one run, within its budget."""

    def __init__(self, run: Run) -> None:
        self._run = run
        budget = run.settings.verify_minutes or (_BY_HAND_MINUTES if run.asked_by else 0.0)
        self._until = clock.monotonic() + 60 * budget
        # A disk that fails has thousands: they leave time for what nobody has looked at yet.
        self._faults_until = clock.monotonic() + 60 * budget * _SHARE_OF_FAULTS
        self._before: datetime
        self._began: datetime
        self._away: set[int] = set()

    async def spend(self) -> None:
        """Look at known faults first, then at what waits longest, until the time is up."""
        # Whoever asks by hand wants to know it now, not whether it was looked at this month.
        rest = timedelta(0) if self._run.asked_by else _REST
        async with db.unit_of_work() as uow:
            self._before = await verifying.moment(uow.sql, rest)
            self._began = await verifying.moment(uow.sql, timedelta(0))
        async for file in self._files():
            if self._run.wrap_up.is_set() or clock.monotonic() >= self._until:
                return
            if file.root_id not in self._away:
                await self._look(file)

    async def _files(self) -> AsyncIterator[Due]:
        async for file in self._chunks(self._faulty):
            if clock.monotonic() >= self._faults_until:
                break
            yield file
        async for file in self._chunks(self._due):
            yield file

    async def _chunks(self, ask: Callable[[Connection[Any]], Awaitable[list[Due]]]) -> AsyncIterator[Due]:
        # What was looked at is not due any more, so the next chunk begins behind it by itself.
        while True:
            async with db.unit_of_work() as uow:
                chunk = await ask(uow.sql)
                await self._run.tell(uow)
            if not chunk:
                return
            for file in chunk:
                yield file

    async def _faulty(self, sql: Connection[Any]) -> list[Due]:
        # Each once in a run, that which waits longest first.
        home = self._run.settings.home
        return await verifying.faulty(sql, home, before=self._began, without=[*self._away], limit=_AT_ONCE)

    async def _due(self, sql: Connection[Any]) -> list[Due]:
        home = self._run.settings.home
        return await verifying.due(sql, home, before=self._before, without=[*self._away], limit=_AT_ONCE)

    async def _look(self, file: Due) -> None:
        try:
            async with pool().child() as child:
                found = await verifying.check(child, file)
        except StorageSilent as silent:
            await self._leave(file, silent.detail)
            return
        if found.fault in {Fault.MISSING, Fault.UNREADABLE} and await self._is_away(file):
            return
        await self._note(file, found)

    async def _is_away(self, file: Due) -> bool:
        """A root that went away in the middle of the night takes its files along without a word."""
        if not file.root_id or not (causes := await looking.away([file.root])):
            return False
        await self._leave(file, causes[file.root])
        return True

    async def _leave(self, file: Due, cause: str) -> None:
        self._away.add(file.root_id)
        self._run.counts["roots_away"] += 1
        if file.root_id:
            async with db.unit_of_work() as uow:
                await ingest.mark_unavailable(uow.sql, file.root_id, cause)

    async def _note(self, file: Due, found: Found) -> None:
        async with db.unit_of_work() as uow:
            await verifying.note(uow.sql, file, found)
        self._run.counts["checked"] += 1
        self._run.counts["megabytes"] += file.size // 1_000_000
        if found.fault is not None:
            self._run.counts[found.fault.value] += 1


@task(lane=lanes.MAINTENANCE_LONG, limit=hours(2), wrap_up=minutes(5), cron="40 3 * * *", button=True)
async def backfill_renditions(run: Run) -> None:
    """Have pictures drawn again that are missing, whose file is lost, or that failed for want of disk."""
    async with db.unit_of_work() as uow:
        after = await backfilling.begin(uow.sql)
        if reopened := await volumes.reopen(uow):
            run.counts["volumes"] += reopened
    while not run.wrap_up.is_set():
        after = await _step(run, after)
        if not after:
            return


async def _step(run: Run, after: int) -> int:
    """Look at the next assets; the last of them, 0 when there are no more."""
    async with db.unit_of_work() as uow:
        found = await backfilling.pictures(uow.sql, after)
    # A few hundred looks at our own folder: a few milliseconds.
    wanted = backfilling.lacking(run.settings.home, found)
    position = found[-1].asset_id if found else 0
    async with db.unit_of_work() as uow:
        run.counts["to_draw"] += await backfilling.want(uow, wanted)
        run.counts["assets"] += len(found) // len(backfilling.EVERY)
        await backfilling.move_on(uow.sql, position)
        await run.tell(uow)
    return position
