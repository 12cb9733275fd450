"""Reads for pages and the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from appliance.core.db import Database
from appliance.core.paths import PROJECT
from appliance.core.settings import Settings
from queues import control, reads
from queues.declare import load
from queues.reads import DEPTH_CAP
from tests.queues.tables import Yard
from tests.queues.test_drain import add
from tests.queues.test_runs import ask


SCHEMA = PROJECT / "docs" / "queues.schema.json"


def check(value: Any, schema: dict[str, Any], where: str = "$") -> None:
    """The part of JSON Schema that our schema uses; everything else in it would be an error here."""
    assert set(schema) <= KNOWN, f"{where}: {set(schema) - KNOWN}"
    if "enum" in schema:
        assert value in schema["enum"], where
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        assert any(TYPES[t](value) for t in types), f"{where}: {value!r} is not {types}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        assert value >= schema.get("minimum", value), where
        assert value > schema.get("exclusiveMinimum", value - 1), where
        assert value <= schema.get("maximum", value), where
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= set(value), where
        assert set(value) <= set(schema["properties"]), where
        for name, part in value.items():
            check(part, schema["properties"][name], f"{where}.{name}")
    if isinstance(value, list):
        for n, item in enumerate(value):
            check(item, schema["items"], f"{where}[{n}]")


KNOWN = {
    "$schema",
    "title",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "description",
    "pattern",
}
TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
}


def queues(data: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "appliance.main", "queues", "--data", str(data), *words],
        cwd=PROJECT,
        env={"PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


def test_the_verb_prints_what_the_schema_says_without_a_database(tmp_path: Path) -> None:
    printed = json.loads(queues(tmp_path / "none", "--json").stdout)

    check(printed, json.loads(SCHEMA.read_text()))
    assert [lane["name"] for lane in printed["lanes"]] == [lane.name for lane in load().lanes]
    assert {lane["depth"] for lane in printed["lanes"]} == {None}
    assert "steward.sweep" in [t["name"] for t in printed["tasks"]]


async def test_the_verb_prints_depths_from_a_database(store: Database, quick: Settings) -> None:
    await control.pause(load(), "import", by="mara")
    async with store.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO task_run (task, lane, kind, queued_at)"
            " VALUES ('steward.sweep', 'maintenance', 'run', now() - interval '5 minutes')"
        )

    printed = json.loads(queues(quick.data, "--json", VITRINE_DATABASE_URL=quick.database_url).stdout)
    text = queues(quick.data, VITRINE_DATABASE_URL=quick.database_url).stdout

    check(printed, json.loads(SCHEMA.read_text()))
    lanes = {lane["name"]: lane for lane in printed["lanes"]}
    assert lanes["maintenance"]["depth"] == 1
    assert lanes["maintenance"]["oldest_s"] == pytest.approx(300, abs=60)
    assert [name for name, lane in lanes.items() if lane["paused"]] == ["import"]
    assert "paused" in text


async def test_a_lane_shows_what_waits_runs_and_how_long(store: Database, quick: Settings) -> None:
    yard = Yard()
    await add(store, 5)
    await ask(store)
    async with store.unit_of_work() as uow:
        await uow.sql.execute("UPDATE q_crate SET status = 'processing' WHERE id = 1")
        await uow.sql.execute(
            "UPDATE q_crate SET shelf = 5, queued_at = now() - interval '1 hour' WHERE id = 4"
        )
        (view,) = await reads.lanes(uow.sql, yard.register, quick)

    assert (view.depth, view.running, view.paused) == (5, 1, False)
    assert view.oldest_s == pytest.approx(3600, abs=60)


async def test_a_deep_lane_costs_the_same_and_says_more_than(store: Database, quick: Settings) -> None:
    yard = Yard()
    async with store.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO q_crate (status) SELECT CASE WHEN n > 40000 THEN 'pending' ELSE 'complete' END"
            " FROM generate_series(1, 60000) n"
        )
        await uow.sql.execute("ANALYZE q_crate")
        (view,) = await reads.lanes(uow.sql, yard.register, quick)
        plan = await uow.sql.fetch(
            f"EXPLAIN SELECT count(*) FROM (SELECT FROM q_crate WHERE status = 'pending'"
            f" ORDER BY shelf, id LIMIT {DEPTH_CAP}) w"
        )

    assert view.depth_text == "10,000+"
    assert "ix_q_crate_pending" in "\n".join(r[0] for r in plan)


async def test_recorded_executions_come_newest_first_in_pages(store: Database) -> None:
    yard = Yard()
    async with store.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO task_run (task, lane, kind, status, counts)"
            " SELECT $1, 'yard', 'run', 'done', '{\"planks\": 2}' FROM generate_series(1, 30)",
            yard.scrub.name,
        )
        await uow.sql.execute("INSERT INTO task_run (task, lane, kind) VALUES ('old.gone', 'yard', 'run')")
        first = await reads.recent_runs(uow.sql, yard.register, 10)
        second = await reads.recent_runs(uow.sql, yard.register, 10, before=first[-1].id)

    assert [r.id for r in first] == list(range(31, 21, -1))
    assert [r.id for r in second] == list(range(21, 11, -1))
    assert first[0].summary == "A task of an earlier version"
    assert first[1].summary == "Scrub the deck."
    assert first[1].counts == {"planks": 2}


async def test_a_worker_that_missed_its_beats_does_not_count_as_well(
    store: Database, quick: Settings
) -> None:
    async with store.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO worker (host, group_name, pid, pid_started, version, heartbeat_at, settled_at)"
            " VALUES ('box/1/2', 'heavy', 1, 1, '0', now() - interval '1 minute', NULL),"
            " ('box/1/2', 'quick', 2, 1, '0', now(), NULL),"
            " ('box/1/2', 'quick', 3, 1, '0', now(), now())"
        )
        found = await reads.workers(uow.sql, quick)

    assert [(w.group, w.host, w.well) for w in found] == [("heavy", "box", False), ("quick", "box", True)]
