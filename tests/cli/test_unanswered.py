"""While the database does not answer every verb says so in one line, with the way out."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.runtime import proc
from tests.cli.test_doctor import told
from tests.journeys.instance import Instance, instance, wait_for, workplace


LINE = "vitrine: The database does not answer. "


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with workplace() as made:
        yield made


@pytest.fixture(scope="module")
def there(place: Path) -> Iterator[Instance]:
    """One whose database ended and cannot start again."""
    with instance(place) as made:
        made.start()
        control = made.home.pg / "global" / "pg_control"
        control.rename(control.with_name("hidden"))
        os.kill(made.pid("postgres"), signal.SIGKILL)
        wait_for(lambda: not proc.working_in(made.home.pg), "all of PostgreSQL is gone")
        yield made


@pytest.mark.parametrize(
    "words",
    [["import", "/usr/share"], ["scan"], ["create-admin", "Anna", "--generate"], ["reset-password", "anna"]],
)
def test_a_verb_is_refused_in_one_line(there: Instance, words: list[str]) -> None:
    done = there.run(*words)

    assert done.returncode == 1
    refusals = [line for line in done.stderr.splitlines() if line.startswith(LINE)]
    assert len(refusals) == 1, done.stderr
    assert "vitrine doctor" in refusals[0]
    assert "Traceback" not in done.stderr
    assert "Password" not in done.stdout


def test_up_with_a_folder_beside_it_is_refused_in_one_line(there: Instance, place: Path) -> None:
    done = there.run("up", str(place))

    assert (done.returncode, done.stderr.splitlines()[0].startswith(LINE)) == (1, True)


def test_queues_still_names_the_lanes(there: Instance) -> None:
    done = there.run("queues")

    assert done.returncode == 0
    assert "The database does not answer, depths are unknown" in done.stderr


def test_the_doctor_knows_that_it_is_our_own_and_names_its_log(there: Instance) -> None:
    found = told(there, 1)["database"]

    assert found["state"] == "bad"
    assert str(there.home.logs / "postgres.log") in found["mend"]
    assert "./vitrine up" in found["mend"]
    assert "VITRINE_DATABASE_URL" not in found["mend"]


def test_an_external_database_that_is_away_is_not_migrated(there: Instance) -> None:
    with workplace() as other, instance(other) as stopped:
        stopped.data.mkdir()
        stopped.home.instance.write_bytes(there.home.instance.read_bytes())
        owner = there.data.stat()
        for path in (stopped.data, stopped.home.instance):
            os.chown(path, owner.st_uid, owner.st_gid)
        nowhere = {"VITRINE_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/none"}
        stopped.environ.update(nowhere | {"VITRINE_REDIS_URL": "redis://127.0.0.1:9/0"})
        done = stopped.run("migrate")

    assert done.returncode == 1
    assert done.stderr.startswith(LINE)
    assert len(done.stderr.splitlines()) == 1
