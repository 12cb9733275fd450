"""What is left of root's rights in the processes that root starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from appliance.runtime.account import Account, named, owner_of, service_account
from appliance.runtime.forked import answer_of
from appliance.runtime.privileges import act_as, acting_as, become, capabilities


pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a plain user has no rights to drop")
READ = 1 << 2


@pytest.fixture
def account() -> Account:
    found = service_account(Path("/nonexistent"))
    assert found is not None
    return found


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A file that only root can reach."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o700)
    (folder / "secret").write_text("text")
    (folder / "secret").chmod(0o600)
    return folder / "secret"


def rights() -> dict[str, Any]:
    have = capabilities()
    return {
        "uids": os.getresuid(),
        "gids": os.getresgid(),
        "groups": os.getgroups(),
        "sets": [have.effective, have.permitted, have.inheritable],
    }


def test_nothing_is_left_without_the_right_to_read(account, closed):
    def ask() -> dict[str, Any]:
        become(account)
        return rights() | {"reads": os.access(closed, os.R_OK), "root": try_root()}

    found = answer_of(ask)

    assert found["uids"] == [account.uid] * 3
    assert found["gids"] == [account.gid] * 3
    assert 0 not in found["groups"]
    assert found["sets"] == [0, 0, 0]
    assert found["reads"] is False
    assert found["root"] is False


def test_readers_of_roots_read_everything_and_write_nothing(account, closed):
    def ask() -> dict[str, Any]:
        become(account, read_all=True)
        return rights() | {
            "text": closed.read_text(),
            "sees": os.access(closed, os.R_OK),
            "writes": os.access(closed, os.W_OK),
            "root": try_root(),
        }

    found = answer_of(ask)

    assert found["sets"] == [READ, READ, READ]
    assert found["text"] == "text"
    assert found["sees"] is True
    assert found["writes"] is False
    assert found["root"] is False


def test_programs_that_readers_start_can_read_too(account, closed):
    def ask() -> str:
        become(account, read_all=True)
        return subprocess.run(["cat", str(closed)], check=True, capture_output=True, text=True).stdout

    assert answer_of(ask) == "text"


def test_readers_can_start_an_interpreter_that_lies_under_root(account):
    def ask() -> str:
        become(account, read_all=True)
        words = [sys.executable, "-c", "import json, os; print(os.getuid())"]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()

    assert answer_of(ask) == str(account.uid)


def test_the_supervisor_cannot_be_led_through_a_planted_link(account, tmp_path):
    """It works as the account, so that root's right to write is not there to be misused."""
    target = tmp_path / "important"
    target.write_text("old")
    target.chmod(0o644)

    def ask() -> dict[str, Any]:
        with acting_as(account):
            for_a_while = os.geteuid()
        answers: dict[str, Any] = {"for_a_while": for_a_while, "afterwards": os.geteuid()}
        act_as(account)
        answers |= {"writes": try_write(target), "reads": target.read_text()}
        become(account)
        return answers | rights()

    found = answer_of(ask)

    assert found["writes"] is False
    assert found["reads"] == "old"
    assert found["for_a_while"] == account.uid
    assert found["afterwards"] == 0
    assert found["uids"] == [account.uid] * 3
    assert found["sets"] == [0, 0, 0]
    assert target.read_text() == "old"


def test_an_existing_directory_keeps_its_owner(tmp_path):
    (tmp_path / "instance.json").write_text("{}")
    os.chown(tmp_path / "instance.json", 12345, 23456)

    owner = owner_of(tmp_path)

    assert owner is not None
    assert (owner.uid, owner.gid) == (12345, 23456)
    assert service_account(tmp_path) == owner


def test_accounts_that_do_not_exist_are_not_found():
    assert named("nobody-of-that-name") is None


def try_root() -> bool:
    try:
        os.setuid(0)
    except PermissionError:
        return False
    return True


def try_write(path: Path) -> bool:
    try:
        path.write_text("new")
    except PermissionError:
        return False
    return True
