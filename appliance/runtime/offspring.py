"""How web, worker groups and short questions are started: rights, files, output, death signal."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from appliance.core import log
from appliance.runtime import forked, privileges
from appliance.runtime.children import Child
from appliance.runtime.composition import READERS
from appliance.runtime.ground import Ground


def worker(ground: Ground, name: str, work: Callable[[], None]) -> Child:
    """A long child that runs `work` and is started again when it ends."""

    def live() -> None:
        log.configure(ground.settings, process=name)
        work()

    prepare = partial(_prepare_worker, ground, name, os.getpid())
    return Child(name, lambda: forked.fork(live, prepare), settles=True)


def prepare_question(ground: Ground, parent: int) -> None:
    """A short child: the account's rights, and the one to look into folders that will become roots."""
    os.setsid()
    privileges.become(ground.account, read_all=True)
    privileges.die_with_parent(signal.SIGKILL, parent)
    _let_go(ground, sockets=True)
    _own_environment(ground)
    log.configure(ground.settings, process="start")


def _prepare_worker(ground: Ground, name: str, parent: int) -> None:
    os.setsid()
    read_all = name in READERS or not ground.program_in_reach
    privileges.become(ground.account, read_all=read_all)
    privileges.die_with_parent(signal.SIGTERM, parent)
    _let_go(ground, sockets=name != "web")
    _own_environment(ground)
    _own_output(ground)
    with suppress(OSError):  # for people who look at `top`
        Path("/proc/self/comm").write_text(f"vitrine-{name}", encoding="ascii")


def _let_go(ground: Ground, *, sockets: bool) -> None:
    """The lock belongs to the supervisor's life alone: an orphan must not hold the directory."""
    with suppress(OSError):
        os.close(ground.lock)
    for listener in ground.sockets if sockets else ():
        listener.close()


def _own_environment(ground: Ground) -> None:
    if ground.account is not None:
        os.environ["HOME"] = str(ground.settings.data)
        os.environ["USER"] = os.environ["LOGNAME"] = ground.account.name


def _own_output(ground: Ground) -> None:
    """In a terminal the supervisor's lines stay alone; elsewhere everything goes to one stream."""
    reading = os.open(os.devnull, os.O_RDONLY)
    os.dup2(reading, 0)
    os.close(reading)
    if not sys.stderr.isatty():
        return
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
    handle = os.open(ground.settings.home.logs / "vitrine.log", flags, 0o600)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.close(handle)
