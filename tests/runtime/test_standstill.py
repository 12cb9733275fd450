"""A database that crashed and lost the process of its recovery is started again; a recovery never is."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Iterator

import asyncpg
import pytest

from appliance.runtime import proc
from appliance.runtime.pgwire import Answer, ask
from appliance.runtime.postgres import NAME
from appliance.runtime.standstill import EVERY, SIGHTINGS, WORDS
from appliance.runtime.supervisor import LOOK_EVERY
from tests.runtime.running import Instance, instance
from tests.servers import wait_until


RECOVERY = "postgres: startup"


@pytest.fixture
def running(used) -> Iterator[Instance]:
    with instance(used) as there:
        wait_until(lambda: there.health.get("state") == "ok", "everything runs")
        yield there


def answer(running: Instance) -> Answer:
    return ask(running.home.run, NAME, NAME)


def crash(running: Instance, number: signal.Signals) -> int:
    """Kill a backend, and signal the process of the recovery that follows as soon as it is there."""
    return asyncio.run(_crash(running.pids()["postgres"], running.state["database_url"], number))


async def _crash(postmaster: int, url: str, number: signal.Signals) -> int:
    connection = await asyncpg.connect(url)
    os.kill(await connection.fetchval("SELECT pg_backend_pid()"), signal.SIGKILL)
    # Without a pause: on a good day a recovery takes some milliseconds.
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for child in filter(recovers, proc.offspring_of(postmaster)):
            os.kill(child, number)
            return child
    raise AssertionError("no recovery was seen")


def recovers(pid: int) -> bool:
    title = proc.title_of(pid)
    return title == RECOVERY or title.startswith(f"{RECOVERY} recovering")


def test_a_database_that_lost_its_recovery_is_started_again_and_the_rest_does_not_notice(running):
    before = running.pids()
    begun = time.monotonic()
    crash(running, signal.SIGKILL)
    assert answer(running) is Answer.RECOVERING

    wait_until(lambda: running.process_state("postgres").get("state") == "starting", "it was noticed")
    wait_until(lambda: answer(running) is Answer.READY, "it takes clients again")
    assert time.monotonic() - begun < LOOK_EVERY + SIGHTINGS * EVERY + 6

    wait_until(lambda: running.health.get("state") == "ok", "all is well")
    assert running.process_state("postgres")["last_exit"] == WORDS
    assert running.process_state("postgres")["restarts"] == 1
    after = running.pids()
    assert after.pop("postgres") != before.pop("postgres")
    assert after == before
    assert [line for line in running.said().splitlines() if "postgres" in line] == [
        f"postgres {WORDS}; it starts again now."
    ]


def test_a_recovery_that_takes_long_is_left_alone(running):
    postmaster = running.pids()["postgres"]
    recovery = crash(running, signal.SIGSTOP)
    try:
        wait_until(lambda: running.process_state("postgres").get("state") == "starting", "it was noticed")
        noticed = time.monotonic()
        wait_until(
            lambda: time.monotonic() - noticed > (SIGHTINGS + 3) * EVERY, "time enough to be impatient"
        )
        assert proc.started(recovery)
        assert answer(running) is Answer.RECOVERING
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(recovery, signal.SIGCONT)

    wait_until(lambda: running.health.get("state") == "ok", "it recovered by itself")
    assert running.pids()["postgres"] == postmaster
    assert running.process_state("postgres")["restarts"] == 0
    assert "postgres" not in running.said()
