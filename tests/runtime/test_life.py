"""Beginnings and ends of an instance."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from appliance.runtime import proc
from tests.runtime.running import Instance, alive, begin, free_port, instance
from tests.servers import wait_until


def refusal(data: Path, **options: object) -> tuple[int, str]:
    started = begin(data, **options)
    try:
        return started.process.wait(timeout=60), started.said().strip()
    finally:
        started.end_at_once()


def test_stop_takes_less_than_ten_seconds_even_with_a_stubborn_child(used):
    with instance(used, stubborn="heavy") as running:
        pids = list(running.pids().values())
        begun = time.monotonic()

        assert running.end(signal.SIGTERM) == 0
        assert time.monotonic() - begun < 10
        assert alive(pids) == []
        assert proc.working_in(used / "pg") == []
        assert not (used / "pg" / "postmaster.pid").exists()


def test_second_interrupt_stops_faster(used):
    with instance(used, stubborn="heavy") as running:
        begun = time.monotonic()
        running.process.send_signal(signal.SIGINT)
        wait_until(lambda: "Stopping" in running.said(), "it begins to stop")
        running.process.send_signal(signal.SIGINT)

        assert running.process.wait(timeout=10) == 0
        assert time.monotonic() - begun < 4


def test_children_end_with_a_killed_supervisor_and_the_next_start_is_clean(used):
    with instance(used) as running:
        pids = list(running.pids().values())
        running.process.kill()
        running.process.wait()
        wait_until(lambda: alive(pids) == [], "all children ended")

    with instance(used) as again:
        assert again.page()


def test_what_an_earlier_life_left_behind_is_ended_first(used):
    with instance(used) as running:
        pids = running.pids()
        # A stopped process does not act on its death signal until somebody continues it.
        for name in ("quick", "postgres", "web"):
            os.kill(pids[name], signal.SIGSTOP)
        running.process.kill()
        running.process.wait()
        assert alive([pids["web"]])

    with instance(used, port=running.port) as again:
        assert alive(list(pids.values())) == []
        assert "earlier run" in again.said()
        assert again.page()


def test_second_instance_is_refused_in_one_line(used):
    with instance(used) as running:
        status, said = refusal(used, port=free_port())

        assert status == 1
        assert "already running" in said.splitlines()[-1]
        assert running.page()


def test_busy_port_is_one_line_and_changes_nothing(data):
    with socket.socket() as busy:
        busy.bind(("0.0.0.0", 0))
        busy.listen()

        status, said = refusal(data, port=busy.getsockname()[1])

    assert status == 1
    assert said.splitlines() == [
        f"Port {busy_port(said)} is used by another program. Choose another one with --port."
    ]
    assert not data.exists()


def busy_port(said: str) -> str:
    return said.split()[1]


def test_foreign_directory_is_refused_and_unchanged(data):
    data.mkdir()
    (data / "letter.txt").write_text("mine")

    status, said = refusal(data)

    assert status == 1
    assert "is not Vitrine's" in said
    assert [path.name for path in data.iterdir()] == ["letter.txt"]


def test_newer_directory_is_refused_and_unchanged(data):
    data.mkdir()
    text = json.dumps({"id": "x", "made_at": "", "format": 99})
    (data / "instance.json").write_text(text)

    status, said = refusal(data)

    assert status == 1
    assert "newer Vitrine" in said
    assert [path.name for path in data.iterdir()] == ["instance.json"]
    assert (data / "instance.json").read_text() == text


def test_unwritable_directory_is_refused(data):
    data.mkdir()
    (data / "instance.json").write_text(json.dumps({"id": "x", "made_at": "", "format": 1}))
    data.chmod(0o555)

    status, said = refusal(data)

    assert status == 1
    assert "is not writable" in said
    assert [path.name for path in data.iterdir()] == ["instance.json"]


def test_an_empty_directory_may_be_there_already(data):
    data.mkdir()
    (data / "lost+found").mkdir()

    with instance(data) as running:
        assert running.page()


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root has a directory that its service account cannot enter"
)
def test_data_directory_under_roots_own_is_refused_by_name():
    status, said = refusal_at(Path("/root/vitrine-test-data"))

    assert status == 1
    assert "out of reach" in said
    assert not Path("/root/vitrine-test-data").exists()


def refusal_at(data: Path) -> tuple[int, str]:
    try:
        return refusal(data)
    finally:
        data.with_name(f"{data.name}.said").unlink(missing_ok=True)


def test_a110_lost_database_is_not_replaced_by_a_new_one(used):
    with instance(used) as running:
        running.end()
    (used / "pg").rename(used / "pg.elsewhere")

    status, said = refusal(used)

    assert status == 1
    assert "has been in use" in said
    assert "setup?code" not in said.splitlines()[-1]
    assert not (used / "pg").exists()


def test_interrupted_first_start_is_begun_again(data):
    started = begin(data)
    wait_until(lambda: (data / "pg.new").exists() or (data / "pg").exists(), "the cluster is being made")
    started.process.kill()
    started.process.wait()

    with instance(data) as running:
        assert running.page()
        assert not (data / "pg.new").exists()


def test_crashing_group_backs_off_and_shows_as_degraded(used):
    with instance(used, crashing="long") as running:
        wait_until(lambda: running.process_state("long").get("state") == "degraded", "it shows")

        assert running.health["state"] == "degraded"
        assert running.process_state("web")["state"] == "running"
        restarts = running.process_state("long")["restarts"]
        assert restarts <= 5


def test_imports_pause_below_the_floor_and_say_so(used):
    with instance(used, disk_floor_mb=10**9) as running:
        wait_until(running.home.imports_paused.exists, "imports are paused")

        assert "are free" in json.loads(running.home.imports_paused.read_text())["reason"]
        wait_until(lambda: running.health.get("imports_paused_reason"), "the health file says it")
        assert running.health["state"] == "degraded"


def test_folders_are_added_after_the_start(used):
    with instance(used, folders=["/tmp"]) as running:
        wait_until(lambda: "added b'/tmp'" in running.said(), "the folder was added")


def noted(running: Instance) -> list[dict[str, Any]]:
    return [json.loads(line) for line in running.notes() if line.startswith("{")]


@pytest.mark.skipif(os.geteuid() != 0, reason="a plain user has no rights to drop")
def test_as_root_servers_and_workers_run_without_its_rights(used):
    with instance(used) as running:
        uids = {os.stat(f"/proc/{pid}").st_uid for pid in running.pids().values()}
        wait_until(lambda: len(noted(running)) == 3, "the groups noted their rights")

        assert len(uids) == 1
        assert 0 not in uids
        assert {line["group"] for line in noted(running)} == {"quick", "heavy", "long"}
        for line in noted(running):
            assert line["uid"] != 0
            assert line["CapEff:"] == line["CapPrm:"] == line["CapBnd:"]
            assert int(line["CapEff:"], 16) in {0, 1 << 2}
            assert line["NoNewPrivs:"] == "1"
        heavy = next(line for line in noted(running) if line["group"] == "heavy")
        assert int(heavy["CapAmb:"], 16) == 1 << 2
        assert os.stat(used).st_uid in uids
