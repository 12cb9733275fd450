"""Failures are listed for as long as their cause lasts, and no walk forgets what it did not see."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from appliance.core import settings as settings_module
from appliance.ingest import held, inbox, recording, telling
from appliance.ingest.inbox import Which
from tests.ingest.conftest import Ingest
from tests.ingest.test_missing import OLD, _broken_disk, fill, missing
from tests.ingest.test_watching import look, rest
from tests.media_files import jpeg, put


@pytest.fixture(autouse=True)
def home(ingest: Ingest) -> None:
    settings_module.use(ingest.settings)
    ingest.settings.home.tmp.mkdir(parents=True, exist_ok=True)


async def failures(ingest: Ingest) -> dict[Any, Any]:
    """The failed files, and whether each is ignored."""
    rows = await ingest.rows("SELECT path, ignored FROM root_entry WHERE outcome = 'failed'")
    return {r["path"]: r["ignored"] for r in rows}


def broken(folder: Path, name: str) -> Path:
    """A file that fails, with a time of its own."""
    path = put(folder, name, jpeg(90)[:300])
    os.utime(path, (OLD, OLD))
    return path


async def test_ignored_file_in_a_folder_that_is_closed_for_a_night_stays_ignored(
    ingest: Ingest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(folder / "disk", "bad.jpg")
    broken(folder / "disk", "other.jpg")
    fill(folder / "open", 1)
    await ingest.scan(folder)
    (entry,) = await ingest.rows("SELECT id FROM root_entry WHERE path = 'disk/bad.jpg'")
    await inbox.ignore(Which(id=entry["id"]))  # type: ignore[arg-type]

    with monkeypatch.context() as night:
        _broken_disk(night, b"/disk")
        await ingest.scan(folder)
    assert await failures(ingest) == {b"disk": False, b"disk/bad.jpg": True, b"disk/other.jpg": False}
    again = await ingest.scan(folder)

    assert await failures(ingest) == {b"disk/bad.jpg": True, b"disk/other.jpg": False}
    assert again.hashed == 0


async def test_ignored_file_that_is_away_and_comes_back_as_it_was_is_still_ignored(
    ingest: Ingest, folder: Path
) -> None:
    bad = broken(folder, "bad.jpg")
    fill(folder, 1)
    rest(folder)
    await ingest.scan(folder)
    await inbox.ignore(Which(reason="truncated"))
    bad.rename(folder.with_name("aside"))

    await look(ingest)
    await ingest.scan(folder)
    folder.with_name("aside").rename(bad)

    assert (await ingest.scan(folder)).hashed == 0
    assert await failures(ingest) == {b"bad.jpg": True}


async def test_scan_that_is_held_forgets_nothing(ingest: Ingest, folder: Path) -> None:
    files = [*fill(folder / "disk", 15), broken(folder / "disk", "bad.jpg")]
    fill(folder, 1)
    await ingest.scan(folder)
    for path in files:
        path.unlink()

    finding = await ingest.scan(folder)
    assert finding.held == 14
    assert await failures(ingest) == {b"disk/bad.jpg": False}

    async with ingest.db.unit_of_work() as uow:
        again = await held.confirm(uow, 1, finding.id)
    await ingest.walk(await ingest.claim_walk(again))
    assert await failures(ingest) == {}


async def test_files_of_assets_that_nobody_could_read_are_missing_when_they_are_gone(
    ingest: Ingest, folder: Path
) -> None:
    files = fill(folder, 30)
    await ingest.scan(folder)
    async with ingest.db.unit_of_work() as uow:
        # A disk in its last days: its files are listed and say nothing.
        await uow.sql.execute(
            "UPDATE root_entry SET outcome = 'failed', reason = 'unreadable',"
            " size = 0, mtime_ns = 0, inode = 0"
        )
    for path in files[:15]:
        path.unlink()

    finding = await ingest.scan(folder)
    assert finding.held == 15
    async with ingest.db.unit_of_work() as uow:
        again = await held.confirm(uow, 1, finding.id)
    await ingest.walk(await ingest.claim_walk(again))

    assert len(await missing(ingest)) == 15


async def test_name_that_a_listing_tells_twice_counts_once(ingest: Ingest, folder: Path) -> None:
    walking = await ingest.claim_walk(await ingest.queue(folder))
    seen = [telling.Seen(b"a.jpg", 5, OLD, 0, ""), telling.Seen(b"a.jpg", 9, OLD, 0, "")]
    async with ingest.db.unit_of_work() as uow:
        await recording.record_files(uow, walking, seen)

    assert await ingest.rows("SELECT path, size FROM root_entry") == [{"path": b"a.jpg", "size": 9}]
    assert (await ingest.view(walking.batch_id)).files == 1
