"""A database that is away for minutes, and walks that are cut off."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.runtime import proc
from tests import media_files
from tests.chaos import books, faults
from tests.chaos.conftest import begin
from tests.journeys.instance import GROUPS, Instance, wait_for, workplace
from tests.journeys.tree import Tree


pytestmark = pytest.mark.chaos

AWAY = 120.0
REST = ("valkey", "web", *GROUPS)


def test_two_minutes_without_the_database_cost_nothing_but_time(vitrine: Instance, middle: Tree) -> None:
    vitrine.start()
    batch = begin(vitrine, middle.folder, mode="copy")
    faults.until_unfinished(vitrine, 550)
    assert books.unfinished(vitrine) >= 300
    rest = {name: vitrine.pid(name) for name in REST}
    _take_away(vitrine)
    deadline = time.monotonic() + AWAY
    while time.monotonic() < deadline:
        assert vitrine.get("/health/live")[0] == 200
        assert not vitrine.web_answers()
        time.sleep(5)
    assert _states(vitrine)["postgres"] == "degraded"
    vitrine.home.pg.with_name("pg-away").rename(vitrine.home.pg)
    wait_for(vitrine.web_answers, "the pages answer again", limit=90)
    faults.until_over(vitrine, batch)
    assert {name: vitrine.pid(name) for name in REST} == rest
    seen = books.read(vitrine, batch)
    assert seen.report() == middle.report()
    assert seen.counters == seen.recount
    assert not any(seen.work[name] for name in ("deliveries", "crashed", "recovered", "errors"))
    assert vitrine.value("SELECT count(*) FROM worker WHERE settled_at IS NOT NULL") == 0
    assert books.disk_faults(vitrine) == []


_CUT_OFF = """
SELECT interruptions > 0 OR EXISTS (
    SELECT 1 FROM task_run WHERE task = 'ingest.scan' AND status = 'recovered') FROM import_batch
"""


def _take_away(vitrine: Instance) -> None:
    """Kill the server and hide its cluster, so that no restart can succeed."""
    postmaster = vitrine.pid("postgres")
    hidden = vitrine.home.pg.with_name("pg-away")
    vitrine.home.pg.rename(hidden)
    os.kill(postmaster, signal.SIGKILL)
    wait_for(lambda: not proc.working_in(hidden), "all of PostgreSQL is gone")


def _states(vitrine: Instance) -> dict[str, str]:
    return {one["name"]: one["state"] for one in vitrine.health()["processes"]}


FOLDERS, EACH = 6000, 5


@pytest.fixture(scope="module")
def many_folders() -> Iterator[Path]:
    """A walk of some seconds, in which next to nothing has to be opened."""
    with workplace() as made:
        yield _many(made / "wide")


def _many(wide: Path) -> Path:
    for number in range(FOLDERS):
        folder = wide / f"{number % 60:02d}" / f"{number:05d}"
        folder.mkdir(parents=True)
        for hidden in range(EACH):
            (folder / f".{hidden}").touch()
        if number % 200 == 0:
            media_files.put(folder, "one.jpg", media_files.jpeg(700_000 + number))
    return wide


@pytest.mark.parametrize("target", ["heavy", "postgres", "walk", "supervisor"])
def test_a64_a_walk_that_is_cut_off_goes_on_and_counts_each_path_once(
    vitrine: Instance, many_folders: Path, target: str
) -> None:
    vitrine.start()
    batch = begin(vitrine, many_folders)
    statement = "SELECT files >= 400 AND status = 'walking' FROM import_batch WHERE id = $1"
    wait_for(lambda: vitrine.value(statement, batch), "the walk is under way", every=0.02)
    if target == "walk":
        faults.kill_walk(vitrine)
    else:
        faults.kill(vitrine, target, enough=0)
    faults.until_over(vitrine, batch)
    assert vitrine.value(_CUT_OFF), "the walk was over before the fault"
    seen = books.read(vitrine, batch)
    assert seen.counters == seen.recount
    assert seen.counters["imported"] == FOLDERS // 200
    assert seen.reasons == {"hidden": FOLDERS * EACH}
    assert seen.work["errors"] == 0
