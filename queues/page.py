"""The documentation page of lanes and tasks, made from the register: `python -m queues.page`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from appliance.core.paths import PROJECT
from queues.declare import GRACE, PASS, Lane, Register, Task, load


PAGE = PROJECT / "docs" / "lanes.md"
HEAD = f"""# Lanes and tasks

This page is made from the declarations in `queues/`; `python -m queues.page` writes it again.

Work waits in lanes. Each lane has its own slots, so that a backup never holds up a sweep.
A **run** task is one execution for one row; a **drain** task works through the waiting rows of a table.
Its limit counts for each row, and after {PASS.total_seconds():g} s it gives its slot to others.
Whatever is {GRACE.total_seconds():g} s older than its limit counts as dead and is settled by the sweep,
as is everything whose worker died.
"""


def render(register: Register) -> str:
    """The whole page."""
    return "\n".join([HEAD, *_lanes(register), "", *_tasks(register), ""])


def _lanes(register: Register) -> Iterator[str]:
    yield "| lane | worker | slots | longest limit | what |"
    yield "|---|---|---|---|---|"
    for lane in register.lanes:
        yield f"| `{lane.name}` | {lane.group} | {_slots(lane)} | {_words(lane.ceiling)} | {lane.purpose} |"


def _tasks(register: Register) -> Iterator[str]:
    yield "| task | lane | kind | limit | starts | rows | kept | what |"
    yield "|---|---|---|---|---|---|---|---|"
    for task in register.tasks:
        table = task.drain or task.ledger
        yield (
            f"| `{task.name}` | `{task.lane.name}` | {task.kind} | {_words(task.limit)} | {_starts(task)}"
            f" | {f'`{table.table}`' if table else ''} | {_words(task.keep)} | {task.summary} |"
        )


def _slots(lane: Lane) -> str:
    return "one for each decoder" if lane.slots is None else str(lane.slots)


def _starts(task: Task) -> str:
    facts = (*task.on, *(task.ledger.asked if task.ledger else ()))
    ways = [fact.__name__ for fact in facts]
    ways += [f"`{task.cron}`"] if task.cron else []
    ways += ["button"] if task.button else []
    ways += ["start of the worker"] if task.at_start else []
    return ", ".join(ways)


def _words(duration: timedelta | None) -> str:
    if duration is None:
        return ""
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if duration.total_seconds() >= unit and duration.total_seconds() % unit == 0:
            return f"{duration.total_seconds() / unit:g} {name}"
    return f"{duration.total_seconds():g} s"


if __name__ == "__main__":
    PAGE.write_text(render(load()), encoding="utf-8")
