"""Scans and looks at folders as tasks: how they end, what they say when they break, what goes unchecked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from appliance.core import settings as settings_module
from appliance.ingest import watching
from queues import clock, runs
from queues import ingest as tasks
from tests.ingest.conftest import Ingest, folder, ingest
from tests.ingest.test_missing import fill, missing
from tests.ingest.test_watching import rest
from tests.media_files import jpeg, put
from tests.queues.test_integrity import Long, long, old_pictures, rot


__all__ = ["folder", "ingest", "long"]


@pytest.fixture(autouse=True)
def home(ingest: Ingest) -> None:
    settings_module.use(ingest.settings)
    ingest.settings.home.tmp.mkdir(parents=True, exist_ok=True)


async def scan(long: Long, ingest: Ingest, folder: Path) -> int:
    """One scan by its task."""
    batch_id = await ingest.queue(folder)
    await runs.execute(long.process, tasks.scan, batch_id)
    await ingest.rest()
    await ingest.drain()
    return batch_id


async def look(long: Long, ingest: Ingest) -> Any:
    """One look by its task; how it ended and why."""
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE root SET watch_at = now()")
        ring = await clock.queue(uow, tasks.watch_folders, asked_by=None, silence=60)
    assert isinstance(ring, clock.Ring)
    await runs.execute(long.process, tasks.watch_folders, ring.row)
    (row,) = await ingest.rows("SELECT status, error FROM task_run ORDER BY id DESC LIMIT 1")
    return row["status"], row["error"]


async def test_scan_notes_what_came_and_what_went(long: Long, ingest: Ingest, folder: Path) -> None:
    first, *_others = fill(folder, 3)
    bad = put(folder, "bad.jpg", jpeg(9)[:300])
    begun = await ingest.view(await scan(long, ingest, folder))
    assert (begun.status, begun.imported, begun.failed) == ("importing", 3, 1)
    first.unlink()
    bad.unlink()

    again = await ingest.view(await scan(long, ingest, folder))

    assert (again.files, again.unchanged, again.missing) == (2, 2, 1)
    assert len(await missing(ingest)) == 1
    assert await ingest.rows("SELECT FROM root_entry WHERE outcome = 'failed'") == []


async def test_look_that_fails_names_its_folder(long: Long, ingest: Ingest, folder: Path) -> None:
    fill(folder, 1)
    rest(folder)
    await scan(long, ingest, folder)
    ingest.settings.home.tmp.rmdir()

    with capture_logs() as told:
        status, error = await look(long, ingest)

    assert status == "error"
    assert str(folder) in error
    assert [t["root"] for t in told if t["event"] == "look failed"] == [str(folder)]


async def test_look_whose_child_ends_before_it_is_done_says_so(
    long: Long, ingest: Ingest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, 1)
    rest(folder)
    await scan(long, ingest, folder)
    monkeypatch.setattr(watching, "LIMIT", watching.LIMIT * 0)

    with capture_logs() as told:
        assert await look(long, ingest) == ("done", None)

    assert [t["root"] for t in told if t["event"] == "look broke off"] == [str(folder)]


async def test_file_that_is_known_by_its_inode_was_not_checked_by_that(
    long: Long, ingest: Ingest, folder: Path
) -> None:
    await old_pictures(ingest, folder)
    (folder / "0.jpg").rename(folder / "moved.jpg")
    os.link(folder / "1.jpg", folder / "linked.jpg")
    (folder / "2.jpg").rename(folder.with_name("aside"))
    await ingest.scan(folder)
    folder.with_name("aside").rename(folder / "2.jpg")
    await ingest.rows("UPDATE asset SET added_at = now() - interval '40 days'")
    assert (await ingest.scan(folder)).hashed == 0

    assert await long.night() == {"checked": 4, "megabytes": 0}


async def test_fault_goes_along_with_the_file_that_has_it(long: Long, ingest: Ingest, folder: Path) -> None:
    await old_pictures(ingest, folder)
    rot(folder / "1.jpg")
    await long.night()
    (folder / "1.jpg").rename(folder / "moved.jpg")

    await ingest.scan(folder)

    assert await long.faults() == {b"moved.jpg": "altered"}
