"""Drain tasks: all turns of one drain in a worker, of which one claims and the others wind down."""

from __future__ import annotations

from appliance.core.drains import Drain
from queues.declare import Task
from queues.process import Process
from queues.turn import Pass


class Runner:
    """All passes of one drain in this process. A wake that comes while a pass claims joins it."""

    def __init__(self, process: Process, task: Task, drain: Drain) -> None:
        self.process = process
        self.task = task
        self.drain = drain
        self.current: Pass | None = None
        self.passes: list[Pass] = []

    @property
    def parallel(self) -> int:
        """How many rows may be worked on at this moment; a person may change it while a pass runs."""
        return max(1, self.drain.parallel(self.process.settings))

    @property
    def held(self) -> int:
        """How many rows one pass may hold."""
        return max(self.parallel, self.drain.held(self.process.settings))

    @property
    def busy(self) -> int:
        """Rows that are worked on, those of passes that are ending included."""
        return sum(len(p.busy) for p in self.passes)

    async def wake(self) -> None:
        """Work until nothing waits, or until it is the turn of others."""
        while not self.process.stopping.is_set():
            if self.current is not None:
                # No ring may be lost in the ending window: between this and the pass's last look
                # at `rung` there is no await.
                self.current.ring()
                return
            self.current = Pass(self)
            self.passes.append(self.current)
            if not await self.current.work():
                return

    def known(self) -> list[int]:
        """Ids of all rows in hand."""
        return [i.id for p in self.passes for i in (*p.hand, *p.busy.values())]

    def stir(self) -> None:
        """A slot became free: whichever pass claims now may use it."""
        for one in self.passes:
            one.stirred.set()
