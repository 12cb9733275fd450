"""The embedded servers by themselves."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from appliance.runtime import proc
from appliance.runtime.account import service_account
from appliance.runtime.leftovers import end_database
from appliance.runtime.pgwire import Answer
from appliance.runtime.postgres import PostgresServer, PostgresUnusable, forget_dead_lock, tuned
from appliance.runtime.privileges import acting_as
from tests.servers import describe, private_folder, wait_until


@pytest.fixture(scope="module")
def made() -> Iterator[PostgresServer]:
    """A cluster that every test copies: making one takes seconds."""
    account = service_account(Path("/nonexistent"))
    server, _ = describe(private_folder(account), account)
    server.create()
    yield server
    shutil.rmtree(server.sockets)


@pytest.fixture
def postgres(made: PostgresServer) -> Iterator[PostgresServer]:
    """A cluster that is not started, as durable as the product's."""
    home = private_folder(made.account)
    subprocess.run(["cp", "-a", str(made.data), str(home / "pg")], check=True)
    server = replace(made, data=home / "pg", sockets=home, log=home / "log", extra={})
    yield server
    with acting_as(server.account):
        end_database(server.data)
    shutil.rmtree(home)


def started(postgres: PostgresServer) -> subprocess.Popen[bytes]:
    """Started again like the supervisor does: after a kill, shared memory may be in use for a moment."""
    processes = [postgres.start()]

    def answers() -> bool:
        if processes[-1].poll() is not None:
            processes.append(postgres.start())
        return postgres.answer() is Answer.READY

    wait_until(answers, "PostgreSQL answers")
    return processes[-1]


async def run(url: str, statement: str) -> object:
    connection = await asyncpg.connect(url)
    value: object = await connection.fetchval(statement)
    await connection.close()
    return value


def test_cluster_compares_and_folds_by_unicode(postgres):
    started(postgres)

    statement = (
        "SELECT lower('ÄÉ') || pg_encoding_to_char(encoding) FROM pg_database WHERE datname = 'vitrine'"
    )
    assert asyncio.run(run(postgres.url, statement)) == "äéUTF8"


def test_listens_on_no_network(postgres):
    started(postgres)

    assert asyncio.run(run(postgres.url, "SHOW listen_addresses")) == ""


def test_is_down_before_the_start_and_after_the_end(postgres):
    assert postgres.answer() is Answer.DOWN
    process = started(postgres)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)

    assert postgres.answer() is Answer.DOWN


def test_comes_back_after_its_whole_tree_was_killed(postgres):
    started(postgres)
    asyncio.run(run(postgres.url, "CREATE TABLE kept (n int)"))
    for pid in proc.working_in(postgres.data):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not proc.working_in(postgres.data), "nothing is left")

    started(postgres)

    assert asyncio.run(run(postgres.url, "SELECT count(*) FROM kept")) == 0


def test_a_lock_with_a_reused_process_id_does_not_prevent_a_start(postgres):
    """After a container restart the id in postmaster.pid belongs to some other process."""
    (postgres.data / "postmaster.pid").write_text(f"{os.getpid()}\n{postgres.data}\n")

    assert started(postgres).poll() is None


def test_the_lock_of_a_running_server_is_respected(postgres):
    started(postgres)
    with acting_as(postgres.account):
        forget_dead_lock(postgres.data)

    assert (postgres.data / "postmaster.pid").exists()


def test_end_of_a_leftover_database_is_clean(postgres):
    started(postgres)

    with acting_as(postgres.account):
        assert end_database(postgres.data) > 3
        assert proc.working_in(postgres.data) == []
    assert not (postgres.data / "postmaster.pid").exists()


def test_interrupted_creation_is_begun_again(postgres):
    half = postgres.data.with_name("other.new")
    half.mkdir()
    (half / "rubbish").touch()
    other = replace(postgres, data=postgres.data.with_name("other"))

    assert other.create() is True
    assert other.create() is False
    assert not half.exists()


def test_cluster_of_another_major_version_is_refused_by_name(postgres):
    (postgres.data / "PG_VERSION").write_text("15\n")

    with pytest.raises(PostgresUnusable, match="PostgreSQL 15"):
        postgres.create()


def test_its_last_error_is_known(postgres):
    postgres.log.write_text("LOG: fine\nFATAL:  no space left\nLOG:  shutting down\n")

    assert postgres.last_words() == "FATAL:  no space left"


def test_memory_decides_the_cache_within_limits():
    assert tuned(2**30)["shared_buffers"] == "64MB"
    assert tuned(4 * 2**30)["shared_buffers"] == "256MB"
    assert tuned(64 * 2**30)["shared_buffers"] == "512MB"


def test_nothing_of_our_environment_reaches_the_server(postgres, monkeypatch):
    monkeypatch.setenv("VITRINE_DATABASE_URL", "postgresql://u:secret@h/d")
    process = started(postgres)

    with acting_as(postgres.account):
        environment = Path(f"/proc/{process.pid}/environ").read_text()
    assert "secret" not in environment
