"""A PostgreSQL that crashed, lost the process of its recovery as well, and refuses everybody for ever.

Its postmaster counts the second death as part of the first and waits for an end that nobody brings about.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from appliance.runtime import proc
from appliance.runtime.pgwire import Answer


# Started when the server opens and not before, with whatever recovery there was behind it.
OPEN = "postgres: walwriter"
# Exactly this or more words behind it: a backend that just began has its role and database in between.
RECOVERS = "postgres: startup"
# Seen at least once, or we would not know whom we cannot see.
OURS = "postgres: "
EVERY = 1.0
SIGHTINGS = 4
"""In a row: between a crash and its recovery a healthy server looks the same for a moment."""
GRACE = 8.0
"""An immediate stop kills after 5 s what does not end by itself."""
WORDS = "crashed, and nothing carried its recovery on any more"


@dataclass(slots=True)
class Standstill:
    """Watches one server; as long as anything recovers in it, however long, nothing is done."""

    answer: Callable[[], Answer]
    _pid: int = 0
    _sightings: int = 0
    _due: float = 0.0
    _ended_at: float | None = None

    def looks_open(self, pid: int) -> bool:
        """A glance at the names of its processes: it costs the server nothing and wakes nobody."""
        return any(_is(name, OPEN) for name in map(proc.title_of, proc.offspring_of(pid)))

    def remedy(self, pid: int) -> signal.Signals | None:
        """What a server that does not answer has to be sent now; nothing as long as it may come by itself."""
        now = time.monotonic()
        if pid != self._pid:
            self._pid, self._sightings, self._due, self._ended_at = pid, 0, 0.0, None
        if self._ended_at is not None:
            return signal.SIGKILL if now - self._ended_at > GRACE else None
        if now < self._due:
            return None
        self._due = now + EVERY
        self._sightings = self._sightings + 1 if self._seen(pid) else 0
        if self._sightings < SIGHTINGS:
            return None
        self._ended_at = now
        # An immediate stop loses nothing, and one in order would wait for the recovery, too.
        return signal.SIGQUIT

    def _seen(self, pid: int) -> bool:
        if self.answer() is not Answer.RECOVERING:
            return False
        # Every process of the machine: the kernel's quick list may leave one out while others end.
        titles = [proc.title_of(child) for child in proc.children_of(pid)]
        return OURS in " ".join(titles) and not any(_is(title, RECOVERS) for title in titles)


def _is(title: str, name: str) -> bool:
    return title == name or title.startswith(f"{name} ")
