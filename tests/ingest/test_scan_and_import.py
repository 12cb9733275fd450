"""From a folder to assets, again and again, with nothing counted twice and nothing touched."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from appliance.core.errors import Conflict, Invalid
from appliance.ingest import folders, scanning, services
from appliance.ingest.models import Mode
from tests.ingest.conftest import Ingest, tree
from tests.media_files import jpeg, put


async def test_every_file_gets_exactly_one_outcome(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1, taken="2023:07:09 15:12:33"))
    put(folder, "deep/er/b.jpg", jpeg(2))
    put(folder, "copy of a.jpg", jpeg(1, taken="2023:07:09 15:12:33"))
    put(folder, "broken.jpg", jpeg(3)[:400])
    put(folder, "empty.jpg", b"")
    put(folder, "notes.md", b"# not a picture")
    put(folder, "a.jpg.json", b"{}")
    put(folder, ".hidden.jpg", jpeg(4))
    (folder / "link.jpg").symlink_to("a.jpg")
    os.mkfifo(folder / "pipe.jpg")
    before = tree(folder)

    batch = await ingest.scan(folder)

    assert (batch.files, batch.imported, batch.duplicate, batch.failed, batch.skipped) == (10, 2, 1, 2, 5)
    assert batch.settled == batch.files
    assert batch.finished
    async with ingest.db.unit_of_work() as uow:
        assert await services.reasons(uow.sql, batch.id) == {
            "empty": 1, "hidden": 1, "not_media": 1, "sidecar": 1, "special": 1, "symlink": 1, "truncated": 1,
        }  # fmt: skip
    assert tree(folder) == before


async def test_second_scan_opens_nothing_and_still_lists_failures(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    put(folder, "broken.jpg", jpeg(2)[:300])
    await ingest.scan(folder)

    again = await ingest.scan(folder)

    assert (again.files, again.unchanged, again.failed) == (2, 1, 1)
    assert (again.hashed, again.decoded) == (0, 0)


async def test_touched_file_is_hashed_but_stays_the_same_asset(ingest: Ingest, folder: Path) -> None:
    path = put(folder, "a.jpg", jpeg(1))
    await ingest.scan(folder)
    os.utime(path, (1_600_000_000, 1_600_000_000))

    again = await ingest.scan(folder)

    assert (again.unchanged, again.duplicate, again.hashed, again.decoded) == (1, 0, 1, 0)
    assert len(await ingest.rows("SELECT id FROM asset")) == 1


async def test_interrupted_walk_goes_on_and_counts_each_path_once(
    ingest: Ingest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "TELL_S", 0.0)
    for number in range(4):
        put(folder, f"d{number}/a.jpg", jpeg(number))
    batch_id = await ingest.queue(folder)
    first = await ingest.claim_walk(batch_id)
    with pytest.raises(Exception, match="broke off"):
        # What the root is, its own end, then files and end of d0, then files of d1 without their end.
        await ingest.walk(first, only=5)

    resumed = await ingest.claim_walk(batch_id)
    assert resumed.after == b"d0"
    await ingest.walk(resumed)
    await ingest.drain()

    batch = await ingest.view(batch_id)
    assert (batch.files, batch.imported) == (4, 4)


async def test_many_small_folders_are_told_together(ingest: Ingest, folder: Path) -> None:
    for number in range(40):
        put(folder, f"d{number:02d}/a.xmp", b"x")
    batch_id = await ingest.queue(folder)

    await ingest.walk(await ingest.claim_walk(batch_id))

    rows = await ingest.rows("SELECT count(DISTINCT xmin::text) AS transactions FROM root_entry")
    assert (await ingest.view(batch_id)).files == 40
    assert rows[0]["transactions"] < 10


async def test_a_walk_that_breaks_off_again_and_again_ends(ingest: Ingest, folder: Path) -> None:
    walking = await ingest.claim_walk(await ingest.queue(folder))
    async with ingest.db.unit_of_work() as uow:
        goes_on = [await scanning.goes_on(uow.sql, walking) for _ in range(scanning.PATIENCE)]

    assert goes_on == [True] * (scanning.PATIENCE - 1) + [False]


async def test_folders_deeper_than_any_index_are_told_and_cost_the_rest_nothing(
    ingest: Ingest, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(1))
    deep, above = folder, os.getcwd()
    try:
        for number in range(14):
            os.chdir(deep)
            # Names of which nothing can be compressed.
            name = random.Random(number).randbytes(110).hex()
            deep = Path(name)
            deep.mkdir()
        os.chdir(deep)
        Path("out of reach.jpg").write_bytes(jpeg(2))
    finally:
        os.chdir(above)

    batch = await ingest.scan(folder)

    assert (batch.imported, batch.failed, batch.files) == (1, 1, 2)
    assert (await ingest.scan(folder)).unchanged == 1


async def test_walk_that_was_taken_over_records_nothing(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    batch_id = await ingest.queue(folder)
    zombie = await ingest.claim_walk(batch_id)
    await ingest.claim_walk(batch_id)

    with pytest.raises(Exception, match="taken over"):
        await ingest.walk(zombie)

    assert (await ingest.view(batch_id)).files == 0


async def test_a14_latin1_name_is_imported_and_kept_as_bytes(ingest: Ingest, folder: Path) -> None:
    name = b"dr\xe9.jpg"
    with open(os.fsencode(folder) + b"/" + name, "wb") as out:
        out.write(jpeg(1))

    batch = await ingest.scan(folder)

    assert batch.imported == 1
    assert [r["path"] for r in await ingest.rows("SELECT path FROM root_entry")] == [name]


async def test_a16_content_decides_and_html_named_jpg_is_refused(ingest: Ingest, folder: Path) -> None:
    put(folder, "liar.heic", jpeg(1))
    put(folder, "page.jpg", b"<!doctype html><html><body>Sign in</body></html>")

    batch = await ingest.scan(folder)

    assert (batch.imported, batch.failed) == (1, 1)
    assert await ingest.rows("SELECT mime FROM asset") == [{"mime": "image/jpeg"}]
    failed = await ingest.rows("SELECT reason FROM root_entry WHERE outcome = 'failed'")
    assert failed == [{"reason": "not_media"}]


async def test_a10_same_first_half_megabyte_is_not_the_same_file(ingest: Ingest, folder: Path) -> None:
    head = jpeg(1, size=(1600, 1200))
    put(folder, "one.jpg", head + b"\0" * 600_000 + b"1")
    put(folder, "two.jpg", head + b"\0" * 600_000 + b"2")

    batch = await ingest.scan(folder)

    assert (batch.imported, batch.duplicate) == (2, 0)


async def test_a55_fifo_named_like_a_picture_never_blocks(ingest: Ingest, folder: Path) -> None:
    os.mkfifo(folder / "x.jpg")
    put(folder, "y.jpg", jpeg(1))

    batch = await ingest.scan(folder)

    assert (batch.imported, batch.skipped) == (1, 1)


@pytest.mark.parametrize("mode", [Mode.COPY, Mode.MOVE])
async def test_stored_modes_keep_the_bytes_and_only_move_removes_the_source(
    ingest: Ingest, folder: Path, mode: Mode
) -> None:
    content = jpeg(1)
    path = put(folder, "a.jpg", content)

    batch = await ingest.scan(folder, mode)

    assert batch.imported == 1
    stored = [p for p in ingest.settings.home.originals.rglob("*") if p.is_file()]
    assert [p.read_bytes() for p in stored] == [content]
    assert path.exists() is (mode is Mode.COPY)
    assert list(ingest.settings.home.tmp.iterdir()) == []


async def test_duplicate_of_a_stored_file_is_stored_once(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    put(folder, "b.jpeg", jpeg(1))

    batch = await ingest.scan(folder, Mode.MOVE)

    assert (batch.imported, batch.duplicate) == (1, 1)
    assert len([p for p in ingest.settings.home.originals.rglob("*") if p.is_file()]) == 1
    assert list(folder.iterdir()) == []


async def test_duplicate_names_its_asset(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    put(folder, "b.jpg", jpeg(1))

    await ingest.scan(folder)

    rows = await ingest.rows("SELECT outcome, asset_id FROM root_entry ORDER BY outcome")
    assert [r["outcome"] for r in rows] == ["duplicate", "imported"]
    assert rows[0]["asset_id"] == rows[1]["asset_id"]
    assert len(await ingest.rows("SELECT id FROM asset_file")) == 2


async def test_a40_asset_whose_picture_cannot_be_drawn_is_listed_with_the_reason(
    ingest: Ingest, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(1))
    # A file where the folder of renditions must be: nothing can be written there, whoever asks.
    shutil.rmtree(ingest.settings.home.renditions)
    ingest.settings.home.renditions.write_bytes(b"")

    batch = await ingest.scan(folder)

    assert (batch.imported, batch.failed) == (1, 0)
    failed = await ingest.rows("SELECT name, reason FROM rendition WHERE status = 'failed' ORDER BY name")
    assert [r["name"] for r in failed] == ["grid-240", "grid-480"]
    assert all(r["reason"] for r in failed)


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk can only be mounted by root")
async def test_file_that_does_not_fit_fails_only_where_the_disk_has_room(
    ingest: Ingest, folder: Path
) -> None:
    tmp = ingest.settings.home.tmp
    put(folder, "a.jpg", jpeg(1, size=(2000, 1500)))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "vitrine", tmp], check=True)
    try:
        # The data directory itself has room: only this file finds none, and waiting would not help.
        batch = await ingest.scan(folder, Mode.COPY)
    finally:
        subprocess.run(["umount", tmp], check=True)

    assert batch.failed == 1
    failed = await ingest.rows("SELECT reason FROM root_entry")
    assert [r["reason"] for r in failed] == ["no_space"]


async def test_folder_that_contains_a_root_is_refused_by_name(ingest: Ingest, folder: Path) -> None:
    put(folder, "inner/a.jpg", jpeg(1))
    await ingest.scan(folder / "inner")

    with pytest.raises(Conflict, match="inner"):
        await ingest.queue(folder)


async def test_folder_inside_a_root_rescans_that_part(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    await ingest.scan(folder)
    put(folder, "part/b.jpg", jpeg(2))
    put(folder, "c.jpg", jpeg(3))

    batch = await ingest.scan(folder / "part")

    assert (batch.files, batch.imported) == (1, 1)
    assert len(await ingest.rows("SELECT id FROM root")) == 1


def test_missing_folder_and_file_are_refused_with_a_way_out(folder: Path) -> None:
    with pytest.raises(Invalid, match="no folder"):
        folders.folder(folder / "nowhere")
    with pytest.raises(Invalid, match="not a folder"):
        folders.folder(put(folder, "a.jpg", b"x"))


@pytest.mark.parametrize("inside", ["", "renditions", "originals/ab"])
async def test_data_directory_is_no_library(ingest: Ingest, inside: str) -> None:
    home = ingest.settings.home
    put(home.data, "instance.json", b"{}")
    (home.data / inside).mkdir(parents=True, exist_ok=True)

    with pytest.raises(Invalid, match="data of a Vitrine"):
        folders.folder(home.data / inside)


async def test_folder_that_cannot_be_read_is_listed_until_it_can(
    ingest: Ingest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, "closed/a.jpg", jpeg(1))
    put(folder, "b.jpg", jpeg(2))
    real = os.scandir

    def closed(path: bytes) -> object:
        if path.endswith(b"/closed"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    # Root may read everything: the refusal of the system stands in for the mode.
    monkeypatch.setattr(os, "scandir", closed)
    first = await ingest.scan(folder)
    second = await ingest.scan(folder)
    monkeypatch.undo()
    third = await ingest.scan(folder)

    assert [(b.files, b.imported, b.unchanged, b.failed) for b in (first, second, third)] == [
        (2, 1, 0, 1),
        (2, 0, 1, 1),
        (2, 1, 1, 0),
    ]
    assert await ingest.rows("SELECT path FROM root_entry WHERE outcome = 'failed'") == []
