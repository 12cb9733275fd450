"""Forked children: long ones that run a part of Vitrine, short ones that answer a question."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from appliance.core.errors import VitrineError


ALL_SIGNALS = signal.valid_signals()


@dataclass(slots=True)
class Question:
    """A short child at work; its answer is at most one pipe's worth of JSON."""

    pid: int
    pipe: int
    done: bool = False
    value: Any = None
    refusal: VitrineError | None = None
    crashed: bool = False

    def collect(self) -> None:
        """Read the answer of a child that ended."""
        with os.fdopen(self.pipe, "rb") as pipe:
            text = pipe.read()
        self.done = True
        answer = json.loads(text) if text else {}
        self.value = answer.get("value")
        self.crashed = not answer
        if "refused" in answer:
            self.refusal = VitrineError(*answer["refused"])


def fork(work: Callable[[], None], prepare: Callable[[], None]) -> int:
    """Run `work` in a child that never returns to the caller's code."""
    # Blocked over the fork: a signal for the child must not land in handlers that are the parent's.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ALL_SIGNALS)
    _flush()
    pid = os.fork()
    if pid == 0:
        _live_and_leave(work, prepare)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pid


def ask(work: Callable[[], Any], prepare: Callable[[], None]) -> Question:
    """Run `work` in a child whose result comes back as JSON."""
    reading, writing = os.pipe()

    def answer() -> None:
        os.close(reading)
        os.write(writing, json.dumps(_outcome(work)).encode())

    pid = fork(answer, prepare)
    os.close(writing)
    return Question(pid, reading)


def answer_of(work: Callable[[], Any]) -> Any:
    """Ask and wait; for questions to the kernel that take no time."""
    question = ask(work, lambda: None)
    os.waitpid(question.pid, 0)
    question.collect()
    return question.value


def default_signals() -> None:
    """Forget the parent's handlers; Ctrl-C reaches the parent only, which then ends its children in order."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGUSR1):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _outcome(work: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"value": work()}
    except VitrineError as error:
        return {"refused": [error.title, error.hint]}


def _live_and_leave(work: Callable[[], None], prepare: Callable[[], None]) -> NoReturn:
    status = 1
    try:
        prepare()
        default_signals()
        work()
        status = 0
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:  # noqa: BLE001 - the child's last act, whatever happened
        traceback.print_exc(file=sys.stderr)
    finally:
        _flush()
        os._exit(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
