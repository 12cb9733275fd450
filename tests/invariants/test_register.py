"""The register as it ships: everything declared is recoverable, served, and cheap to look at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.core.columns import Base, ItemColumns, RunColumns
from appliance.core.db import Database
from appliance.core.paths import PROJECT
from appliance.core.work import TaskRun
from queues import page, settling
from queues.declare import GROUPS, load
from queues.refusals import ready_index
from queues.valkey import ClockQueue, LaneQueue, LaneWorker
from queues.waiting import source


REGISTER = load()
MODULES = sorted((PROJECT / "queues").glob("*.py"))


def calls(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def test_every_lane_is_served_by_a_group() -> None:
    assert {lane.group for lane in REGISTER.lanes} == set(GROUPS)


def test_the_lanes_are_those_of_the_design() -> None:
    assert {
        lane.name: (lane.group, lane.slots, lane.ceiling.total_seconds() / 60) for lane in REGISTER.lanes
    } == {
        "maintenance": ("quick", 2, 10),
        "download": ("quick", 2, 20),
        "transcribe": ("quick", 2, 15),
        "scan": ("heavy", 4, 70),
        "import": ("heavy", None, 10),
        "thumbnail": ("heavy", None, 10),
        "play": ("heavy", 1, 120),
        "ml": ("heavy", 1, 35),
        "maintenance_long": ("long", 1, 480),
    }


def test_every_run_table_has_exactly_one_owner() -> None:
    owners = [t.model for task in REGISTER.tasks if (t := task.drain or task.ledger)]
    tables = [
        m.class_
        for m in Base.registry.mappers
        if issubclass(m.class_, (RunColumns, ItemColumns)) and m.class_ is not TaskRun
    ]

    assert sorted(t.__tablename__ for t in owners) == sorted(t.__tablename__ for t in tables)


def test_the_stewards_run_every_minute() -> None:
    for name in ("steward.sweep", "steward.refill"):
        assert REGISTER[name].cron == "* * * * *"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.stem)
def test_wakes_enter_valkey_only_through_the_doorbell(path: Path) -> None:
    enqueues = [c for c in calls(path) if c.endswith((".enqueue", ".apply", ".map"))]

    assert enqueues == [] or path.stem == "doorbell"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.stem)
def test_no_thread_does_blocking_work_in_the_queues(path: Path) -> None:
    # A thread outlives its limit; blocking work belongs into a child process.
    assert not [c for c in calls(path) if c.endswith(("to_thread", "run_in_executor"))]


def test_saq_neither_sweeps_the_lanes_nor_hears_signals() -> None:
    assert LaneWorker.SIGNALS == []
    assert LaneQueue.sweep is not ClockQueue.sweep


@pytest.mark.parametrize("task", [t for t, _ in REGISTER.drains()], ids=lambda t: t.name)
async def test_looking_for_waiting_rows_uses_their_partial_index(db: Database, task: object) -> None:
    table, condition, order = source(task)  # type: ignore[arg-type]
    drain = task.drain  # type: ignore[attr-defined]
    index = ready_index(drain.model, drain.ready)
    assert index is not None
    async with db.unit_of_work() as uow:
        # What a table of a few rows looks like decides between two indexes by a hair; that an index
        # gives the rows in their order, without a sort, is what holds for a full table.
        for way in ("seqscan", "bitmapscan", "sort", "incremental_sort"):
            await uow.sql.execute(f"SET LOCAL enable_{way} = off")
        plan = await uow.sql.fetch(
            f"EXPLAIN SELECT id FROM {table} WHERE {condition} ORDER BY {order} LIMIT 1"
        )

    text = "\n".join(r[0] for r in plan)
    assert str(index.name) in text
    assert "Sort" not in text


@pytest.mark.parametrize("task", REGISTER.tasks, ids=lambda t: t.name)
async def test_every_task_can_be_settled(db: Database, task: object) -> None:
    async with db.unit_of_work() as uow:
        settled = await settling.sweep(uow.sql, REGISTER, 180)
        strays = await settling.settle(uow.sql, REGISTER, settling.strays(1, [1], [2]))

    assert settled.counts[task.name] == strays.counts[task.name] == 0  # type: ignore[attr-defined]


def test_the_page_of_lanes_and_tasks_is_up_to_date() -> None:
    assert page.PAGE.read_text() == page.render(REGISTER), "write it again: python -m queues.page"
