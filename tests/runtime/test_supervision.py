"""What a person may rely on while Vitrine runs: whatever dies comes back, and the rest does not notice."""

from __future__ import annotations

import os
import signal
import socket
import time

from appliance.runtime import proc
from tests.runtime.running import Instance
from tests.servers import wait_until


def whole(standing: Instance) -> bool:
    return standing.health.get("state") == "ok" and len(standing.pids()) == 6


def kill(standing: Instance, name: str) -> tuple[int, dict[str, int]]:
    wait_until(lambda: whole(standing), "everything runs", limit=90)
    before = standing.pids()
    os.kill(before[name], signal.SIGKILL)
    wait_until(lambda: standing.pids().get(name) not in {before[name], None}, f"{name} is back")
    wait_until(lambda: standing.process_state(name).get("state") == "running", f"{name} answers")
    return before[name], before


def others(pids: dict[str, int], name: str) -> dict[str, int]:
    return {other: pid for other, pid in pids.items() if other != name}


def test_says_how_to_reach_it_and_how_to_begin(standing):
    assert f"http://localhost:{standing.port}" in standing.said()
    assert "/setup?code=" in standing.said()
    assert len(standing.said().splitlines()) < 12


def test_killed_web_loses_no_connection_and_comes_back(standing):
    wait_until(lambda: whole(standing), "everything runs", limit=90)
    old = standing.pids()["web"]
    os.kill(old, signal.SIGKILL)

    answer = standing.page()  # connects while no web process exists

    assert int(answer) != old
    assert standing.process_state("web")["restarts"] >= 1
    assert "SIGKILL" in standing.process_state("web")["last_exit"]


def test_killed_postgres_recovers_without_a_restart_of_the_rest(standing):
    _, before = kill(standing, "postgres")

    assert others(standing.pids(), "postgres") == others(before, "postgres")


def test_killed_valkey_comes_back_without_a_restart_of_the_rest(standing):
    _, before = kill(standing, "valkey")

    assert others(standing.pids(), "valkey") == others(before, "valkey")


def test_rows_of_a_killed_group_are_settled_at_once(standing):
    begun = proc.started(standing.pids()["heavy"])
    pid, _ = kill(standing, "heavy")

    wait_until(lambda: f"settled {pid} {begun}" in standing.notes(), "its rows were settled")
    assert "settled host" in standing.notes()


def test_a_group_is_settled_even_when_the_database_is_down_at_its_death(standing):
    wait_until(lambda: whole(standing), "everything runs", limit=90)
    pids = standing.pids()
    begun = proc.started(pids["long"])
    os.kill(pids["postgres"], signal.SIGKILL)
    os.kill(pids["long"], signal.SIGKILL)

    wait_until(lambda: f"settled {pids['long']} {begun}" in standing.notes(), "its rows were settled")
    assert standing.process.poll() is None


def test_no_child_is_left_as_a_zombie(standing):
    kill(standing, "quick")

    assert [pid for pid in proc.children_of(standing.process.pid) if proc.is_zombie(pid)] == []


def test_the_supervisor_has_one_thread(standing):
    tasks = os.listdir(f"/proc/{standing.process.pid}/task")

    assert len(tasks) == 1


def test_the_listening_socket_belongs_to_the_supervisor(standing):
    wait_until(lambda: whole(standing), "everything runs", limit=90)
    os.kill(standing.pids()["web"], signal.SIGKILL)

    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", standing.port), timeout=5):
        assert time.monotonic() - begun < 1
    wait_until(lambda: whole(standing), "everything runs", limit=90)
