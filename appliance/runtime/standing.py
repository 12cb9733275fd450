"""A running instance as other processes of this machine find it, or one that stands only for a while."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from appliance.core.errors import VitrineError
from appliance.core.settings import Settings
from appliance.runtime import forked, launch
from appliance.runtime.composition import Factories
from appliance.runtime.leftovers import running_state
from appliance.runtime.terminal import complain


BRIEF_PATIENCE = 0.05


@dataclass(frozen=True, slots=True)
class Standing:
    """How to reach it."""

    settings: Settings
    urls: list[str]


def running(settings: Settings) -> Standing | None:
    """The instance on this data directory, once it takes work."""
    state = running_state(settings.home)
    if not state.get("ready"):
        return None
    reached = settings.with_(database_url=state["database_url"], redis_url=state["redis_url"])
    return Standing(reached, list(state.get("urls", ())))


@contextmanager
def standing(settings: Settings, compose: Callable[[], Factories]) -> Iterator[Standing]:
    """The running instance, else one without pages that lives as long as the block."""
    if there := running(settings):
        yield there
        return
    guardian = os.getpid()
    pid = forked.fork(lambda: _serve(settings, compose, guardian), _apart)
    try:
        yield _until_ready(settings, pid)
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)


def _serve(settings: Settings, compose: Callable[[], Factories], guardian: int) -> None:
    try:
        launch.run(settings, compose, folders=[], pages=False, guardian=guardian)
    except VitrineError as refusal:
        complain(refusal.line())
        raise SystemExit(1) from None


def _apart() -> None:
    """Its own session: Ctrl-C reaches the caller, which ends it in order; stdout stays the caller's."""
    os.setsid()
    os.dup2(2, 1)


def _until_ready(settings: Settings, pid: int) -> Standing:
    while True:
        ended, _ = os.waitpid(pid, os.WNOHANG)
        if ended:
            raise VitrineError("The servers could not be started", "The line above says why.")
        if there := running(settings):
            return there
        time.sleep(BRIEF_PATIENCE)
