"""Folders that go, come back and move under a running program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.journeys.instance import Instance, wait_for
from tests.media_files import jpeg, put


def state(running: Instance, root: Path) -> tuple[Any, ...]:
    """What is known of the assets of a folder and drawn of them."""
    rows = running.rows(
        "SELECT a.id, a.missing_since, f.path, r.name, r.version, r.finished_at FROM root o"
        " JOIN asset_file f ON f.root_id = o.id JOIN asset a ON a.id = f.asset_id"
        " JOIN rendition r ON r.asset_id = a.id AND r.name LIKE 'grid%' WHERE o.path = $1 ORDER BY 1, 4",
        bytes(root),
    )
    return tuple(tuple(row) for row in rows)


def scanned(running: Instance, root: Path) -> dict[str, Any]:
    done = running.run("import", str(root), "--wait", "--json")
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report


def test_a1_folder_that_is_unplugged_ends_its_scan_without_a_change(running: Instance, place: Path) -> None:
    folder = place / "unplugged"
    for number in range(12):
        put(folder, f"{number}.jpg", jpeg(95_000 + number))
    assert scanned(running, folder)["imported"] == 12
    before = state(running, folder)

    folder.rename(folder.with_name("on the shelf"))
    folder.mkdir()
    assert running.run("scan").returncode == 0
    ended = (
        "SELECT b.status FROM import_batch b JOIN root r ON r.id = root_id WHERE r.path = $1 ORDER BY b.id"
    )
    wait_for(
        lambda: [r[0] for r in running.rows(ended, bytes(folder))] == ["done", "error"], "the scan gave up"
    )

    assert running.value("SELECT status FROM root WHERE path = $1", bytes(folder)) == "unavailable"
    assert state(running, folder) == before
    folder.rmdir()
    folder.with_name("on the shelf").rename(folder)
    again = scanned(running, folder)
    assert (again["unchanged"], again["hashed"], again["missing"]) == (12, 0, 0)
    assert state(running, folder) == before


def test_a38_folder_that_is_moved_costs_no_work(running: Instance, place: Path) -> None:
    folder = place / "sorted"
    for number in range(10):
        put(folder, f"new/{number}.jpg", jpeg(96_000 + number))
    assert scanned(running, folder)["imported"] == 10
    before = state(running, folder)

    (folder / "2026").mkdir()
    (folder / "new").rename(folder / "2026" / "May")
    again = scanned(running, folder)

    assert (again["moved"], again["missing"], again["duplicate"]) == (10, 0, 0)
    assert (again["hashed"], again["decoded"]) == (0, 0)
    after = state(running, folder)
    assert [(row[0], row[1], *row[3:]) for row in after] == [(row[0], row[1], *row[3:]) for row in before]
    assert {row[2].rpartition(b"/")[0] for row in after} == {b"2026/May"}


def test_much_that_is_gone_at_once_is_said_and_changes_nothing(running: Instance, place: Path) -> None:
    folder = place / "thinned"
    files = [put(folder, f"{number}.jpg", jpeg(97_000 + number)) for number in range(20)]
    assert scanned(running, folder)["imported"] == 20
    before = state(running, folder)
    for path in files[:15]:
        path.unlink()

    told = running.run("import", str(folder), "--wait")
    report = scanned(running, folder)

    assert "15 of 20 files are gone; nothing was changed" in told.stderr
    assert (report["held"], report["missing"]) == ({"gone": 15, "known": 20}, 0)
    assert state(running, folder) == before
