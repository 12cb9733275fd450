"""One turn of a drain: claim in batches, work on several rows at once, wind down, write down."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from appliance.core import clock, log
from appliance.core.db import UnitOfWork
from appliance.core.drains import TIMEOUT, UNEXPECTED, Claimed, Delivered, Interrupted
from queues import held, passes
from queues.declare import PASS
from queues.outage import surely, transient
from queues.process import Why
from queues.runs import LET_GO_S, TIDY_S, describe
from queues.waiting import paused_lanes


if TYPE_CHECKING:
    from queues.drain import Runner


T = TypeVar("T")
SOON_S = 5.0
"""A pass that is done waits so long for a row that is about to become ready."""
MOMENT_S = 0.02
"""The clocks of two servers may differ by a little."""
PAUSE_S = 0.5
"""How long a place rests after its row was interrupted."""
_NONE: list[str] = []
_NOTHING: Sequence[Claimed] = ()


class Pass:
    """One turn of a drain: at most PASS long, then its last items end while others begin."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.process, self.task, self.drain = runner.process, runner.task, runner.drain
        self.hand: deque[Claimed] = deque()
        self.busy: dict[asyncio.Task[None], Claimed] = {}
        self.counts: Counter[str] = Counter()
        self.stirred = asyncio.Event()
        self.rung = True
        self.dry = False
        self.unsure = False
        """A claim was sent whose answer never came."""
        self.deadline = clock.monotonic() + PASS.total_seconds()
        self.activity = self.process.begin(self.task)
        self.record = passes.Record(self.process, self.task)

    def ring(self) -> None:
        """Something new waits."""
        self.rung = True
        self.stirred.set()

    async def work(self) -> bool:
        """Do the turn; True when more waits and nobody could be rung for it."""
        alarm = asyncio.create_task(self._alarm())
        try:
            over = await self._until_over()
            return await self._wind_down(over)
        except Exception:
            # A claim that cannot work says so each minute; what is in hand must not wait for the sweep.
            self._leave()
            await self._abandon(Why.STOPPING)
            raise
        finally:
            alarm.cancel()
            self._leave()
            for task in self.busy:
                task.cancel()
            self.runner.passes.remove(self)
            self.process.active.discard(self.activity)

    async def _alarm(self) -> None:
        await self.activity.ending.wait()
        self.stirred.set()

    def _leave(self) -> None:
        if self.runner.current is self:
            self.runner.current = None

    async def _until_over(self) -> str:
        if self.task.lane.name in await self._db(lambda uow: paused_lanes(uow.sql), default=_NONE):
            self.activity.end(Why.PAUSED)
        while True:
            self.stirred.clear()
            over = self._over()
            if not over:
                await self._top_up()
                self._launch()
                if self._empty() and not await self._expects() and self._empty():
                    over = "empty"
            if over:
                self._leave()
                return over
            await self._wait()

    def _over(self) -> str | None:
        if self.activity.why:
            return self.activity.why
        if self.drain.blocked():
            return "blocked"
        return "time" if clock.monotonic() >= self.deadline else None

    def _empty(self) -> bool:
        return not self.hand and not self.busy and self.dry and not self.rung

    async def _expects(self) -> bool:
        """Whether a row becomes ready soon; the pass is rung by then."""
        if self.drain.later is None:
            return False
        later = self.drain.later
        left: float | None = await self._db(lambda uow: later(uow.sql), default=None)
        if left is None or left > SOON_S:
            return False
        asyncio.get_running_loop().call_later(left + MOMENT_S, self.ring)
        return True

    async def _wait(self) -> None:
        left = max(0.0, self.deadline - clock.monotonic())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.stirred.wait(), left)

    async def _top_up(self) -> None:
        """Claim when the hand is half empty, so that few statements serve many rows."""
        if self.rung:
            self.rung = self.dry = False
        isolated = any(i.alone for i in (*self.hand, *self.busy.values()))
        have = len(self.hand) + self.runner.busy
        room = self.runner.held - have
        if self.dry or isolated or room <= 0 or have > max(self.runner.held // 2, self.runner.parallel - 1):
            return
        taken = await self._db(lambda uow: self._claim(uow, room), default=_NOTHING)
        self.unsure = False
        self.dry = not taken
        self.hand.extend(sorted(taken, key=lambda i: i.alone))
        if taken and self.record.id is None:
            self.activity.run_id = self.record.id = await self._db(self.record.open, default=None)

    async def _claim(self, uow: UnitOfWork, count: int) -> Sequence[Claimed]:
        if self.unsure:
            await held.release_strays(uow.sql, self.drain, self.process.worker_id, self.runner.known())
        self.unsure = True
        return await self.drain.claim(uow.sql, self.process.worker_id, count)

    def _launch(self) -> None:
        while self.hand and self._may_start(self.hand[0]):
            item = self.hand.popleft()
            task = asyncio.create_task(self._item(item))
            self.busy[task] = item
            task.add_done_callback(self._ended)

    def _may_start(self, item: Claimed) -> bool:
        if item.alone:
            return self.runner.busy == 0
        isolated = any(i.alone for p in self.runner.passes for i in p.busy.values())
        return not isolated and self.runner.busy < self.runner.parallel

    def _ended(self, task: asyncio.Task[None]) -> None:
        self.busy.pop(task, None)
        if not task.cancelled() and task.exception() is not None:
            log.get().error("item was dropped", error=describe(task.exception() or RuntimeError()))
        self.runner.stir()

    async def _item(self, item: Claimed) -> None:
        outcome = await self._outcome(item)
        if outcome:
            self.counts[outcome] += 1

    async def _outcome(self, item: Claimed) -> str | None:
        if not await surely(lambda: self._mark(item), until=self.process.stopping.is_set):
            return "stale"
        limit = self.task.limit.total_seconds()
        try:
            async with asyncio.timeout(limit) as timer:
                return await self.task.body(item) or "done"
        except Delivered as death:
            return await self._delivered(item, death.detail)
        except Interrupted:
            # Whatever is missing now will be missing for the next row as well.
            await asyncio.sleep(PAUSE_S)
            return await self._again([item], interrupted=False)
        except Exception as error:  # noqa: BLE001 - the queues' edge: every error becomes a state of the row
            if timer.expired():
                return await self._fail(item, TIMEOUT, f"took longer than {limit:g} s")
            return await self._blame(item, error)

    async def _mark(self, item: Claimed) -> bool:
        async with self.process.database.one_statement() as sql:
            return await held.mark_started(sql, self.drain, item)

    async def _blame(self, item: Claimed, error: Exception) -> str | None:
        # An outage or another transaction is not the row's fault. What always meets the row alone is.
        if transient(error) and not item.alone:
            return await self._again([item], interrupted=True)
        log.get().error("item failed unexpectedly", item=item.id, error=describe(error), exc_info=error)
        return await self._fail(item, UNEXPECTED, describe(error))

    async def _delivered(self, item: Claimed, detail: str) -> str | None:
        outcome = await self._db(lambda uow: held.delivered(uow.sql, self.drain, item, detail), default=None)
        self.ring()
        return outcome

    async def _again(self, items: Sequence[Claimed], *, interrupted: bool) -> str | None:
        """Give rows back that this very pass may take again."""
        await self._back(items, interrupted=interrupted)
        self.ring()
        return None

    async def _fail(self, item: Claimed, reason: str, detail: str) -> str | None:
        ours = await self._db(lambda uow: self.drain.fail(uow.sql, item, reason, detail), default=False)
        return reason if ours else "stale"

    async def _back(self, items: Sequence[Claimed], *, interrupted: bool) -> str | None:
        if items:
            await self._db(
                lambda uow: held.give_back(uow.sql, self.drain, items, interrupted=interrupted), default=0
            )
        return None

    async def _wind_down(self, over: str) -> bool:
        """Give back what was not begun, let the rest end, write down what was done."""
        waiting, self.hand = list(self.hand), deque()
        await self._back(waiting, interrupted=False)
        # Rung before the last items end: their slots are used by the next pass meanwhile.
        unrung = over == "time" and not await self.process.bell.ring(self.task)
        if self.busy and over in {Why.STOPPING, Why.CANCELLED, Why.LOST}:
            await self._abandon(over)
        while self.busy:
            await asyncio.wait(set(self.busy), timeout=1)
            if self.process.stopping.is_set():
                await self._abandon(Why.STOPPING)
        status = "cancelled" if over == Why.CANCELLED else "done"
        await self._db(lambda uow: self._write_down(uow, status), default=None)
        return unrung

    async def _write_down(self, uow: UnitOfWork, status: str) -> None:
        if self.counts and self.drain.afterwards:
            await self.drain.afterwards(uow)
        await self.record.close(uow, self.counts, status=status)

    async def _abandon(self, why: str) -> None:
        """A short grace, then cancel; abandoned rows go back at no cost."""
        if self.busy:
            await asyncio.wait(set(self.busy), timeout=TIDY_S)
        left = dict(self.busy)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(set(left), timeout=1.0 if why == Why.STOPPING else LET_GO_S)
        await self._back([*left.values(), *self.hand], interrupted=False)
        self.hand.clear()
        for task in left:
            self.busy.pop(task, None)

    async def _db(self, act: Callable[[UnitOfWork], Awaitable[T]], *, default: T) -> T:
        """One unit of work that outlives an outage; `default` when the process stops meanwhile."""

        async def attempt() -> T:
            async with self.process.database.unit_of_work() as uow:
                return await act(uow)

        answer = await surely(attempt, until=self.process.stopping.is_set)
        return default if answer is None else answer
