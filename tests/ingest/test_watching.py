"""Changes between scans: found by the times of folders alone, at the price of one look at each."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from appliance.core import settings as settings_module
from appliance.ingest import roots, watching
from tests.ingest.conftest import Ingest
from tests.ingest.test_missing import OLD, fill, missing, places
from tests.media import packets
from tests.media_files import jpeg, put


@pytest.fixture(autouse=True)
def home(ingest: Ingest) -> None:
    settings_module.use(ingest.settings)
    ingest.settings.home.tmp.mkdir(parents=True, exist_ok=True)


def rest(folder: Path) -> None:
    """Let all folders be old: what changes afterwards shows."""
    for base, folders, _files in os.walk(folder):
        for name in (base, *(os.path.join(base, f) for f in folders)):
            os.utime(name, (OLD, OLD))


async def look(ingest: Ingest) -> int:
    """Look at the roots whose turn it is, as the task does."""
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE root SET watch_at = now()")
    found = [await watching.look(ingest.settings, ingest.db, r, 1) for r in await watching.due(ingest.db)]
    await ingest.rest()
    return sum(found)


async def batches(ingest: Ingest) -> list[dict[str, Any]]:
    return await ingest.rows(
        "SELECT status, files, moved, missing, returned FROM import_batch WHERE cause = 'watch' ORDER BY id"
    )


async def test_look_that_finds_nothing_leaves_nothing(ingest: Ingest, folder: Path) -> None:
    fill(folder / "deep" / "er", 3)
    await ingest.scan(folder)

    # Folders that were just made are read once more, for their time could hide a change.
    assert await look(ingest) == 0
    rest(folder)
    assert await look(ingest) == 0

    assert await batches(ingest) == []
    kept = {r["path"]: r["mtime_ns"] for r in await ingest.rows("SELECT path, mtime_ns FROM root_folder")}
    assert kept == dict.fromkeys((b"", b"deep", b"deep/er"), OLD * 10**9)


async def test_only_folders_that_changed_are_read(ingest: Ingest, folder: Path) -> None:
    fill(folder / "quiet", 2)
    fill(folder / "busy", 1)
    rest(folder)
    await ingest.scan(folder)
    put(folder / "busy", "new.jpg", jpeg(40))
    # What looks as if nothing happened there is not looked into.
    put(folder / "quiet", "hidden by its time.jpg", jpeg(41))
    os.utime(folder / "quiet", (OLD, OLD))

    assert await look(ingest) == 1

    assert [(b["status"], b["files"]) for b in await batches(ingest)] == [("importing", 1)]
    assert await ingest.drain() == {"imported": 1}
    assert b"busy/new.jpg" in await places(ingest)


async def test_new_folder_is_read_to_its_ground(ingest: Ingest, folder: Path) -> None:
    fill(folder, 1)
    rest(folder)
    await ingest.scan(folder)
    put(folder, "a/b/c/deep.jpg", jpeg(42))
    put(folder, "a/.hidden/no.jpg", jpeg(43))

    assert await look(ingest) == 1
    assert await ingest.drain() == {"imported": 1}

    assert await look(ingest) == 0
    assert {r["path"] for r in await ingest.rows("SELECT path FROM root_folder")} == {
        b"", b"a", b"a/b", b"a/b/c",
    }  # fmt: skip


async def test_file_that_goes_is_missing_and_one_that_moves_is_not(ingest: Ingest, folder: Path) -> None:
    first, second, *_others = fill(folder / "from", 3)
    (folder / "to").mkdir()
    rest(folder)
    await ingest.scan(folder)
    before = await places(ingest)
    first.unlink()
    second.rename(folder / "to" / "moved.jpg")

    await look(ingest)

    assert [(b["moved"], b["missing"]) for b in await batches(ingest)] == [(1, 1)]
    assert await missing(ingest) == [before[b"from/p00.jpg"]]
    assert (await places(ingest))[b"to/moved.jpg"] == before[b"from/p01.jpg"]
    assert await ingest.drain() == {}


async def test_folder_that_goes_takes_its_files_along_and_brings_them_back(
    ingest: Ingest, folder: Path
) -> None:
    fill(folder / "part" / "deep", 3)
    put(folder, "stays.jpg", jpeg(50))
    rest(folder)
    await ingest.scan(folder)
    (folder / "part").rename(folder.with_name("aside"))

    await look(ingest)
    assert len(await missing(ingest)) == 3

    folder.with_name("aside").rename(folder / "part")
    await look(ingest)
    assert await missing(ingest) == []
    assert [(b["missing"], b["returned"]) for b in await batches(ingest)] == [(3, 0), (0, 3)]
    assert await ingest.drain() == {}


async def test_much_that_goes_is_left_to_a_scan_which_asks(ingest: Ingest, folder: Path) -> None:
    fill(folder / "part", 30)
    put(folder, "stays.jpg", jpeg(50))
    rest(folder)
    await ingest.scan(folder)
    shutil.rmtree(folder / "part")

    await look(ingest)

    assert await missing(ingest) == []
    waiting = await ingest.rows("SELECT id, cause FROM import_batch WHERE status = 'pending'")
    assert [w["cause"] for w in waiting] == ["scan"]
    await ingest.walk(await ingest.claim_walk(waiting[0]["id"]))  # type: ignore[arg-type]
    assert (await ingest.view(waiting[0]["id"])).held == 30  # type: ignore[arg-type]
    # Nothing more is judged until somebody has answered.
    assert await look(ingest) == 0


async def test_disk_that_goes_changes_nothing_and_is_read_when_it_is_back(
    ingest: Ingest, folder: Path
) -> None:
    fill(folder, 2)
    rest(folder)
    await ingest.scan(folder)
    folder.rename(folder.with_name("unplugged"))

    assert await look(ingest) == 0
    assert await ingest.rows("SELECT status FROM root") == [{"status": "unavailable"}]
    assert await missing(ingest) == []
    assert await look(ingest) == 0

    folder.with_name("unplugged").rename(folder)
    assert await look(ingest) == 1
    assert len(await ingest.rows("SELECT FROM import_batch WHERE status = 'pending'")) == 1


async def test_it_rests_after_a_look_and_where_nobody_wants_it(ingest: Ingest, folder: Path) -> None:
    fill(folder, 1)
    await ingest.scan(folder)
    assert await look(ingest) == 0
    assert await watching.due(ingest.db) == []
    async with ingest.db.unit_of_work() as uow:
        assert await uow.sql.fetchval("SELECT watch_at - now() > interval '30 s' FROM root")
        await roots.watch(uow, 1, wanted=False)

    assert await watching.due(ingest.db) == []


async def test_failure_whose_file_was_taken_away_is_not_listed_any_more(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    bad = put(folder, "bad.jpg", jpeg(2)[:200])
    rest(folder)
    await ingest.scan(folder)
    bad.unlink()

    await look(ingest)

    assert await ingest.rows("SELECT path FROM root_entry WHERE outcome = 'failed'") == []
    assert await batches(ingest) == []


async def test_file_that_was_read_too_early_is_read_again_when_it_grows(ingest: Ingest, folder: Path) -> None:
    whole = jpeg(1, size=(300, 200))
    slow = put(folder, "slow.jpg", whole[:400])
    rest(folder)
    assert (await ingest.scan(folder)).failed == 1
    assert await look(ingest) == 0
    # Its folder does not change by that.
    with slow.open("ab") as out:
        out.write(whole[400:])

    assert await look(ingest) == 1

    assert await ingest.drain() == {"imported": 1}


async def test_sidecar_that_comes_and_goes_is_noticed_too(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    rest(folder)
    await ingest.scan(folder)
    titles = "SELECT title FROM asset"
    sidecar = put(folder, "a.jpg.xmp", packets.xmp(dc_title=["Beside"]))

    assert await look(ingest) == 1
    await ingest.drain()
    assert await ingest.rows(titles) == [{"title": "Beside"}]

    sidecar.unlink()
    assert await look(ingest) == 1
    assert await ingest.rows(titles) == [{"title": None}]


async def test_look_beside_a_scan_leaves_everything_to_it(ingest: Ingest, folder: Path) -> None:
    fill(folder, 1)
    rest(folder)
    await ingest.scan(folder)
    put(folder, "new.jpg", jpeg(9))
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE root SET watch_at = now()")
    (root,) = await watching.due(ingest.db)
    await ingest.queue(folder)

    await watching.look(ingest.settings, ingest.db, root, 1)

    assert await batches(ingest) == []
