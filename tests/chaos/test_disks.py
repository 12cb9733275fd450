"""A disk that fills up: imports wait and say so, and no file is to blame."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos import books, faults
from tests.chaos.conftest import SILENCE, begin
from tests.chaos.visitor import visitor
from tests.journeys.instance import Instance, instance, wait_for
from tests.journeys.tree import Shares, Tree, grow


pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(os.geteuid() != 0, reason="a small disk can only be mounted by root"),
]

MIB = 1024 * 1024
DISK_MB, FLOOR_MB = 900, 150


@pytest.fixture
def disk(place: Path) -> Iterator[Path]:
    """A small disk for the data directory."""
    point = place / "disk"
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=755", "vitrine", point], check=True)
    yield point
    subprocess.run(["umount", "--lazy", point], check=True)


@pytest.fixture
def small_house(disk: Path, place: Path) -> Iterator[Instance]:
    """An instance on that disk, for imports alone."""
    with instance(disk, pause="thumbnail", disk_floor_mb=str(FLOOR_MB), **SILENCE) as made:
        made.noted = place / "vitrine.log"
        yield made


@pytest.fixture
def pictures(place: Path) -> Tree:
    """Some hundred files, 80 MB."""
    return grow(place / "pictures", Shares(small=150, webp=60, jpeg=60, png=60, broken=5), seed=6)


def _free_mb(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize // MIB


def _fill(disk: Path, *, leave_mb: int) -> Path:
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, _free_mb(disk) - leave_mb) * MIB)
    return ballast


def test_imports_pause_below_the_floor_say_so_and_go_on(
    small_house: Instance, disk: Path, pictures: Tree
) -> None:
    small_house.start()
    person = visitor(small_house)
    ballast = _fill(disk, leave_mb=FLOOR_MB // 2)
    wait_for(lambda: small_house.health().get("imports_paused_reason"), "the supervisor noticed", limit=30)
    batch = begin(small_house, pictures.folder)
    walked = "SELECT walked_at IS NOT NULL FROM import_batch WHERE id = $1"
    wait_for(lambda: small_house.value(walked, batch), "the walk is done: looking costs no space")
    page = wait_for(lambda: _says_paused(person.get("/admin/activity").text), "the page says it")
    assert f"imports wait for {FLOOR_MB * MIB / 1e6:.0f} MB" in page
    assert small_house.value("SELECT count(*) FROM import_task WHERE status <> 'pending'") == 0
    assert small_house.health()["state"] == "degraded"
    ballast.unlink()
    faults.until_over(small_house, batch)
    assert books.read(small_house, batch).report() == pictures.report()
    assert small_house.health()["imports_paused_reason"] is None
    assert "Imports are paused" not in person.get("/admin/activity").text


def _says_paused(page: str) -> str:
    return page if "Imports are paused" in page else ""


def test_a_disk_that_is_full_in_the_middle_of_an_import_fails_no_file(
    small_house: Instance, disk: Path, pictures: Tree
) -> None:
    small_house.start()
    batch = begin(small_house, pictures.folder, mode="copy")
    faults.until_unfinished(small_house, pictures.files - 40)
    ballast = _fill(disk, leave_mb=1)
    assert books.unfinished(small_house) >= 100
    wait_for(lambda: _free_mb(disk) == 0, "the disk is full to the last byte")
    # Where not even the health file can be written, the terminal still says it.
    wait_for(lambda: "imports wait for" in small_house.log.read_text("utf-8"), "it says so", limit=30)
    ballast.unlink()
    faults.until_over(small_house, batch)
    seen = books.read(small_house, batch)
    assert seen.report() == pictures.report()
    assert seen.counters == seen.recount
    assert small_house.value("SELECT count(*) FROM rendition WHERE status = 'failed'") == 0
    assert books.disk_faults(small_house) == []
