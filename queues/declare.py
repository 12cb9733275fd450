"""The declaration of lanes and tasks, and the register that everything about queues is derived from."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import queues
from appliance.core.db import UnitOfWork
from appliance.core.drains import Drain
from appliance.core.facts import Fact
from appliance.core.settings import Settings
from queues import refusals


Body = Callable[[Any], Awaitable[Any]]

GROUPS = ("quick", "heavy", "long")
"""Worker processes; each serves the lanes of its group."""
GRACE = timedelta(seconds=30)
"""How far past its limit something may be before it counts as dead: time to kill and to write it down."""
PASS = timedelta(seconds=60)
"""A drain gives its slot to others after this."""


def seconds(n: float) -> timedelta:
    """A duration in seconds."""
    return timedelta(seconds=n)


def minutes(n: float) -> timedelta:
    """A duration in minutes."""
    return timedelta(minutes=n)


def hours(n: float) -> timedelta:
    """A duration in hours."""
    return timedelta(hours=n)


def days(n: float) -> timedelta:
    """A duration in days."""
    return timedelta(days=n)


@dataclass(frozen=True, slots=True)
class Lane:
    """A named queue with its own slots; `slots` None means one for each decode child."""

    name: str
    group: str
    slots: int | None
    ceiling: timedelta
    purpose: str

    def slots_for(self, settings: Settings) -> int:
        """How many wakes of this lane run at once."""
        return settings.decoders if self.slots is None else self.slots


@dataclass(frozen=True, slots=True)
class Ledger:
    """The table whose rows are the executions of a run task, and what its states mean.

    A claim moves a row from `pending` to `takes` (the one live state when there is only one); `live`
    states are judged by the sweep, which moves a dead row to `stalled`: a terminal state, or `pending`
    to begin again. `asked` are the facts after which a pending row waits. `make` writes the row of a
    schedule or a button; the default writes one of defaults.
    """

    model: type[Any]
    live: AbstractSet[str]
    keep: timedelta | None = None
    takes: str = ""
    pending: str = "pending"
    done: str = "done"
    failed: str = "error"
    cancelled: str = "cancelled"
    stalled: str = "error"
    terminal: AbstractSet[str] = frozenset({"done", "error", "cancelled"})
    asked: Sequence[type[Fact]] = ()
    make: Callable[[UnitOfWork], Awaitable[int]] | None = None

    @property
    def table(self) -> str:
        """Name of the table, for composed SQL."""
        return str(self.model.__tablename__)

    @property
    def taken(self) -> str:
        """The state that a claim moves a row to."""
        return self.takes or min(self.live)


@dataclass(frozen=True, slots=True)
class Task:
    """One declared task; everything else about it is derived."""

    name: str
    lane: Lane
    limit: timedelta
    body: Body
    wrap_up: timedelta | None = None
    cron: str | None = None
    button: bool = False
    on: tuple[type[Fact], ...] = ()
    drain: Drain | None = None
    ledger: Ledger | None = None
    at_start: bool = False
    quiet: bool = False

    @property
    def kind(self) -> str:
        """`drain` works through rows of a table, `run` is one execution for one row."""
        return "drain" if self.drain else "run"

    @property
    def summary(self) -> str:
        """The first line of the docstring, for people."""
        return (self.body.__doc__ or "").strip().partition("\n")[0]

    @property
    def stuck_after(self) -> timedelta:
        """A row of this task that is older is dead; derived, so that it cannot be below the limit."""
        return self.limit + GRACE

    @property
    def wake_timeout(self) -> timedelta:
        """How long one wake may take: a drain works for a while and then ends its last items."""
        return self.stuck_after + PASS if self.drain else self.stuck_after

    @property
    def keep(self) -> timedelta | None:
        """How long terminal rows of this task's own table stay."""
        table = self.drain or self.ledger
        return table.keep if table else None


class Register:
    """All lanes and tasks of a program; wrong declarations do not get in."""

    def __init__(self) -> None:
        self._lanes: dict[str, Lane] = {}
        self._tasks: dict[str, Task] = {}

    def lane(self, name: str, *, group: str, slots: int | None, ceiling: timedelta, purpose: str) -> Lane:
        """Declare a lane; it belongs to a worker group, or nobody would serve it."""
        lane = Lane(name, group, slots, ceiling, purpose)
        refusals.check_lane(lane, self._lanes, GROUPS)
        self._lanes[name] = lane
        return lane

    def task(self, *, lane: Lane, limit: timedelta | None = None, **rest: Any) -> Callable[[Body], Task]:
        """Declare the decorated coroutine function as a task."""

        def declare(body: Body) -> Task:
            name = f"{body.__module__.rpartition('.')[2]}.{body.__name__}"
            rest["on"] = tuple(rest.get("on", ()))
            made = Task(name=name, lane=lane, limit=limit or timedelta(0), body=body, **rest)
            refusals.check_task(made, self._lanes, self._tasks)
            self._tasks[name] = made
            return made

        return declare

    def seal(self, models: Sequence[type[Any]] | None = None) -> Register:
        """Check what only the whole can show: each run table has exactly one owner."""
        refusals.check_owners(self.tasks, refusals.run_tables() if models is None else models)
        return self

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """All lanes in order of declaration."""
        return tuple(self._lanes.values())

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks by name."""
        return tuple(self._tasks[name] for name in sorted(self._tasks))

    def __getitem__(self, name: str) -> Task:
        return self._tasks[name]

    def find(self, name: str) -> Task | None:
        """The task of this name, if there is one."""
        return self._tasks.get(name)

    def group(self, group: str) -> tuple[Lane, ...]:
        """The lanes that one worker process serves."""
        return tuple(lane for lane in self.lanes if lane.group == group)

    def of(self, lane: Lane) -> tuple[Task, ...]:
        """The tasks of a lane."""
        return tuple(t for t in self.tasks if t.lane == lane)

    def drains(self) -> Iterator[tuple[Task, Drain]]:
        """Drain tasks with their tables."""
        return ((t, t.drain) for t in self.tasks if t.drain)

    def scheduled(self) -> tuple[Task, ...]:
        """Tasks with a schedule."""
        return tuple(t for t in self.tasks if t.cron)


REGISTER = Register()
task = REGISTER.task


def load() -> Register:
    """Import every module of this package, so that a declaration cannot be forgotten, and seal."""
    for module in pkgutil.iter_modules(queues.__path__):
        importlib.import_module(f"queues.{module.name}")
    return REGISTER.seal()
