"""A picture that is saved again in its place stays the asset that it was, with all that people said."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from appliance.core.drains import Interrupted
from appliance.ingest import claims, finishing, walk
from appliance.ingest.importing import Import
from appliance.ingest.models import Mode
from appliance.library import sweeping
from appliance.media.wire import Read
from appliance.operations import purging
from appliance.operations.services import Kind
from tests.ingest.conftest import Ingest
from tests.ingest.test_sidecars import Library, words
from tests.media import make
from tests.media_files import picture


@pytest.fixture
def library(ingest: Ingest, folder: Path) -> Library:
    return Library(ingest, folder)


def scene(seed: int = 1) -> Image.Image:
    return picture(seed, size=(480, 360))


def saved(image: Image.Image, **options: Any) -> bytes:
    return make.saved(image, "JPEG", quality=90, **options)


HISTORY = "SELECT id, kind, status FROM operation ORDER BY id"


def taken(when: str) -> Image.Exif:
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0x9003] = when
    return exif


async def everything(ingest: Ingest) -> list[dict[str, Any]]:
    return await ingest.rows("SELECT * FROM asset ORDER BY id")


async def looked_into(library: Library) -> tuple[Import, Read, Any]:
    """The import of the one new file, read and decoded, and nothing of it written yet."""
    ingest = library.ingest
    await ingest.walk(await ingest.claim_walk(await ingest.queue(library.folder, Mode.IN_PLACE)))
    async with ingest.db.unit_of_work() as uow:
        (claimed,) = await claims.claim(uow.sql, 1, 16)
    work = Import(ingest.settings, ingest.db, claimed)
    async with ingest.pool.child() as child:
        return work, *await work._look_into(child)


def in_place(work: Import, read: Read) -> finishing.Stored:
    return finishing.Stored(work.waiting.root_id, work.waiting.path, read.size, read.mtime_ns)


async def test_keywords_written_into_a_picture_leave_it_what_it_was(library: Library) -> None:
    library.put("a.jpg", saved(scene(), xmp=words("lake", "old", title="Old", rating="2")))
    await library.scan()
    before = await library.asset("a.jpg")
    await library.act(Kind.TAG, "a.jpg", tags="mine")
    await library.act(Kind.RATE, "a.jpg", rating="5")
    await library.act(Kind.NOTE, "a.jpg", note="The house of my aunt")
    for mark in (Kind.FAVOURITE, Kind.PRIVATE):
        await library.act(mark, "a.jpg")
    history = await library.ingest.rows(HISTORY)

    library.put("a.jpg", saved(scene(), xmp=words("lake", "new", title="New", rating="1")))
    again = await library.scan()

    assert (again.imported, again.missing) == (1, 0)
    (after,) = await everything(library.ingest)
    assert after["id"] == before["id"]
    assert after["sha256"] != before["sha256"]
    assert (after["rating"], after["title"], after["note"]) == (5, "New", "The house of my aunt")
    assert (after["favourite"], after["private"]) == (True, True)
    assert (after["missing_since"], after["added_at"]) == (None, before["added_at"])
    assert await library.tags("a.jpg") == {"mine", "lake", "new"}
    assert history == await library.ingest.rows(HISTORY) != []


async def test_its_renditions_hashes_and_file_are_those_of_the_new_content(library: Library) -> None:
    library.put("a.jpg", saved(scene()))
    await library.scan()
    await library.ingest.rows(
        "INSERT INTO rendition (asset_id, name, status) SELECT id, 'full', 'complete' FROM asset RETURNING id"
    )

    library.put("a.jpg", saved(scene().resize((960, 720))))
    await library.scan()

    (asset,) = await everything(library.ingest)
    assert (asset["width"], asset["height"]) == (960, 720)
    drawn = await library.ingest.rows("SELECT name, status, version FROM rendition ORDER BY name")
    assert [tuple(r.values()) for r in drawn] == [
        ("grid-240", "complete", 2),
        ("grid-480", "complete", 2),
        ("preview", "pending", 2),
    ]
    assert library.ingest.settings.home.rendition(asset["sha256"], "grid-480").exists()
    (file,) = await library.ingest.rows("SELECT size FROM asset_file")
    assert file["size"] == asset["size"] == (library.folder / "a.jpg").stat().st_size
    hashes = await library.ingest.rows(
        "SELECT f.status, p.searched FROM fingerprint f JOIN phash p USING (asset_id)"
    )
    assert [tuple(r.values()) for r in hashes] == [("complete", False)]
    rescan = await library.scan()
    assert (rescan.unchanged, rescan.hashed) == (1, 0)


async def test_a_crop_that_looks_alike_is_the_same_picture(library: Library) -> None:
    library.put("a.jpg", saved(scene()))
    await library.scan()
    before = await library.asset("a.jpg")
    library.put("a.jpg", saved(scene().crop((4, 3, 476, 357))))
    await library.scan()
    assert [a["id"] for a in await everything(library.ingest)] == [before["id"]]


async def test_another_picture_under_the_same_name_is_another_asset(library: Library) -> None:
    library.put("a.jpg", saved(scene(1)))
    await library.scan()
    library.put("a.jpg", saved(scene(2)))
    await library.scan()
    old, new = await everything(library.ingest)
    assert old["missing_since"] is not None
    assert (await library.asset("a.jpg"))["id"] == new["id"]


async def test_a_shape_that_changed_much_is_another_asset(library: Library) -> None:
    library.put("a.jpg", saved(scene()))
    await library.scan()
    library.put("a.jpg", saved(scene().resize((480, 240))))
    await library.scan()
    assert len(await everything(library.ingest)) == 2


async def test_plain_pictures_are_told_by_their_size(library: Library) -> None:
    for name, grey in (("a.jpg", 40), ("b.jpg", 90)):
        library.put(name, saved(Image.new("RGB", (64, 48), (grey, grey, grey))))
    await library.scan()
    first = {n: (await library.asset(n))["id"] for n in ("a.jpg", "b.jpg")}
    library.put("a.jpg", saved(Image.new("RGB", (64, 48), 7), xmp=words("lake")))
    library.put("b.jpg", saved(Image.new("RGB", (60, 45), 7), xmp=words("pier")))
    await library.scan()
    assert (await library.asset("a.jpg"))["id"] == first["a.jpg"]
    assert (await library.asset("b.jpg"))["id"] != first["b.jpg"]


async def test_a_copy_elsewhere_keeps_the_asset(library: Library) -> None:
    for name in ("a.jpg", "copy.jpg"):
        library.put(name, saved(scene()))
    await library.scan()
    before = await library.asset("a.jpg")
    library.put("a.jpg", saved(scene(), xmp=words("lake")))
    await library.scan()
    assert (await library.asset("copy.jpg"))["id"] == before["id"]
    assert (await library.asset("a.jpg"))["id"] != before["id"]
    assert all(a["missing_since"] is None for a in await everything(library.ingest))


async def test_bytes_that_are_known_are_a_duplicate(library: Library) -> None:
    library.put("a.jpg", saved(scene()))
    library.put("b.jpg", saved(scene(), xmp=words("lake")))
    await library.scan()
    ids = [a["id"] for a in await everything(library.ingest)]
    library.put("a.jpg", (library.folder / "b.jpg").read_bytes())
    again = await library.scan()
    assert again.duplicate == 1
    assert [a["id"] for a in await everything(library.ingest)] == ids
    assert (await library.asset("a.jpg"))["id"] == (await library.asset("b.jpg"))["id"]


async def test_a_date_that_a_person_set_stays_and_the_new_one_waits_beside_it(library: Library) -> None:
    library.put("a.jpg", saved(scene(), exif=taken("2020:01:02 03:04:05")))
    await library.scan()
    await library.ingest.rows(
        "UPDATE asset SET date_source = 'human', effective_at = '1999-01-01', taken_at = '1999-01-01'"
        " RETURNING id"
    )
    library.put("a.jpg", saved(scene(), exif=taken("2021:06:07 08:09:10")))
    await library.scan()
    (asset,) = await everything(library.ingest)
    assert (asset["date_source"], asset["effective_at"].year) == ("human", 1999)
    assert "2021-06-07T08:09:10" in str(asset["own_date"])


async def test_the_date_follows_what_the_file_says_and_not_when_it_was_saved(library: Library) -> None:
    path = library.put("a.jpg", saved(scene()))
    os.utime(path, (1_400_000_000, 1_400_000_000))
    await library.scan()
    library.put("a.jpg", saved(scene(), xmp=words("lake")))
    await library.scan()
    (asset,) = await everything(library.ingest)
    assert (asset["date_source"], asset["effective_at"].year) == ("mtime", 2014)

    library.put("a.jpg", saved(scene(), exif=taken("2011:06:07 08:09:10")))
    await library.scan()
    (asset,) = await everything(library.ingest)
    assert (asset["date_source"], asset["effective_at"].year) == ("exif", 2011)


async def test_what_a_person_turned_stays_turned_and_is_drawn_anew(library: Library) -> None:
    library.put("a.jpg", saved(scene()))
    await library.scan()
    await library.ingest.rows("UPDATE asset SET turn = 90, width = 360, height = 480 RETURNING id")
    library.put("a.jpg", saved(scene(), xmp=words("lake")))
    await library.scan()
    (asset,) = await everything(library.ingest)
    assert (asset["turn"], asset["width"], asset["height"]) == (90, 360, 480)
    drawn = await library.ingest.rows("SELECT DISTINCT status FROM rendition")
    assert [r["status"] for r in drawn] == ["pending"]


async def test_a_hand_that_lost_its_task_changes_nothing(library: Library, ingest: Ingest) -> None:
    library.put("a.jpg", saved(scene(), xmp=words("lake")))
    await library.scan()
    before = await everything(ingest)
    library.put("a.jpg", saved(scene(), xmp=words("pier")))
    work, read, decoded = await looked_into(library)
    await ingest.rows("UPDATE import_task SET claim = gen_random_uuid() RETURNING id")

    with pytest.raises(finishing.TakenOver):
        await work._saved_again(read, decoded)  # type: ignore[arg-type]

    assert await everything(ingest) == before
    assert await library.tags("a.jpg") == {"lake"}


async def test_what_is_trashed_while_it_is_read_stays_in_the_trash(library: Library, ingest: Ingest) -> None:
    library.put("a.jpg", saved(scene()))
    await library.scan()
    library.put("a.jpg", saved(scene(), xmp=words("pier")))
    work, read, decoded = await looked_into(library)
    await library.act(Kind.TRASH, "a.jpg")

    assert await work._saved_again(read, decoded)  # type: ignore[arg-type]

    (after,) = await everything(ingest)
    assert (after["state"], after["sha256"]) == ("trashed", read.sha256)


async def test_what_is_deleted_for_good_while_it_is_read_is_not_brought_back(
    library: Library, ingest: Ingest
) -> None:
    library.put("a.jpg", saved(scene()))
    await library.scan()
    library.put("a.jpg", saved(scene(), xmp=words("pier")))
    work, read, decoded = await looked_into(library)
    await library.act(Kind.TRASH, "a.jpg")
    await delete_for_good(ingest)

    with pytest.raises(Interrupted):
        await work._finish(read, decoded, in_place(work, read))

    assert await everything(ingest) == []


async def test_pictures_of_the_old_content_are_left_to_the_sweep(library: Library, ingest: Ingest) -> None:
    library.put("a.jpg", saved(scene()))
    await library.scan()
    renditions = ingest.settings.home.renditions
    old = [os.fsencode(p.relative_to(renditions)) for p in renditions.rglob("*") if p.is_file()]
    library.put("a.jpg", saved(scene(), xmp=words("lake")))
    await library.scan()
    every = [os.fsencode(p.relative_to(renditions)) for p in renditions.rglob("*") if p.is_file()]
    async with ingest.db.unit_of_work() as uow:
        unnamed = await sweeping.unnamed_renditions(uow.sql, every)
    assert sorted(unnamed) == sorted(old)
    assert len(every) == 2 * len(old) > 0


async def test_a_copy_of_the_old_content_waits_for_the_truth(library: Library, ingest: Ingest) -> None:
    library.put("a.jpg", saved(scene()))
    await library.scan()
    old = (library.folder / "a.jpg").read_bytes()
    library.put("b.jpg", old)
    work, read, known = await looked_into(library)
    await ingest.rows("UPDATE asset SET sha256 = sha256('other'::bytea) RETURNING id")

    assert isinstance(known, finishing.Known)
    with pytest.raises(Interrupted):
        await work._known(read, known, in_place(work, read))

    assert len(await ingest.rows("SELECT FROM asset_file")) == 1


async def test_a_save_that_was_cut_off_takes_nothing_from_the_next_one(library: Library) -> None:
    library.put("a.jpg", saved(scene(), xmp=words("lake")))
    await library.scan()
    before = await library.asset("a.jpg")
    await library.act(Kind.TAG, "a.jpg", tags="mine")
    library.put("a.jpg", saved(scene(), xmp=words("lake"))[:3000])
    cut = await library.scan()
    (asset,) = await everything(library.ingest)
    assert (cut.failed, asset["missing_since"] is None) == (1, False)

    library.put("a.jpg", saved(scene(), xmp=words("pier")))
    await library.scan()

    (after,) = await everything(library.ingest)
    assert (after["id"], after["missing_since"]) == (before["id"], None)
    assert await library.tags("a.jpg") == {"mine", "pier"}


async def test_a_broken_save_that_is_taken_away_takes_nothing_from_the_next_one(library: Library) -> None:
    library.put("a.jpg", saved(scene()))
    await library.scan()
    before = await library.asset("a.jpg")
    library.put("a.jpg", saved(scene(), xmp=words("lake"))[:3000])
    await library.scan()
    (library.folder / "a.jpg").rename(library.folder / "broken.jpg")
    gone = await library.scan()
    (library.folder / "broken.jpg").rename(library.folder / "still broken.jpg")
    await library.scan()
    entries = await library.ingest.rows("SELECT path, outcome, asset_id FROM root_entry ORDER BY path")
    assert (gone.failed, [tuple(e.values()) for e in entries]) == (
        1,
        [(b"a.jpg", "missing", before["id"]), (b"still broken.jpg", "failed", None)],
    )

    (library.folder / "still broken.jpg").rename(library.folder / "a.jpg")
    assert (await library.scan()).failed == 1
    library.put("a.jpg", saved(scene(), xmp=words("pier")))
    await library.scan()

    (after,) = await everything(library.ingest)
    assert (after["id"], after["missing_since"]) == (before["id"], None)


async def two_alike(library: Library) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two files that look alike: one that a person keeps, and a copy of it."""
    library.put("a.jpg", saved(scene()))
    library.put("b.jpg", make.saved(scene(), "JPEG", quality=80))
    await library.scan()
    await library.act(Kind.TAG, "a.jpg", tags="mine")
    return await library.asset("a.jpg"), await library.asset("b.jpg")


@pytest.mark.parametrize("deleted", [False, True])
async def test_what_was_kept_of_two_that_look_alike_is_no_copy_of_the_other(
    library: Library, ingest: Ingest, deleted: bool
) -> None:
    kept, _ = await two_alike(library)
    await library.act(Kind.TRASH, "b.jpg")
    if deleted:
        await delete_for_good(ingest)
    library.put("a.jpg", saved(scene(), xmp=words("lake")))

    again = await library.scan()

    assert (again.imported, again.missing) == (1, 0)
    after = await library.asset("a.jpg")
    assert (after["id"], after["missing_since"]) == (kept["id"], None)
    assert await library.tags("a.jpg") == {"mine", "lake"}


async def delete_for_good(ingest: Ingest) -> None:
    """What lies in the trash goes."""
    async with ingest.db.unit_of_work() as uow:
        ids = [r["id"] for r in await uow.sql.fetch("SELECT id FROM asset WHERE state = 'trashed'")]
        later = datetime.now(UTC) + timedelta(days=1)
        await purging.delete(uow.sql, ingest.settings.home, ids, before=later, person=None)


async def test_what_is_in_the_trash_is_saved_there_and_returns_with_its_file(library: Library) -> None:
    library.put("a.jpg", saved(scene()))
    await library.scan()
    (before,) = await everything(library.ingest)
    trashing = await library.act(Kind.TRASH, "a.jpg")
    library.put("a.jpg", saved(scene(), xmp=words("lake")))
    await library.scan()
    (trashed,) = await everything(library.ingest)
    assert (trashed["id"], trashed["state"], trashed["missing_since"]) == (before["id"], "trashed", None)
    assert trashed["sha256"] != before["sha256"]

    await library.undo(trashing)

    (after,) = await everything(library.ingest)
    assert (after["state"], after["missing_since"]) == (before["state"], None)
    files = await library.ingest.rows("SELECT path, size FROM asset_file")
    assert files == [{"path": b"a.jpg", "size": after["size"]}]


async def test_a_copy_of_what_was_deleted_stays_out_where_another_picture_lay(library: Library) -> None:
    library.put("a.jpg", saved(scene(2)))
    library.put("b.jpg", saved(scene(1)))
    await library.scan()
    await library.act(Kind.TRASH, "b.jpg")
    library.put("a.jpg", saved(scene(1), xmp=words("lake")))
    again = await library.scan()
    assert (again.skipped, again.imported) == (1, 0)


def moving(seed: int = 1, **options: Any) -> bytes:
    frames = [picture(seed + n, size=(240, 180)) for n in range(3)]
    return make.saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], duration=100, **options)


async def test_an_animation_that_is_saved_again_stays_what_it_was(library: Library) -> None:
    library.put("a.webp", moving())
    await library.scan()
    before = await library.asset("a.webp")
    await library.act(Kind.TAG, "a.webp", tags="mine")
    library.put("a.webp", moving(xmp=words("lake")))
    await library.scan()
    (after,) = await everything(library.ingest)
    assert (before["kind"], after["kind"], after["id"]) == ("animation", "animation", before["id"])
    assert after["sha256"] != before["sha256"]
    assert await library.tags("a.webp") == {"mine", "lake"}


async def test_an_animation_is_no_still_that_looks_like_it(library: Library) -> None:
    library.put("a.webp", moving())
    await library.scan()
    library.put("a.webp", make.saved(picture(1, size=(240, 180)), "WEBP"))
    await library.scan()
    assert [a["kind"] for a in await everything(library.ingest)] == ["animation", "still"]


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_program_that_keeps_the_file_before_leaves_the_words_with_the_name(
    library: Library, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    """As exiftool saves: the file gets another name, and a new one is written in its place."""
    if not at_once:
        monkeypatch.setattr(walk, "CHUNK", 1)
    library.put("a.jpg", saved(scene()))
    await library.scan()
    before = await library.asset("a.jpg")
    await library.act(Kind.TAG, "a.jpg", tags="mine")
    (library.folder / "a.jpg").rename(library.folder / "a.jpg_original")
    library.put("a.jpg", saved(scene(), xmp=words("lake")))

    again = await library.scan()

    assert (again.files, again.imported, again.moved, again.duplicate, again.missing) == (2, 2, 0, 0, 0)
    after, backup = await library.asset("a.jpg"), await library.asset("a.jpg_original")
    assert after["id"] == before["id"] != backup["id"]
    assert (backup["sha256"], after["missing_since"]) == (before["sha256"], None)
    assert await library.tags("a.jpg") == {"mine", "lake"}
    assert await library.tags("a.jpg_original") == set()
    known = await library.ingest.rows("SELECT asset_id, path FROM provenance ORDER BY asset_id")
    assert [tuple(r.values()) for r in known] == [(before["id"], b"a.jpg"), (backup["id"], b"a.jpg_original")]
    rescan = await library.scan()
    assert (rescan.unchanged, rescan.hashed) == (2, 0)


async def test_a_page_of_a_volume_keeps_its_content(library: Library, ingest: Ingest) -> None:
    library.put("a.jpg", saved(scene()))
    library.put("b.jpg", saved(scene(5)))
    await library.scan()
    before, volume = await library.asset("a.jpg"), await library.asset("b.jpg")
    await ingest.rows(
        "INSERT INTO volume_page (volume_id, position, name, hops, mime, asset_id)"
        " VALUES ($1, 1, 'p', '[]', 'image/jpeg', $2) RETURNING 1",
        volume["id"],
        before["id"],
    )
    library.put("a.jpg", saved(scene(), xmp=words("lake")))
    await library.scan()
    (kept,) = await ingest.rows("SELECT sha256, missing_since FROM asset WHERE id = $1", before["id"])
    assert (kept["sha256"], kept["missing_since"]) == (before["sha256"], None)
    assert (await library.asset("a.jpg"))["id"] != before["id"]
