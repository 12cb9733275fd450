"""Signals as something to wait for: one thread, no event loop, nothing done inside a handler."""

from __future__ import annotations

import os
import select
import signal
from types import FrameType


STOP = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


class Wishes:
    """Counts the wishes to stop and wakes the waiting supervisor when a child ends."""

    def __init__(self) -> None:
        self.stops = 0
        self._reading, self._writing = os.pipe()
        for end in (self._reading, self._writing):
            os.set_blocking(end, False)

    def listen(self) -> None:
        """Take over the process's signals."""
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        for number in (*STOP, signal.SIGCHLD):
            # nohup asks to ignore the end of the terminal, and means it.
            if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _noted)

    def wait(self, limit: float) -> None:
        """Sleep until a signal or the limit."""
        select.select([self._reading], [], [], max(0.0, limit))
        try:
            numbers = os.read(self._reading, 4096)
        except BlockingIOError:
            return
        self.stops += sum(1 for number in numbers if number in STOP)


def _noted(_number: int, _frame: FrameType | None) -> None:
    """The interpreter has already written the number to the pipe."""
