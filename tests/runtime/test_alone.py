"""Parts of Vitrine without the rest: borrowed servers, and workers on hosts of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from appliance.core import settings as settings_module
from appliance.core.errors import SettingsError, VitrineError
from appliance.core.paths import PROJECT
from appliance.runtime.alone import await_database, external, side_by_side
from appliance.runtime.composition import Factories
from appliance.runtime.forked import answer_of
from tests.runtime.running import Instance, alive, begin, instance
from tests.servers import wait_until


def borrowed(started: Instance) -> list[int]:
    wait_until(lambda: "standing postgresql:" in started.said(), "servers stand")
    return list(started.pids().values())


def test_a_verb_without_a_running_instance_gets_servers_for_its_duration(data):
    started = begin(data, borrow=True)
    pids = borrowed(started)

    assert set(started.pids()) == {"valkey", "postgres", "quick", "heavy", "long"}
    (data / "enough").touch()
    assert started.process.wait(timeout=60) == 0
    wait_until(lambda: alive(pids) == [], "the servers ended")


def test_borrowed_servers_end_with_a_killed_verb(data):
    started = begin(data, borrow=True)
    pids = borrowed(started)
    started.end_at_once()

    wait_until(lambda: alive(pids) == [], "the servers ended")


def test_a_verb_beside_a_running_instance_uses_that(used):
    with instance(used) as running:
        verb = begin(used, borrow=True)
        verb.output = running.output
        borrowed(verb)

        assert f"['http://localhost:{running.port}'" in running.said()
        (used / "enough").touch()
        assert verb.process.wait(timeout=60) == 0
        assert running.page()


def test_parts_end_together_on_a_signal(tmp_path):
    def ask() -> int:
        return side_by_side({"one": linger(tmp_path / "one"), "two": linger(tmp_path / "two")})

    process = in_background(ask)
    wait_until(lambda: len(read_pids(tmp_path)) == 2, "both run")
    pids = read_pids(tmp_path)
    os.kill(process, signal.SIGTERM)

    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert alive(pids) == []


def test_parts_end_together_when_one_ends(tmp_path):
    def ask() -> int:
        return side_by_side({"one": linger(tmp_path / "one"), "two": lambda: os._exit(3)})

    assert answer_of(ask) == 1


def test_parts_alone_need_external_servers(tmp_path):
    with pytest.raises(SettingsError, match="VITRINE_DATABASE_URL is not set"):
        external(settings_module.load({}, data=tmp_path))


def test_parts_alone_wait_for_the_database_and_refuse_an_old_one(tmp_path):
    answers = iter([{"state": "down", "why": "no"}, {"state": "ours", "current": False}])
    nothing = lambda *_: None  # noqa: E731
    factories = Factories(lambda _: next(answers), *[nothing] * 6, lambda *_: [])

    with pytest.raises(VitrineError, match="not at this version"):
        await_database(factories, settings_module.load({}, data=tmp_path))
    assert next(answers, None) is None


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["fly"], "There is no verb 'fly'"),
        (["up", "--prot", "1"], "Unrecognized arguments: --prot"),
        (["up", "/no/such/folder"], "/no/such/folder does not exist"),
        (["up", "--port", "99999"], "Port 99999 does not exist"),
        (["worker", "--lanes", "fast"], "'fast' is no group of lanes"),
        (["web"], "VITRINE_DATABASE_URL is not set"),
    ],
)
def test_wrong_words_are_one_line_and_a_bad_status(words, line):
    done = verb(*words)

    assert done.returncode == 1
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_help_names_every_verb():
    from appliance.cli.verbs import SCRIPTED, VERBS

    done = verb("help")

    assert done.returncode == 0
    for name in (*VERBS, *SCRIPTED):
        assert f"\n  {name} " in done.stdout


def test_telemetry_is_off_before_anything_is_imported():
    script = (
        "import builtins, os, sys; real = builtins.__import__\n"
        "def watched(name, *rest):\n"
        "    if name.startswith(('onnx', 'appliance.cli')):\n"
        "        print(name, os.environ.get('ORT_DISABLE_TELEMETRY'))\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = watched\n"
        "import appliance.main\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()
    assert all(line.endswith(" 1") for line in done.stdout.splitlines())


def environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(PROJECT), "HOME": "/nonexistent"}


def verb(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "appliance.main", *words],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def read_pids(folder: Path) -> list[int]:
    return [int(text) for path in folder.iterdir() if (text := path.read_text())]


def linger(mark: os.PathLike[str]):
    def work() -> None:
        with open(mark, "w", encoding="ascii") as out:
            out.write(str(os.getpid()))
        time.sleep(60)

    return work


def in_background(work) -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(work())
    return pid
