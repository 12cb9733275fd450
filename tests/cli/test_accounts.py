"""Accounts from the server's own command line: beside a running instance, and with a stopped one."""

from __future__ import annotations

import http.client
import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.journeys.instance import Instance, instance, workplace


PASSWORD = "four words make one"  # noqa: S105
USERS = [
    "",
    pytest.param("nobody", marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another")),
]


@pytest.fixture
def place() -> Iterator[Path]:
    with workplace() as made:
        yield made


def enters(there: Instance, name: str, password: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", there.port, timeout=20)
    try:
        body = urlencode({"name": name, "password": password})
        headers = {"Host": "localhost", "Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", "/login", body, headers)
        return connection.getresponse().status == 303
    finally:
        connection.close()


def told(output: str) -> str:
    found = re.search(r"Password: (\S+)$", output.strip())
    assert found, output
    return found[1]


@pytest.mark.parametrize("user", USERS)
def test_a_forgotten_password_is_replaced_while_it_runs_and_while_it_is_stopped(user: str) -> None:
    with workplace(user=user) as place, instance(place, user=user) as there:
        there.start()
        made = there.run("create-admin", "Anna")
        assert made.returncode == 0, made.stderr
        assert enters(there, "anna", told(made.stdout))
        beside = there.run("reset-password", "anna", "--generate")
        assert beside.returncode == 0, beside.stderr
        assert not enters(there, "anna", told(made.stdout))
        assert enters(there, "anna", told(beside.stdout))
        there.stop()
        stopped = there.run("reset-password", "anna")
        assert stopped.returncode == 0, stopped.stderr
        there.start()
        assert enters(there, "anna", told(stopped.stdout))


def test_refusals_are_one_line(place: Path) -> None:
    with instance(place) as there:
        nothing = there.run("reset-password", "anna")
        assert nothing.returncode == 1
        assert "holds no Vitrine" in nothing.stderr
        assert not there.data.exists()
        there.start()
        unknown = there.run("reset-password", "bo")
        assert (unknown.returncode, unknown.stderr.count("\n")) == (1, 1)
        assert "no account" in unknown.stderr
        assert there.run("create-admin", "Anna").returncode == 0
        taken = there.run("create-admin", "ANNA")
        assert (taken.returncode, taken.stderr.count("\n")) == (1, 1)
        assert "already" in taken.stderr
        nameless = there.run("create-admin")
        assert nameless.stderr.count("\n") == 1
