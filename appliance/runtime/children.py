"""The processes that the supervisor keeps alive, and their restarts."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from appliance.core import clock
from appliance.runtime import proc
from appliance.runtime.standstill import WORDS, Standstill


LONGEST = 30.0
HEALTHY = 60.0  # who lived that long starts again without a grudge
GLANCE_EVERY = 5.0  # at most; the supervisor's own looks at the disk are rarer
ASK_OFTEN = 10.0  # as long; who is closed for longer is asked once a second
HOPELESS = 3  # crashes in a row after which "restarting" would be a euphemism


@dataclass(slots=True)
class Child:
    """One process with a name, started again whenever it ends."""

    name: str
    start: Callable[[], int]
    first_delay: float = 1.0
    ready: Callable[[], bool] | None = None
    """Asks a server whether it answers; a child without the question is ready when it runs."""
    explain: Callable[[], str] | None = None
    """What the process itself said about its end."""
    standstill: Standstill | None = None
    """Knows when a server that was open is closed again, and for good."""
    settles: bool = False
    """Its rows in the database are settled when it ends."""
    pid: int = 0
    begun: int = 0
    answered: bool = False
    up_at: float = 0.0
    due_at: float = 0.0
    closed_at: float = 0.0
    ask_due: float = 0.0
    glance_due: float = 0.0
    stuck: bool = False
    crashes: int = 0
    restarts: int = 0
    last_exit: str = ""
    since: str = ""

    @property
    def state(self) -> str:
        """running, starting, restarting, or degraded after several crashes in a row."""
        if self.crashes >= HOPELESS:
            return "degraded"
        if not self.pid:
            return "restarting"
        return "running" if self.answered else "starting"

    def launch(self) -> None:
        """Start it now."""
        self.pid = self.start()
        self.begun = proc.started(self.pid)
        self.up_at = self.closed_at = time.monotonic()
        self.ask_due, self.stuck = 0.0, False
        self.answered = self.ready is None
        self.since = _stamp()

    def ended(self, status: int) -> None:
        """Note its end and when it may start again."""
        if self.stuck:
            self._down(WORDS)
            return
        said = self.explain() if self.explain and os.WIFEXITED(status) else ""
        self._down(describe_exit(status) + (f" ({said})" if said else ""))

    def failed(self, error: OSError) -> None:
        """Note that it could not even be started."""
        self._down(f"did not start: {error.strerror}")

    def _down(self, why: str) -> None:
        """Again after 1, 2, 4 … 30 s while it keeps crashing."""
        now = time.monotonic()
        self.crashes = 1 if now - self.up_at > HEALTHY else self.crashes + 1
        self.pid, self.answered, self.restarts = 0, False, self.restarts + 1
        self.last_exit, self.since = why, _stamp()
        self.due_at = now + min(LONGEST, self.first_delay * 2.0 ** min(self.crashes - 1, 10))

    def check(self) -> None:
        """Ask a server that is not open whether it answers, and forgive crashes after a healthy while."""
        if not self.pid:
            return
        now = time.monotonic()
        if self.answered:
            self._glance(now)
        if not self.answered and self.ready is not None and now >= self.ask_due:
            self._ask(self.ready, now)
        if self.answered and self.crashes and now - self.up_at > HEALTHY:
            self.crashes = 0

    def _glance(self, now: float) -> None:
        """A database that crashed inside does not end: it recovers, and is closed meanwhile."""
        if self.standstill is None or now < self.glance_due:
            return
        self.glance_due = now + GLANCE_EVERY
        if not self.standstill.looks_open(self.pid):
            self.answered, self.closed_at, self.ask_due, self.since = False, now, 0.0, _stamp()

    def _ask(self, ready: Callable[[], bool], now: float) -> None:
        self.answered = ready()
        self.glance_due = now + GLANCE_EVERY
        if now - self.closed_at > ASK_OFTEN:
            self.ask_due = now + 1.0
        remedy = self.standstill.remedy(self.pid) if self.standstill and not self.answered else None
        if remedy is not None:
            self.stuck = True
            signal_to([self], remedy)

    def report(self) -> dict[str, Any]:
        """How it is, for the health file."""
        return {
            "name": self.name,
            "pid": self.pid,
            "state": self.state,
            "restarts": self.restarts,
            "last_exit": self.last_exit,
            "since": self.since,
        }

    def identity(self) -> dict[str, Any]:
        """Who it is, for a later life that has to end it."""
        return {"name": self.name, "pid": self.pid, "pid_started": self.begun}


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that was reaped."""

    pid: int
    status: int


def reap() -> list[Ended]:
    """Collect every process that ended, our own and adopted ones."""
    found: list[Ended] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        found.append(Ended(pid, status))


def signal_to(children: Iterable[Child], number: signal.Signals) -> None:
    """Send a signal to those that run."""
    for child in children:
        if child.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, number)


def end_orphans(known: Iterable[int]) -> None:
    """End what a dead worker left to us; a database backend ends by itself when its postmaster is gone."""
    mine = set(known)
    for pid in proc.children_of(os.getpid()):
        if pid not in mine and proc.name_of(pid) != "postgres":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def describe_exit(status: int) -> str:
    """How a process ended, in words."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            return f"ended by {signal.Signals(number).name}"
        except ValueError:
            return f"ended by signal {number}"
    return f"ended with status {os.waitstatus_to_exitcode(status)}"


def _stamp() -> str:
    return clock.now().isoformat(timespec="seconds")
