"""`vitrine import` as a person or a script uses it, with and without a running instance."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests import media_files
from tests.journeys import witness
from tests.journeys.instance import Instance, instance, wait_for
from tests.journeys.shape import IMPORT
from tests.journeys.tree import ODD_NAMES, Shares, Tree, grow


OUTCOMES = ("imported", "duplicate", "unchanged", "moved", "returned", "failed", "skipped")


def report_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The summary that `--json` printed last."""
    assert done.returncode == 0, done.stderr
    summary: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert IMPORT.faults(summary, "summary") == []
    assert sum(summary[name] for name in OUTCOMES) == summary["files"]
    return summary


def without_batch(report: dict[str, Any]) -> dict[str, Any]:
    """What two reports can agree on."""
    return {name: value for name, value in report.items() if name not in {"batch", "hashed", "decoded"}}


def test_import_without_instance_stands_one_up_for_its_duration_only(place: Path, tree: Tree) -> None:
    before = witness.look(tree.folder)
    with instance(place) as alone:
        first = report_of(alone.run("import", str(tree.folder), "--wait", "--json"))
        left = alone.everyone()
        second = report_of(alone.run("import", str(tree.folder), "--json"))
        assert left == alone.everyone() == []
        assert not alone.health()
    assert without_batch(first) == tree.report()
    assert (second["hashed"], second["decoded"]) == (0, 0)
    assert second["unchanged"] == first["imported"] + first["duplicate"]
    assert (second["failed"], second["skipped"]) == (first["failed"], first["skipped"])
    assert second["reasons"] == first["reasons"]
    assert witness.look(tree.folder) == before
    assert not witness.digests(tree.folder) & witness.digests(alone.data)


def test_import_beside_a_running_instance_reports_each_file(running: Instance, tree: Tree) -> None:
    done = running.run("import", str(tree.folder), "--each", "--json")
    summary = report_of(done)
    files = [json.loads(line) for line in done.stdout.splitlines()[:-1]]
    assert [fault for file in files for fault in IMPORT.faults(file, "file")] == []
    assert without_batch(summary) == tree.report()
    assert Counter(file["outcome"] for file in files) == tree.outcomes
    assert Counter(f["reason"] for f in files if f["outcome"] == "failed") == tree.failed
    assert all((file["asset"] is None) == (file["outcome"] in {"failed", "skipped"}) for file in files)
    paths = {base64.b64decode(file["path_b64"]) for file in files}
    assert {b"odd/" + name for name in ODD_NAMES} <= paths
    assert running.web_answers()


def test_a_duplicate_names_the_asset_that_has_its_bytes(running: Instance, place: Path) -> None:
    folder = place / "twice"
    for name in ("one.jpg", "two.jpg"):
        media_files.put(folder, name, media_files.jpeg(90_001))
    done = running.run("import", str(folder), "--each")
    one, two, summary = (json.loads(line) for line in done.stdout.splitlines())
    assert one["asset"]["id"] == two["asset"]["id"]
    assert (summary["imported"], summary["duplicate"]) == (1, 1)


def test_a55_a_pipe_named_like_a_picture_is_passed_over(running: Instance, place: Path) -> None:
    media_files.put(place / "piped", "one.jpg", media_files.jpeg(90_050))
    os.mkfifo(place / "piped" / "two.jpg")
    report = report_of(running.run("import", str(place / "piped"), "--wait", "--json", limit=120))
    assert (report["imported"], report["skipped"], report["reasons"]) == (1, 1, {"special": 1})


def test_import_without_wait_returns_while_the_instance_works(running: Instance, place: Path) -> None:
    media_files.put(place / "later", "one.jpg", media_files.jpeg(90_100))
    done = running.run("import", str(place / "later"), "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, IMPORT.faults(answer, "queued")) == (0, [])
    statement = "SELECT status = 'done' FROM import_batch WHERE id = $1"
    assert wait_for(lambda: running.value(statement, answer["batch"]), "the batch is done")


def test_waiting_outlasts_a_crash_of_the_database(running: Instance, place: Path) -> None:
    tree = grow(place / "much", Shares(small=30, webp=12), seed=11)
    waiting = running.background("import", str(tree.folder), "--wait", "--json")
    some = "SELECT count(*) > 2 FROM import_task t JOIN root r ON r.id = root_id WHERE r.path = $1"
    wait_for(lambda: running.value(some, os.fsencode(tree.folder)), "the import is under way")
    os.kill(running.pid("postgres"), signal.SIGKILL)
    out, complaints = waiting.communicate(timeout=120)
    assert waiting.returncode == 0, complaints
    assert without_batch(json.loads(out)) == tree.report()


def test_waiting_ends_in_one_line_when_the_instance_is_stopped(place: Path, tree: Tree) -> None:
    with instance(place, pause="import") as there:
        there.start()
        waiting = there.background("import", str(tree.folder), "--wait", "--json")
        wait_for(lambda: there.value("SELECT count(*) FROM import_task"), "the folder was walked")
        there.stop()
        _, complaints = waiting.communicate(timeout=120)
    assert waiting.returncode == 1
    assert "stopped meanwhile" in complaints.splitlines()[-1]
    assert "Traceback" not in complaints


def test_up_beside_a_running_instance_adds_the_folder(running: Instance, place: Path) -> None:
    media_files.put(place / "more", "one.jpg", media_files.jpeg(90_200))
    done = running.run("up", str(place / "more"))
    assert done.returncode == 0, done.stderr
    statement = "SELECT b.imported FROM import_batch b JOIN root r ON r.id = b.root_id WHERE r.path = $1"
    path = os.fsencode(place / "more")
    assert wait_for(lambda: [r for r in running.rows(statement, path) if r[0] == 1], "it was read")


def test_a_second_supervisor_is_refused(running: Instance) -> None:
    before = running.state()
    done = running.run("up")
    assert done.returncode != 0
    assert "already running" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert running.state() == before
    assert running.web_answers()


def test_copy_stores_the_bytes_and_leaves_the_source(place: Path, tree: Tree) -> None:
    before = witness.look(tree.folder)
    with instance(place) as alone:
        report = report_of(alone.run("import", str(tree.folder), "--as", "copy", "--json"))
    stored = witness.digests(alone.home.originals)
    assert report["imported"] == len(stored) == tree.outcomes["imported"]
    assert stored <= witness.digests(tree.folder)
    assert witness.look(tree.folder) == before
    assert witness.everything(alone.home.tmp) == []


def refusals(tree: Tree, place: Path) -> dict[str, list[str]]:
    """Wishes that cannot be granted, by what the answer must say."""
    return {
        "no folder": [str(place / "nowhere")],
        "not a folder": [str(media_files.put(place, "file.jpg", media_files.jpeg(1)))],
        "as “in_place”": [str(tree.folder), "--as", "copy"],
        "contains": [str(tree.folder.parent)],
        "invalid choice": [str(tree.folder), "--as", "symlink"],
    }


def test_wishes_that_cannot_be_granted_are_refused_in_one_line(
    running: Instance, place: Path, tree: Tree
) -> None:
    report_of(running.run("import", str(tree.folder), "--wait", "--json"))
    batches = running.value("SELECT count(*) FROM import_batch")
    for said, arguments in refusals(tree, place).items():
        done = running.run("import", *arguments)
        assert done.returncode != 0, arguments
        assert said in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
        assert done.stdout == ""
    assert running.value("SELECT count(*) FROM import_batch") == batches


@pytest.mark.parametrize("name", ["nowhere", "file.jpg"])
def test_a_refused_folder_starts_nothing(place: Path, name: str) -> None:
    media_files.put(place, "file.jpg", media_files.jpeg(1))
    with instance(place) as alone:
        done = alone.run("import", str(place / name))
        assert done.returncode != 0
        assert not alone.data.exists()
        assert alone.everyone() == []
