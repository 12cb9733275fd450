"""What was deleted stays away, under any name and in any copy, until somebody says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from appliance.core import settings
from appliance.ingest.models import Mode
from tests.duplicates.conftest import Doubles, film, jpeg, png, scene
from tests.ingest.conftest import tree
from tests.library.books import unpack
from tests.media.zips import zipped
from tests.media_files import put


async def delete(doubles: Doubles, *names: str) -> None:
    ids = await doubles.ids(*names)
    await doubles.lib.act("trash", ids)
    await doubles.lib.act("purge", ids)


async def entries(doubles: Doubles) -> dict[str, tuple[str, str | None, str | None]]:
    rows = await doubles.lib.rows("SELECT path, outcome, reason, detail FROM root_entry")
    return {bytes(r["path"]).decode(): (r["outcome"], r["reason"], r["detail"]) for r in rows}


@pytest.mark.parametrize("mode", [Mode.IN_PLACE, Mode.COPY])
async def test_a73_a_deleted_file_in_a_watched_folder_stays_there_and_does_not_come_back(
    doubles: Doubles, folder: Path, mode: Mode
) -> None:
    put(folder, "worse.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder, mode)
    before = tree(folder)
    await delete(doubles, "worse.jpg")

    for _ in range(2):
        again = await doubles.imports.scan(folder, mode)
        assert (again.imported, again.skipped) == (0, 1)

    assert tree(folder) == before
    assert await doubles.lib.value("SELECT count(*) FROM asset") == 0


async def test_a_deleted_content_stays_away_under_any_name(doubles: Doubles, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder)
    await delete(doubles, "a.jpg")

    (folder / "a.jpg").rename(folder / "b.jpg")
    again = await doubles.imports.scan(folder)

    assert (again.imported, again.skipped, again.decoded) == (0, 1, 0)
    outcome, reason, detail = (await entries(doubles))["b.jpg"]
    assert (outcome, reason) == ("skipped", "tombstoned")
    assert detail is not None
    assert detail.startswith("The same file was deleted for good on ")
    assert detail.endswith(": a.jpg")


async def test_another_picture_under_the_name_of_a_deleted_one_comes_in(
    doubles: Doubles, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder)
    await delete(doubles, "a.jpg")

    put(folder, "a.jpg", jpeg(scene(2)))
    again = await doubles.imports.scan(folder)

    assert again.imported == 1


@pytest.mark.parametrize("for_good", [True, False])
@pytest.mark.parametrize(("quality", "scale"), [(90, 1.0), (75, 1.0), (50, 1.0), (75, 0.5)])
async def test_a71_a_copy_of_a_deleted_picture_is_kept_out_and_says_why(
    doubles: Doubles, folder: Path, quality: int, scale: float, for_good: bool
) -> None:
    put(folder, "worse.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder)
    ids = await doubles.ids("worse.jpg")
    await doubles.lib.act("trash", ids)
    if for_good:
        await doubles.lib.act("purge", ids)
    size = (round(640 * scale), round(480 * scale))

    put(folder, "again.jpg", jpeg(scene(1, size), quality))
    again = await doubles.imports.scan(folder)

    assert (again.imported, again.failed) == (0, 0)
    outcome, reason, detail = (await entries(doubles))["again.jpg"]
    assert (outcome, reason) == ("skipped", "tombstoned")
    assert detail is not None
    assert detail.startswith("It looks like worse.jpg, ")
    assert ("deleted for good" if for_good else "put into the trash") in detail
    assert "of 64 bits differ" in detail


async def test_nothing_of_a_picture_that_is_kept_out_stays_with_us(doubles: Doubles, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder, Mode.COPY)
    await delete(doubles, "a.jpg")

    put(folder, "b.jpg", jpeg(scene(1), 80))
    await doubles.imports.scan(folder, Mode.COPY)

    home = settings.current().home
    left = [p for base in (home.originals, home.renditions, home.tmp) for p in base.rglob("*") if p.is_file()]
    assert left == []


async def test_a_larger_copy_than_the_deleted_one_comes_in(doubles: Doubles, folder: Path) -> None:
    put(folder, "small.jpg", jpeg(scene(1, (320, 240))))
    await doubles.imports.scan(folder)
    await delete(doubles, "small.jpg")

    put(folder, "large.jpg", jpeg(scene(1)))
    again = await doubles.imports.scan(folder)

    assert again.imported == 1


async def test_other_pictures_and_other_shapes_come_in(doubles: Doubles, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder)
    await delete(doubles, "a.jpg")

    put(folder, "other.jpg", jpeg(scene(2)))
    put(folder, "stretched.jpg", jpeg(scene(1, (640, 360))))
    again = await doubles.imports.scan(folder)

    assert again.imported == 2


async def test_the_next_picture_of_a_burst_comes_in(doubles: Doubles, folder: Path) -> None:
    put(folder, "1.jpg", jpeg(scene(1), taken="2024:05:17 12:00:00"))
    await doubles.imports.scan(folder)
    await delete(doubles, "1.jpg")

    put(folder, "2.jpg", jpeg(scene(1), 90, taken="2024:05:17 12:00:01"))
    put(folder, "copy.jpg", jpeg(scene(1), 80, taken="2024:05:17 12:00:00"))
    again = await doubles.imports.scan(folder)

    assert again.imported == 1
    assert (await entries(doubles))["copy.jpg"][1] == "tombstoned"


async def test_a68_flat_pictures_keep_nobody_out(doubles: Doubles, folder: Path) -> None:
    put(folder, "red.jpg", jpeg(Image.new("RGB", (640, 480), "red")))
    await doubles.imports.scan(folder)
    await delete(doubles, "red.jpg")

    put(folder, "white.png", png(Image.new("RGB", (640, 480), "white")))
    again = await doubles.imports.scan(folder)

    assert again.imported == 1


async def test_what_comes_back_from_the_trash_keeps_no_copy_out(doubles: Doubles, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder)
    ids = await doubles.ids("a.jpg")
    await doubles.lib.act("trash", ids)
    await doubles.lib.act("restore", ids)

    put(folder, "b.jpg", jpeg(scene(1), 80))
    again = await doubles.imports.scan(folder)

    assert again.imported == 1


async def test_a_deleted_picture_that_is_a_page_of_a_volume_too_comes_in_no_other_way(
    doubles: Doubles, folder: Path
) -> None:
    content = jpeg(scene(1))
    put(folder, "a.jpg", content)
    await doubles.imports.scan(folder)
    await delete(doubles, "a.jpg")
    put(folder, "book.cbz", zipped({"1.jpg": content, "2.jpg": jpeg(scene(2))}))
    await doubles.imports.scan(folder)
    await unpack(doubles.imports)
    assert await doubles.lib.value("SELECT count(*) FROM asset WHERE state = 'inside'") == 1

    put(folder, "again.jpg", content)
    again = await doubles.imports.scan(folder)

    assert (again.duplicate, again.skipped) == (0, 2)
    assert (await entries(doubles))["again.jpg"][:2] == ("skipped", "tombstoned")
    assert await doubles.lib.value("SELECT count(*) FROM asset WHERE state = 'inside'") == 1


async def test_a_deletion_is_known_by_the_name_of_its_file_and_by_no_words(
    doubles: Doubles, folder: Path
) -> None:
    put(folder, "Übung.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder)
    ids = await doubles.ids("Übung.jpg")
    await doubles.lib.act("title", ids, title="A secret")
    put(folder, "copy.jpg", jpeg(scene(1), 80))
    await doubles.lib.act("trash", ids)
    await doubles.imports.scan(folder)
    assert str((await entries(doubles))["copy.jpg"][2]).startswith("It looks like Übung.jpg, put into the")

    await doubles.lib.act("purge", ids)

    assert await doubles.lib.value("SELECT name FROM tombstone") == "Übung.jpg"


async def test_a_deleted_film_is_found_among_many_of_its_length(doubles: Doubles, folder: Path) -> None:
    await doubles.lib.execute(
        "INSERT INTO tombstone (sha256, size, kind, width, height, duration_ms, name)"
        " SELECT sha256(n::text::bytea), n, 'video', 320, 240, 9900 + 200 * (n % 2), n::text"
        " FROM generate_series(1, 300) n"
    )
    put(folder, "a.mp4", film(range(10)))
    await doubles.imports.scan(folder)
    await doubles.hash_films()
    await delete(doubles, "a.mp4")

    put(folder, "again.mp4", film(range(10), (160, 120), crf=32, gop=250))
    again = await doubles.imports.scan(folder)

    assert again.imported == 0
    assert (await entries(doubles))["again.mp4"][:2] == ("skipped", "tombstoned")


@pytest.mark.parametrize("for_good", [True, False])
async def test_a_copy_of_a_deleted_film_is_kept_out_and_another_one_comes_in(
    doubles: Doubles, folder: Path, for_good: bool
) -> None:
    put(folder, "a.mp4", film(range(10)))
    await doubles.imports.scan(folder)
    await doubles.hash_films()
    ids = await doubles.ids("a.mp4")
    await doubles.lib.act("trash", ids)
    if for_good:
        await doubles.lib.act("purge", ids)

    put(folder, "again.mp4", film(range(10), (160, 120), crf=32, gop=250))
    put(folder, "other.mp4", film(range(20, 30)))
    put(folder, "longer.mp4", film(range(14)))
    again = await doubles.imports.scan(folder)

    assert again.imported == 2
    assert (await entries(doubles))["again.mp4"][:2] == ("skipped", "tombstoned")
