"""`./vitrine` on a machine that has nothing but Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from appliance.core.paths import PROJECT
from tests.servers import wait_until


def told(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert done.returncode == 0, done.stderr
    value: dict[str, object] = json.loads(done.stdout)
    return value


def fake_python(folder: Path, answer: str) -> str:
    """An interpreter that fails where a broken one would."""
    program = folder / "python-fake"
    program.write_text(f'#!/bin/sh\n{answer}\nexec {sys.executable} "$@"\n')
    program.chmod(0o755)
    return str(program)


def test_first_run_makes_the_environment_and_runs_the_verb(fresh):
    done = fresh.run("up", "a folder", "--port", "9")

    said = told(done)
    assert said["words"] == ["up", "a folder", "--port", "9"]
    assert Path(str(said["prefix"])) == fresh.venv
    assert "Only this once" in done.stderr


def test_the_callers_directory_stays_and_is_not_imported_from(used, tmp_path):
    (tmp_path / "appliance").mkdir()
    (tmp_path / "appliance" / "main.py").write_text("raise SystemExit('not this one')")

    said = told(used.run("up", "relative", cwd=tmp_path))

    assert said["cwd"] == str(tmp_path)
    assert str(tmp_path) not in said["path"]


def test_reached_through_a_link_it_finds_its_clone(used, tmp_path):
    link = tmp_path / "vitrine"
    link.symlink_to(used.folder / "vitrine")

    done = subprocess.run(
        [str(link), "up"], env=used.environment(), capture_output=True, text=True, check=False
    )

    assert told(done)["prefix"] == str(used.venv)


def test_second_run_installs_nothing_and_needs_no_network(used):
    before = (used.venv / ".installed-appliance").stat().st_mtime_ns
    begun = time.monotonic()

    done = used.run("up")

    assert done.returncode == 0
    assert done.stderr == ""
    assert (used.venv / ".installed-appliance").stat().st_mtime_ns == before
    assert time.monotonic() - begun < 5


def test_a_changed_lock_is_installed_once(used):
    used.lock("# changed\n")

    first, second = used.run("up"), used.run("up")

    assert "Preparing" in first.stderr
    assert second.stderr == ""


def test_an_interrupted_installation_is_begun_again(used):
    (used.venv / ".installing").touch()
    half = used.venv / "lib" / "half-a-package"
    half.mkdir()

    done = used.run("up")

    assert done.returncode == 0, done.stderr
    assert not half.exists()
    assert not (used.venv / ".installing").exists()


def test_a_lock_that_cannot_be_installed_fails_and_is_tried_again(used):
    used.lock("no-such-package-for-vitrine==1 --hash=sha256:" + "0" * 64 + "\n")
    first, second = used.run("up"), used.run("up")
    used.lock("# back\n")

    assert first.returncode == second.returncode == 1
    assert "could not be installed" in first.stderr
    assert "could not be installed" in second.stderr
    assert used.run("up").returncode == 0


def test_two_at_once_share_one_environment(fresh):
    both = [fresh.begin("up"), fresh.begin("up")]
    answers = [process.communicate(timeout=120) for process in both]

    assert [process.returncode for process in both] == [0, 0], answers
    assert sum("Preparing" in err for _, err in answers) == 1


def test_the_environment_is_made_anew_when_the_interpreter_changed(used):
    (used.venv / ".made-by").write_text("/usr/bin/python3.9-that-was\n")

    done = used.run("up")

    assert done.returncode == 0, done.stderr
    assert (used.venv / ".made-by").read_text().strip() == os.path.realpath(used.venv / "bin" / "python")


def test_old_python_is_refused_in_one_line(fresh, tmp_path):
    old = fake_python(tmp_path, 'case "$2" in *version_info*) exit 1;; esac')

    done = fresh.run("up", VITRINE_PYTHON=old)

    assert done.returncode == 1
    assert "older than Python 3.11" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_no_python_is_refused_in_one_line(fresh, tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "dirname", "readlink", "cmp", "cat", "mkdir", "flock", "id", "rm"):
        (tools / name).symlink_to(f"/usr/bin/{name}" if Path(f"/usr/bin/{name}").exists() else f"/bin/{name}")

    done = fresh.run("up", PATH=str(tools), VITRINE_PYTHON="")

    assert done.returncode == 1
    assert "needs Python 3.11 or newer (found: none)" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root would install the package instead of naming it")
def test_missing_venv_module_names_the_package(fresh, tmp_path):
    bare = fake_python(tmp_path, 'case "$2" in *ensurepip*) exit 1;; esac')

    done = fresh.run("up", VITRINE_PYTHON=bare)

    assert done.returncode == 1
    assert f"python3.{sys.version_info.minor}-venv" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_plain_user_in_a_clone_of_somebody_else_gets_a_clear_line(fresh):
    done = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(fresh.folder / "vitrine"), "up"],
        env=fresh.environment() | {"VITRINE_PYTHON": "/bin/true"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "not writable" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_killed_while_preparing_it_is_repaired_by_the_next_run(fresh):
    started = fresh.begin("up")
    wait_until((fresh.venv / "bin").exists, "the environment is being made")
    started.kill()
    started.communicate()

    done = fresh.run("up")

    assert done.returncode == 0, done.stderr


def test_the_development_lock_holds_every_pin_of_the_other():
    def pins(name: str) -> set[str]:
        lines = (PROJECT / "requirements" / f"{name}.txt").read_text().splitlines()
        return {line.split()[0] for line in lines if line[:1].isalnum()}

    assert pins("appliance") <= pins("dev")


def test_locks_name_hashes_and_no_index():
    for name in ("appliance", "dev"):
        text = (PROJECT / "requirements" / f"{name}.txt").read_text()

        assert "--hash=sha256:" in text
        assert "://" not in text


def stand_in(used, tool: str, status: int, *, when: str = "") -> None:
    """A tool that says how it was called and ends with a status, or only when so called."""
    tools = used.venv / "lib" / "tools"
    (tools / tool).mkdir(parents=True, exist_ok=True)
    ends = f"sys.exit({status} if {when!r} in [*sys.argv[1:], ''] else 0)"
    body = f"import sys\nprint('{tool}', *sys.argv[1:])\n{ends}\n"
    (tools / tool / "__main__.py").write_text(body)
    # Written twice within a second at the same length, it would be taken for what was compiled before.
    shutil.rmtree(tools / tool / "__pycache__", ignore_errors=True)
    site = next((used.venv / "lib").glob("python*/site-packages"))
    (site / "tools.pth").write_text(f"{tools}\n")


def verdicts(lines: list[list[str]]) -> dict[str, str]:
    return {line[0]: line[1] for line in lines if line[-1] == "s"}


def test_test_verb_runs_every_step_and_sums_up(used):
    for tool, status in (("ruff", 0), ("mypy", 1), ("pytest", 0)):
        stand_in(used, tool, status)

    done = used.run("test", "-k", "something", VITRINE_TEST_CHROMIUM="/bin/true")
    chaos = used.run("test", "--chaos=real", "-x", VITRINE_TEST_CHROMIUM="/bin/true")

    assert done.returncode == 1
    lines = [line.split() for line in done.stdout.splitlines() if line.strip()]
    assert [line[:1] for line in lines[:4]] == [["ruff"], ["ruff"], ["mypy"], ["pytest"]]
    assert lines[3] == ["pytest", "-k", "something"]
    assert verdicts(lines[4:]) == {"lint": "ok", "format": "ok", "types": "FAILED", "tests": "ok"}
    assert chaos.stdout.split()[:5] == ["pytest", "tests/chaos", "-m", "chaos", "-x"]


SHARES = {
    "browser": "pytest tests/browser",
    "programs": "pytest tests/bootstrap tests/cli tests/journeys tests/queues tests/runtime",
    "tests": "pytest --ignore=tests/browser --ignore=tests/bootstrap --ignore=tests/cli"
    " --ignore=tests/journeys --ignore=tests/queues --ignore=tests/runtime",
}


@pytest.mark.parametrize(
    ("failing", "when"),
    [
        ("browser", "tests/browser"),
        ("programs", "tests/bootstrap"),
        ("tests", "--ignore=tests/browser"),
        ("types", ""),
    ],
)
def test_whole_suite_runs_in_shares_and_each_can_fail_it(used, failing, when):
    stand_in(used, "ruff", 0)
    stand_in(used, "mypy", 0 if when else 1)
    stand_in(used, "pytest", 1 if when else 0, when=when)

    done = used.run("test", VITRINE_TEST_CHROMIUM="/bin/true")

    assert done.returncode == 1
    assert [said for said in SHARES.values() if f"{said}\n" not in done.stdout] == []
    found = verdicts([line.split() for line in done.stdout.splitlines() if line.strip()])
    assert found.keys() == {"lint", "format", "types", *SHARES}
    assert [name for name, verdict in found.items() if verdict == "FAILED"] == [failing]


def test_every_folder_of_tests_belongs_to_one_share():
    alone = [word for name in ("browser", "programs") for word in SHARES[name].split()[1:]]
    assert [name for name in alone if not (PROJECT / name).is_dir()] == []
    assert SHARES["tests"].split()[1:] == [f"--ignore={name}" for name in alone]
