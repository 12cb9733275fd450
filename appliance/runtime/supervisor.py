"""Keeps servers, web and worker groups alive; one thread, no event loop, no database driver."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from appliance.core.errors import VitrineError
from appliance.core.settings import Settings
from appliance.runtime import children, forked, proc
from appliance.runtime.children import Child
from appliance.runtime.forked import Question
from appliance.runtime.health import FILE, Disk, Health
from appliance.runtime.leftovers import STATE
from appliance.runtime.logs import keep_small
from appliance.runtime.terminal import Waiting, say
from appliance.runtime.wishes import Wishes
from appliance.runtime.written import write_json


WORK_GRACE = 4.6  # web and groups; then servers, so that the whole stop stays under 10 s
SERVER_GRACE = 3.0
LAST_GRACE = 0.8
UNIMPRESSED = 1_000_000  # no number of further Ctrl-C shortens the last seconds
LOOK_EVERY = 10.0
SETTLE_AGAIN = 3.0
ANSWER_LIMIT = 30.0


class Stopped(Exception):
    """Somebody asked to stop while Vitrine was starting."""


class Supervisor:
    """The parent of everything; it only forks, waits and signals."""

    def __init__(self, settings: Settings, prepare: Callable[[], None]) -> None:
        self.settings = settings
        self.wishes = Wishes()
        self.servers: list[Child] = []
        self.workers: list[Child] = []
        self.disk = Disk(settings.home, settings.disk_floor_mb)
        self.on_settle: Callable[[int, int], None] | None = None
        self._prepare = prepare
        self._health = Health(settings.home)
        self._questions: dict[int, Question] = {}
        self._unsettled: list[tuple[int, int]] = []
        self._settling: tuple[Question, tuple[int, int]] | None = None
        self._settle_due = 0.0
        self._look_due = 0.0
        self._facts: dict[str, Any] = {}
        self._stopping = False

    @property
    def everyone(self) -> list[Child]:
        """Servers first."""
        return [*self.servers, *self.workers]

    def launch(self, child: Child) -> None:
        """Start a child and write down who it is before anything else can happen."""
        (self.workers if child.settles else self.servers).append(child)
        child.launch()
        self.note()

    def note(self, **facts: Any) -> None:
        """Write the state file: how to reach this instance, and whom a later life must end."""
        self._facts |= facts
        own = {"pid": os.getpid(), "pid_started": proc.started(os.getpid()), "boot": proc.boot_id()}
        people = [child.identity() for child in self.everyone if child.pid]
        path = self.settings.home.run / STATE
        with contextlib.suppress(OSError):  # a full disk; the next change writes it again
            write_json(path, own | self._facts | {"children": people})

    def pump(self, limit: float) -> None:
        """Wait for something to happen and take note of it."""
        self.wishes.wait(limit)
        self._reap()

    def wait_for(self, condition: Callable[[], bool], waiting: Waiting) -> None:
        """Wait while starting; a wish to stop ends it, time does not."""
        self._restart_due()
        while not condition():
            waiting.tell(self._trouble())
            self.pump(0.02)
            self._restart_due()
            self._heed()

    def rest(self, seconds: float) -> None:
        """Wait that long, wide awake."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.pump(deadline - time.monotonic())
            self._restart_due()
            self._heed()

    def ask(self, work: Callable[[], Any], *, limit: float = ANSWER_LIMIT) -> Any:
        """Have a short child do it; what it refuses is raised here."""
        return self.answer(self.begin(work), limit=limit)

    def answer(self, question: Question, *, limit: float = ANSWER_LIMIT) -> Any:
        """Wait for what a short child has to say."""
        deadline = time.monotonic() + limit
        while not question.done:
            self.pump(0.5)
            self._restart_due()
            if self.wishes.stops or time.monotonic() > deadline:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(question.pid, signal.SIGKILL)
            self._heed()
        if question.refusal:
            raise question.refusal
        if question.crashed:
            raise VitrineError("A step of the start failed", "The lines above say why.")
        return question.value

    def keep_alive(self) -> None:
        """The long part: until somebody wishes to stop."""
        while not self.wishes.stops:
            self.tend()
            self.pump(self._pause())

    def tend(self) -> None:
        """Everything that is due now."""
        self._restart_due()
        self._settle()
        now = time.monotonic()
        if now >= self._look_due:
            self._look_due = now + LOOK_EVERY
            if self.disk.check():
                say(self.disk.reason or "There is enough free disk again: imports go on.")
            keep_small(self.settings.home.logs)
        self._write_health()

    def stop(self) -> None:
        """End everything in order: pages and work first, then the doorbell and the database."""
        self._stopping = True
        if any(child.pid for child in self.everyone):
            say("Stopping …")
        self._write_health(stopping=True)
        stops = self.wishes.stops
        children.signal_to(self.workers, signal.SIGTERM)
        self._until_gone(self.workers, WORK_GRACE, stops)
        children.signal_to(self.workers, signal.SIGKILL)
        for child in self.servers:
            children.signal_to([child], signal.SIGINT if child.name == "postgres" else signal.SIGTERM)
        self._until_gone(self.servers, SERVER_GRACE, stops)
        # An immediate stop of PostgreSQL loses nothing: the next start recovers.
        children.signal_to(self.servers, signal.SIGQUIT)
        self._until_gone(self.servers, LAST_GRACE, UNIMPRESSED)
        children.signal_to(self.everyone, signal.SIGKILL)
        self._until_gone(self.everyone, LAST_GRACE, UNIMPRESSED)
        for name in (STATE, FILE):
            (self.settings.home.run / name).unlink(missing_ok=True)

    def begin(self, work: Callable[[], Any]) -> Question:
        """Start a short child; its answer is collected later."""
        question = forked.ask(work, self._prepare)
        self._questions[question.pid] = question
        return question

    def _reap(self) -> None:
        for ended in children.reap():
            question = self._questions.pop(ended.pid, None)
            if question is not None:
                question.collect()
            for child in self.everyone:
                if child.pid == ended.pid:
                    self._lost(child, ended.status)

    def _lost(self, child: Child, status: int) -> None:
        who = (child.pid, child.begun)
        child.ended(status)
        if self._stopping or self.wishes.stops:
            return
        wait = max(0.0, child.due_at - time.monotonic())
        say(f"{child.name} {child.last_exit}; it starts again {f'in {wait:.0f} s' if wait >= 1 else 'now'}.")
        if child.settles:
            children.end_orphans([*self._questions, *(other.pid for other in self.everyone)])
            self._unsettled.append(who)
        self.note()

    def _restart_due(self) -> None:
        now = time.monotonic()
        for child in self.everyone:
            if not child.pid and now >= child.due_at and not self.wishes.stops:
                self._launch_again(child)
            child.check()

    def _launch_again(self, child: Child) -> None:
        try:
            child.launch()
        except OSError as error:  # no memory or no process left for a moment
            child.failed(error)
        self.note()

    def _settle(self) -> None:
        """Settle the rows of dead workers, one after the other, as soon as the database can."""
        if self._settling is not None:
            question, who = self._settling
            if not question.done:
                return
            self._settling = None
            if question.crashed or question.refusal:
                self._unsettled.append(who)
                self._settle_due = time.monotonic() + SETTLE_AGAIN
        if self._unsettled and self.on_settle and time.monotonic() >= self._settle_due:
            who = self._unsettled.pop(0)
            self._settling = (self.begin(partial(self.on_settle, *who)), who)

    def _pause(self) -> float:
        now = time.monotonic()
        times = [self._look_due, *(child.due_at for child in self.everyone if not child.pid)]
        times += [
            max(now + 0.1, child.ask_due) for child in self.everyone if child.pid and not child.answered
        ]
        if self._unsettled or self._settling:
            times.append(now + 0.5)
        return max(0.0, min(times) - now)

    def _until_gone(self, group: list[Child], limit: float, stops: int) -> None:
        deadline = time.monotonic() + limit
        while any(child.pid for child in group) and time.monotonic() < deadline:
            if self.wishes.stops > stops:  # a second Ctrl-C
                return
            self.pump(min(0.2, max(0.0, deadline - time.monotonic())))

    def _write_health(self, *, stopping: bool = False) -> None:
        self._health.write([child.report() for child in self.everyone], self.disk, stopping=stopping)

    def _trouble(self) -> str:
        return "; ".join(f"{c.name} {c.last_exit}" for c in self.everyone if not c.pid and c.last_exit)

    def _heed(self) -> None:
        if self.wishes.stops:
            raise Stopped
