"""`vitrine doctor` says what is wrong and how to mend it, and changes nothing."""

from __future__ import annotations

import json
import os
import platform
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from appliance.cli import examining
from appliance.media.wire import Tier
from tests.journeys.instance import Instance, instance, wait_for, workplace


@pytest.fixture
def place() -> Iterator[Path]:
    with workplace() as made:
        yield made


def told(there: Instance, status: int, *arguments: str) -> dict[str, dict[str, Any]]:
    done = there.run("doctor", "--json", *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["healthy"] is (status == 0)
    return {finding["name"]: finding for finding in found["findings"]}


def restarts(there: Instance) -> int:
    return sum(one["restarts"] for one in there.health()["processes"] if one["name"] == "postgres")


def test_a_running_instance_is_well_and_a_stopped_one_says_how_to_start_it(place: Path) -> None:
    with instance(place) as there:
        there.start()
        found = told(there, 0)
        assert {found[name]["state"] for name in ("data", "database", "doorbell")} == {"ok"}
        assert "at revision" in found["database"]["says"]
        assert "restarts" not in found["database"]["says"]
        os.kill(there.pid("postgres"), signal.SIGKILL)
        wait_for(lambda: restarts(there) == 1 and there.web_answers(), "the database is back")
        found = told(there, 0)
        assert found["database"]["says"].endswith("; restarts: 1, the last because it ended by SIGKILL")
        there.stop()
        found = told(there, 0)
        assert found["data"]["state"] == "ok"
        assert (found["database"]["state"], found["doorbell"]["state"]) == ("warns", "warns")
        assert "vitrine up" in found["database"]["mend"]


def test_servers_that_do_not_answer_are_wrong_and_named(place: Path) -> None:
    # Port 9 is nobody's.
    nowhere = {
        "VITRINE_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none",
        "VITRINE_REDIS_URL": "redis://127.0.0.1:9/0",
    }
    with instance(place) as there:
        there.environ.update(nowhere)
        found = told(there, 1)
    for name in ("database", "doorbell"):
        assert found[name]["state"] == "bad"
        assert "does not answer" in found[name]["says"]
        assert "VITRINE_" in found[name]["mend"]
    # Nothing was made by looking.
    assert not there.home.instance.exists()


def test_a_database_of_ours_that_is_down_on_a_full_disk_needs_room(place: Path) -> None:
    with instance(place) as there:
        there.home.pg.mkdir(parents=True)
        there.environ.update(
            {
                "VITRINE_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none",
                "VITRINE_DISK_FLOOR_MB": "999999999",
            }
        )
        found = told(there, 1)
    assert (found["database"]["state"], found["disk"]["state"]) == ("bad", "bad")
    assert found["database"]["mend"].startswith("Free some space first")


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="filters are known for these")
async def test_e29_the_confinement_of_decoders_is_told_by_what_the_kernel_grants() -> None:
    full = examining.confined(Tier(True, True, True, True, True))
    assert (full.state, full.mend) == ("ok", "")
    without = examining.confined(Tier(True, True, False, True, True))
    assert without.state == "warns"
    assert "missing: no network and no programs" in without.says
    assert "seccomp" in without.mend
