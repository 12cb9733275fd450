"""What the register refuses: each wrong declaration fails at import with one line."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from croniter import croniter
from sqlalchemy import Index

from appliance.core.columns import Base, ItemColumns, RunColumns
from appliance.core.errors import VitrineError
from appliance.core.work import TaskRun


if TYPE_CHECKING:
    from queues.declare import Lane, Task


class DeclarationRefused(VitrineError):
    """A lane or task is declared in a way that cannot work."""


def check_lane(lane: Lane, lanes: Mapping[str, Lane], groups: Sequence[str]) -> None:
    """Refuse a lane that nobody would serve or that exists."""
    if lane.name in lanes:
        raise DeclarationRefused(f"Lane {lane.name} is declared twice")
    if lane.group not in groups:
        raise DeclarationRefused(f"Lane {lane.name} has no worker group", f"One of: {', '.join(groups)}")
    if lane.slots is not None and lane.slots < 1:
        raise DeclarationRefused(f"Lane {lane.name} has no slot")


def check_task(task: Task, lanes: Mapping[str, Lane], tasks: Mapping[str, Task]) -> None:
    """Refuse a task that could get stuck, be forgotten or never start."""
    if not any(task.lane is lane for lane in lanes.values()):
        raise DeclarationRefused(f"{task.name}: its lane is not in the register")
    if task.name in tasks:
        raise DeclarationRefused(f"{task.name}: the name is taken")
    for wrong in (_body, _limits, _starts, _tables, _index):
        message = wrong(task)
        if message:
            raise DeclarationRefused(f"{task.name}: {message}")


def _body(task: Task) -> str | None:
    if not inspect.iscoroutinefunction(task.body):
        return "the body is not a coroutine function"
    if not task.summary:
        return "the docstring is missing; its first line stands on the activity page"
    return None


def _limits(task: Task) -> str | None:
    if task.limit <= timedelta(0):
        return "there is no limit"
    if task.limit > task.lane.ceiling:
        return f"the limit {task.limit} is above the ceiling of lane {task.lane.name}, {task.lane.ceiling}"
    if task.wrap_up is not None and not timedelta(0) < task.wrap_up < task.limit:
        return "wrap_up is not inside the limit"
    return None


def _starts(task: Task) -> str | None:
    if task.cron is not None and not (len(task.cron.split()) == 5 and croniter.is_valid(task.cron)):
        return f"the schedule {task.cron!r} is not a cron text of five fields"
    if task.on and not task.drain:
        return "on= needs drain=: a lost ring must be found again"
    asked = task.ledger.asked if task.ledger else ()
    if not (task.cron or task.button or task.on or task.at_start or asked):
        return "nothing starts it"
    return None


def _tables(task: Task) -> str | None:
    if task.drain and task.ledger:
        return "drain= and ledger= exclude each other"
    if task.drain and not issubclass(task.drain.model, ItemColumns):
        return f"{task.drain.table} has no item columns"
    return _ledger(task) if task.ledger else None


def _ledger(task: Task) -> str | None:
    ledger = task.ledger
    assert ledger is not None  # noqa: S101 - the caller looked
    if ledger.keep is None:
        return "the ledger has no keep=: its rows would stay for ever"
    if not issubclass(ledger.model, RunColumns):
        return f"{ledger.table} has no run columns"
    if not ledger.live or (not ledger.takes and len(ledger.live) > 1) or ledger.taken not in ledger.live:
        return "the ledger does not say which live state a claim moves to (takes=)"
    if ledger.stalled != ledger.pending and ledger.stalled not in ledger.terminal:
        return f"a stalled row cannot become {ledger.stalled}: not pending and not terminal"
    return None


def _index(task: Task) -> str | None:
    if task.drain and ready_index(task.drain.model, task.drain.ready) is None:
        return f"{task.drain.table} lacks a partial index WHERE status = '{task.drain.ready}'"
    return None


def ready_index(model: type[Any], state: str) -> Index | None:
    """The partial index of the waiting rows; without it every look would walk the finished ones."""
    for index in model.__table__.indexes:
        where = index.dialect_options["postgresql"].get("where")
        if where is not None and str(where).replace(" ", "") == f"status='{state}'":
            return index  # type: ignore[no-any-return]
    return None


def run_tables() -> list[type[Any]]:
    """Every mapped class with ledger columns; the register itself owns the recorded executions."""
    mapped: Iterator[type[Any]] = (m.class_ for m in Base.registry.mappers)
    return [m for m in mapped if issubclass(m, (RunColumns, ItemColumns)) and m is not TaskRun]


def check_owners(tasks: Sequence[Task], models: Sequence[type[Any]]) -> None:
    """Refuse a run table that no task, or more than one task, looks after."""
    owned: Counter[type[Any]] = Counter(
        table.model for t in tasks if (table := t.drain or t.ledger) is not None
    )

    for model in models:
        if owned[model] == 0:
            raise DeclarationRefused(
                f"Table {model.__tablename__} belongs to no task: its dead rows would stay"
            )
        if owned[model] > 1:
            raise DeclarationRefused(f"Table {model.__tablename__} belongs to {owned[model]} tasks")
