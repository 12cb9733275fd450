"""Small parts of the runtime: restarts, the disk floor, state files, addresses."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import pytest

from appliance.core import settings as settings_module
from appliance.core.paths import Home
from appliance.runtime import children, listen, proc
from appliance.runtime.children import Child, describe_exit
from appliance.runtime.health import Disk, Health
from appliance.runtime.leftovers import end_leftovers, running_state
from appliance.runtime.logs import keep_small
from appliance.runtime.written import read_json, write_json
from tests.servers import wait_until


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path)
    made.run.mkdir()
    return made


def test_restarts_are_further_and_further_apart(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(children.time, "monotonic", lambda: now[0])
    child = Child("web", os.getpid)
    waits = []
    for _ in range(7):
        child.launch()
        child.ended(9)
        waits.append(child.due_at - now[0])

    assert waits == [1, 2, 4, 8, 16, 30, 30]
    assert child.state == "degraded"


def test_a_healthy_while_forgives_earlier_crashes(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(children.time, "monotonic", lambda: now[0])
    child = Child("web", os.getpid)
    for _ in range(4):
        child.launch()
        child.ended(9)
    child.launch()
    now[0] += 61
    child.check()

    assert child.state == "running"
    child.ended(9)
    assert child.due_at - now[0] == 1


def test_a_child_that_cannot_be_started_is_tried_again():
    child = Child("heavy", lambda: 0)
    child.failed(OSError(11, "Resource temporarily unavailable"))

    assert child.state == "restarting"
    assert child.last_exit == "did not start: Resource temporarily unavailable"


def test_exits_are_described_in_words():
    assert describe_exit(9) == "ended by SIGKILL"
    assert describe_exit(3 << 8) == "ended with status 3"


def test_imports_resume_a_tenth_above_the_floor(home, monkeypatch):
    free = [999]
    usage = type("Usage", (), {"free": property(lambda _: free[0] * 1024 * 1024)})
    monkeypatch.setattr("appliance.runtime.health.shutil.disk_usage", lambda _: usage())
    disk = Disk(home, 1000)

    assert disk.check() is True
    assert json.loads(home.imports_paused.read_text())["free_mb"] == 999
    # However near it is, it reads as less.
    assert disk.reason == "Only 1,048 MB are free for Vitrine's data; imports wait for 1,049 MB."
    free[0] = 1050
    assert disk.check() is False
    assert home.imports_paused.exists()
    free[0] = 1101
    assert disk.check() is True
    assert not home.imports_paused.exists()
    assert disk.reason == ""


def test_a_pause_of_an_earlier_life_ends_with_enough_disk(home):
    write_json(home.imports_paused, {"reason": "full"})
    Disk(home, 0).check()

    assert not home.imports_paused.exists()


def test_health_is_written_only_when_it_changed(home):
    disk, health = Disk(home, 0), Health(home)
    child = Child("web", os.getpid)
    child.launch()
    health.write([child.report()], disk)
    first = (home.run / "health.json").stat().st_ino
    health.write([child.report()], disk)

    assert (home.run / "health.json").stat().st_ino == first
    child.ended(9)
    health.write([child.report()], disk)
    assert read_json(home.run / "health.json")["state"] == "degraded"


def test_a_planted_link_is_replaced_and_not_followed(home, tmp_path):
    target = tmp_path / "important"
    target.write_text("old")
    (home.run / "state.json").symlink_to(target)
    write_json(home.run / "state.json", {"pid": 1})

    assert target.read_text() == "old"
    assert read_json(home.run / "state.json") == {"pid": 1}


def test_state_of_a_reused_process_id_is_not_believed(home):
    mine = {"pid": os.getpid(), "pid_started": proc.started(os.getpid()) + 1, "boot": proc.boot_id()}
    write_json(home.run / "state.json", {**mine, "children": [{"pid": os.getpid(), "pid_started": 1}]})

    assert running_state(home) == {}
    assert end_leftovers(home) == 0


def test_state_of_an_earlier_boot_is_not_believed(home):
    mine = {"pid": os.getpid(), "pid_started": proc.started(os.getpid())}
    write_json(home.run / "state.json", {**mine, "boot": "another", "children": [mine]})

    assert running_state(home) == {}
    assert end_leftovers(home) == 0


def test_a_leftover_that_ignores_its_end_is_killed(home, monkeypatch):
    monkeypatch.setattr("appliance.runtime.leftovers.GENTLE", 0.3)
    words = "import signal, time; signal.signal(15, signal.SIG_IGN); print('on', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", words], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    left = {"pid": process.pid, "pid_started": proc.started(process.pid)}
    write_json(home.run / "state.json", {"boot": proc.boot_id(), "children": [left]})

    assert end_leftovers(home) == 1
    assert process.wait(timeout=60) == -9


def test_a_log_that_grew_too_long_moves_aside(tmp_path):
    log = tmp_path / "web.log"
    with log.open("a") as writer:
        writer.write("x" * 100)
        writer.flush()
        keep_small(tmp_path, limit=50)
        writer.write("next")

    assert log.read_text() == "next"
    assert (tmp_path / "web.log.1").read_text() == "x" * 100


def test_the_probe_waits_for_a_page_without_blocking():
    listener = listen.bind("127.0.0.1", free_port())[0]
    port = listener.getsockname()[1]
    probe = listen.Probe("127.0.0.1", port)

    assert probe.answered() is False
    connection, _ = listener.accept()
    connection.recv(1000)
    assert probe.answered() is False
    connection.sendall(b"HTTP/1.1 503 \r\n\r\n")
    wait_until(probe.answered, "the answer came")
    connection.close()
    listener.close()


def test_addresses_name_this_machine_first():
    assert listen.urls("", 8420)[0] == "http://localhost:8420"
    assert listen.urls("192.168.1.5", 80) == ["http://192.168.1.5:80"]
    assert listen.urls("fd00::1", 80) == ["http://[fd00::1]:80"]


def test_all_interfaces_are_listened_on():
    port = free_port()
    listeners = listen.bind("", port)

    with socket.create_connection(("127.0.0.1", port), timeout=60):
        assert len(listeners) >= 1
    for listener in listeners:
        listener.close()


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(listen.AddressRefused, match="Cannot listen"):
        listen.bind("203.0.113.7", free_port())


def test_settings_refuse_what_is_no_setting():
    with pytest.raises(Exception, match="VITRINE_PROT is not a setting"):
        settings_module.load({"VITRINE_PROT": "1"})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
