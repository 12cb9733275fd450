"""What an earlier life of the same data directory left running, ended before anything starts."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from appliance.core.paths import Home
from appliance.runtime import proc
from appliance.runtime.written import read_json


STATE = "state.json"
GENTLE = 5.0  # workers need no longer to give back what they hold
RECOVERABLE = 10.0  # a fast stop of PostgreSQL writes one checkpoint


def state_of(home: Home) -> dict[str, Any]:
    """What the last supervisor wrote about itself."""
    return read_json(home.run / STATE)


def running_state(home: Home) -> dict[str, Any]:
    """The same, only while that supervisor lives."""
    state = state_of(home)
    alive = proc.is_alive(int(state.get("pid", 0)), int(state.get("pid_started", 0)))
    return state if alive and state.get("boot") == proc.boot_id() else {}


def end_leftovers(home: Home) -> int:
    """End children of a supervisor that died, and then the database server; returns how many there were.

    The caller holds the lock of the directory, so no supervisor of these processes is alive.
    """
    found = _children(state_of(home))
    _end(lambda: [pid for pid, begun in found if proc.is_alive(pid, begun)], GENTLE)
    return len(found) + end_database(home.pg)


def end_database(cluster: Path) -> int:
    """Stop whatever still works on the cluster; its own recovery makes even the last resort safe."""
    found = proc.working_in(cluster)
    if not found:
        return 0
    postmaster = _postmaster(cluster)
    if postmaster in found:
        _signal([postmaster], signal.SIGINT)
        _wait(lambda: proc.working_in(cluster), RECOVERABLE)
    _signal(proc.working_in(cluster), signal.SIGQUIT)
    _wait(lambda: proc.working_in(cluster), GENTLE)
    _end(lambda: proc.working_in(cluster), 0)
    return len(found)


def _children(state: dict[str, Any]) -> list[tuple[int, int]]:
    if state.get("boot") != proc.boot_id():
        return []
    pairs = [(int(c["pid"]), int(c["pid_started"])) for c in state.get("children", [])]
    return [(pid, begun) for pid, begun in pairs if proc.is_alive(pid, begun)]


def _end(living: Callable[[], list[int]], patience: float) -> None:
    _signal(living(), signal.SIGTERM)
    _wait(living, patience)
    _signal(living(), signal.SIGKILL)
    _wait(living, GENTLE)


def _wait(living: Callable[[], list[int]], limit: float) -> None:
    deadline = time.monotonic() + limit
    while living() and time.monotonic() < deadline:
        time.sleep(0.05)


def _signal(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _postmaster(cluster: Path) -> int:
    try:
        text = (cluster / "postmaster.pid").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    first = text.partition("\n")[0].strip()
    return int(first) if first.isdigit() else 0
