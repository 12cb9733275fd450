"""What files and their sidecars say comes upon assets, and never stands above a person's word."""

# ruff: noqa: DTZ001 -- taken dates are wall time, without a zone by design.

from __future__ import annotations

import json
import os
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from appliance.core.db import UnitOfWork
from appliance.ingest import describing, following
from appliance.ingest.models import Mode
from appliance.operations import services as operations
from appliance.operations.services import Kind
from appliance.tagging import services as tagging
from tests.ingest.conftest import Ingest, tree
from tests.media import make, packets
from tests.media_files import jpeg, put


class Library:
    """A folder that is scanned again and again, and what its assets carry."""

    def __init__(self, ingest: Ingest, folder: Path) -> None:
        self.ingest = ingest
        self.folder = folder

    def put(self, name: str, content: bytes) -> Path:
        return put(self.folder, name, content)

    async def scan(self) -> Any:
        return await self.ingest.scan(self.folder)

    async def asset(self, name: str) -> dict[str, Any]:
        rows = await self.ingest.rows(
            "SELECT a.* FROM asset a JOIN root_entry e ON e.asset_id = a.id WHERE e.path = $1", name.encode()
        )
        return rows[0]

    async def tags(self, name: str, *, by: str = "%") -> set[str]:
        rows = await self.ingest.rows(
            "SELECT t.kind || ':' || t.name AS tag FROM asset_tag x JOIN tag t ON t.id = x.tag_id"
            " JOIN root_entry e ON e.asset_id = x.asset_id WHERE e.path = $1 AND x.by LIKE $2",
            name.encode(),
            by,
        )
        return {str(r["tag"]).removeprefix("general:") for r in rows}

    async def act(self, kind: Kind, name: str, **form: str) -> int:
        """What a person does on the page of the asset."""
        asset = await self.asset(name)
        async with self.ingest.db.unit_of_work() as uow:
            wish = await operations.wish(uow, kind, form)
            return (await operations.act(uow, kind, [asset["id"]], wish, person=None)).id

    async def undo(self, operation_id: int) -> None:
        async with self.ingest.db.unit_of_work() as uow:
            await operations.ask_undo(uow, operation_id, person=None)


@pytest.fixture
def library(ingest: Ingest, folder: Path) -> Library:
    return Library(ingest, folder)


def words(*tags: str, title: str = "At sea", rating: str = "4") -> bytes:
    return packets.xmp(dc_title=[title], dc_subject=list(tags), xmp_Rating=rating)


async def test_words_inside_a_file_come_upon_its_asset(library: Library) -> None:
    library.put("a.jpg", make.saved(make.corner(), "JPEG", xmp=words("lake", "artist:anna")))
    await library.scan()

    asset = await library.asset("a.jpg")
    assert (asset["title"], asset["rating"]) == ("At sea", 4)
    assert await library.tags("a.jpg", by="sidecar") == {"lake", "artist:anna"}


async def test_a49_sidecars_with_both_names_are_read_and_only_they_when_only_they_change(
    library: Library,
) -> None:
    library.put("a.jpg", jpeg(1))
    library.put("b.jpg", jpeg(2))
    library.put("a.jpg.xmp", words("lake"))
    sidecar = library.put("b.xmp", words("lake", "pier"))
    await library.scan()
    assert (await library.tags("a.jpg"), await library.tags("b.jpg")) == ({"lake"}, {"lake", "pier"})

    sidecar.write_bytes(words("pier", "evening", title="Later", rating="2"))
    again = await library.scan()

    assert (again.hashed, again.decoded, again.unchanged) == (0, 0, 2)
    assert await library.tags("b.jpg") == {"pier", "evening"}
    asset = await library.asset("b.jpg")
    assert (asset["title"], asset["rating"]) == ("Later", 2)
    assert (await library.asset("a.jpg"))["title"] == "At sea"


@pytest.mark.parametrize("first", ["a.jpg", "a.jpg.xmp"])
async def test_the_order_in_which_a_file_and_its_sidecar_come_does_not_matter(
    library: Library, first: str
) -> None:
    contents = {"a.jpg": jpeg(1), "a.jpg.xmp": words("lake")}
    library.put(first, contents.pop(first))
    await library.scan()
    for name, content in contents.items():
        library.put(name, content)
    await library.scan()

    assert await library.tags("a.jpg") == {"lake"}
    assert (await library.asset("a.jpg"))["title"] == "At sea"


async def test_a_sidecar_that_is_deleted_takes_its_words_with_it(library: Library) -> None:
    library.put("a.jpg", make.saved(make.corner(), "JPEG", xmp=words("lake", title="Own", rating="1")))
    sidecar = library.put("a.jpg.xmp", words("pier", title="Beside", rating="5"))
    await library.scan()
    asset = await library.asset("a.jpg")
    assert (asset["title"], asset["rating"]) == ("Beside", 5)

    sidecar.unlink()
    await library.scan()

    asset = await library.asset("a.jpg")
    assert (asset["title"], asset["rating"]) == ("Own", 1)
    assert await library.tags("a.jpg") == {"lake"}
    sidecar.write_bytes(words("pier", title="Beside", rating="5"))
    await library.scan()
    assert await library.tags("a.jpg") == {"lake", "pier"}


async def test_a_name_in_full_stands_for_one_without_extension_and_other_kinds_beside_it(
    library: Library,
) -> None:
    library.put("a.jpg", jpeg(1))
    library.put("a.jpg.txt", b"full")
    library.put("a.txt", b"stem")
    library.put("a.json", json.dumps({"tags": ["post"]}).encode())
    library.put("ab.txt", b"other")
    await library.scan()
    assert await library.tags("a.jpg") == {"full", "post"}


async def test_words_of_a_person_stay_whatever_a_sidecar_says_later(library: Library) -> None:
    library.put("a.jpg", jpeg(1))
    sidecar = library.put("a.jpg.xmp", words("lake", "pier"))
    await library.scan()
    await library.act(Kind.TITLE, "a.jpg", title="Mine")
    await library.act(Kind.RATE, "a.jpg", rating="1")
    await library.act(Kind.TAG, "a.jpg", tags="mine; evening")
    await library.act(Kind.UNTAG, "a.jpg", tags="lake")

    sidecar.write_bytes(words("lake", "evening", "new", title="Later", rating="5"))
    await library.scan()
    sidecar.unlink()
    await library.scan()

    asset = await library.asset("a.jpg")
    assert (asset["title"], asset["rating"]) == ("Mine", 1)
    assert await library.tags("a.jpg") == {"mine", "evening"}


async def test_a_tag_that_a_person_took_off_comes_back_only_by_a_person(library: Library) -> None:
    library.put("a.jpg", jpeg(1))
    sidecar = library.put("a.jpg.txt", b"lake\npier")
    await library.scan()
    removal = await library.act(Kind.UNTAG, "a.jpg", tags="lake")
    sidecar.write_bytes(b"lake\npier\nmore")
    await library.scan()
    assert await library.tags("a.jpg") == {"pier", "more"}

    await library.undo(removal)
    assert await library.tags("a.jpg", by="sidecar") == {"lake", "pier", "more"}
    sidecar.write_bytes(b"pier")
    await library.scan()
    assert await library.tags("a.jpg") == {"pier"}


async def test_a_tag_that_was_taken_off_stays_off_when_putting_it_on_again_is_undone(
    library: Library,
) -> None:
    library.put("a.jpg", jpeg(1))
    sidecar = library.put("a.jpg.xmp", words("lake", "pier"))
    await library.scan()
    await library.act(Kind.UNTAG, "a.jpg", tags="lake")
    again = await library.act(Kind.TAG, "a.jpg", tags="lake")
    assert await library.tags("a.jpg") == {"lake", "pier"}

    await library.undo(again)
    sidecar.write_bytes(words("lake", "pier", "dusk"))
    await library.scan()

    assert await library.tags("a.jpg") == {"pier", "dusk"}


async def test_a_tag_that_a_person_puts_on_as_well_stays_when_the_sidecar_goes(library: Library) -> None:
    library.put("a.jpg", jpeg(1))
    library.put("b.jpg", make.saved(make.corner(), "JPEG", xmp=words("lake")))
    sidecar = library.put("a.jpg.xmp", words("lake", "pier"))
    await library.scan()
    await library.act(Kind.TAG, "a.jpg", tags="lake")
    confirmed = await library.act(Kind.TAG, "b.jpg", tags="lake")
    assert await library.tags("a.jpg", by="human") == await library.tags("b.jpg", by="human") == {"lake"}

    sidecar.unlink()
    await library.undo(confirmed)
    await library.scan()

    assert await library.tags("a.jpg") == {"lake"}
    assert await library.tags("b.jpg", by="sidecar") == {"lake"}


async def test_undoing_a_removal_brings_back_no_tag_of_a_sidecar_that_is_gone(library: Library) -> None:
    library.put("a.jpg", jpeg(1))
    sidecar = library.put("a.jpg.xmp", words("lake", "pier"))
    await library.scan()
    removal = await library.act(Kind.UNTAG, "a.jpg", tags="lake")
    sidecar.unlink()
    await library.scan()

    await library.undo(removal)
    assert await library.tags("a.jpg") == set()

    sidecar.write_bytes(words("lake"))
    await library.scan()
    assert await library.tags("a.jpg", by="sidecar") == {"lake"}


async def test_a_sidecar_that_is_deleted_before_it_is_noticed_takes_its_tag_with_it_after_an_undo(
    library: Library,
) -> None:
    library.put("a.jpg", jpeg(1))
    sidecar = library.put("a.jpg.xmp", words("lake"))
    await library.scan()
    removal = await library.act(Kind.UNTAG, "a.jpg", tags="lake")
    sidecar.unlink()

    await library.undo(removal)
    assert await library.tags("a.jpg", by="sidecar") == {"lake"}
    await library.scan()

    assert await library.tags("a.jpg") == set()


async def test_a_title_that_a_person_emptied_stays_empty(library: Library) -> None:
    library.put("a.jpg", jpeg(1))
    sidecar = library.put("a.jpg.xmp", words())
    await library.scan()
    await library.act(Kind.TITLE, "a.jpg", title="")
    sidecar.write_bytes(words(title="Other"))
    await library.scan()
    assert (await library.asset("a.jpg"))["title"] is None


async def test_tags_come_by_the_names_that_they_have_here(library: Library) -> None:
    async with library.ingest.db.unit_of_work() as uow:
        cat = await tagging.make(uow, "cat", "general")
        await tagging.add_alias(uow, cat, "kitty")
        await tagging.make(uow, "anna", "artist")
    library.put("a.jpg", jpeg(1))
    library.put("a.txt", b"Kitty, CAT, anna, character:anna, New_Tag, new tag")
    await library.scan()
    assert await library.tags("a.jpg") == {"cat", "artist:anna", "character:anna", "New_Tag"}


async def test_a_merged_tag_is_taken_off_by_its_new_name(library: Library) -> None:
    library.put("a.jpg", jpeg(1))
    sidecar = library.put("a.txt", b"kitty")
    await library.scan()
    async with library.ingest.db.unit_of_work() as uow:
        cat = await tagging.make(uow, "cat", "general")
        [kitty] = await tagging.resolve(uow.sql, "kitty")
        await tagging.merge(uow, kitty, cat)
    assert await library.tags("a.jpg") == {"cat"}
    sidecar.write_bytes(b"dog")
    await library.scan()
    assert await library.tags("a.jpg") == {"dog"}


async def test_a_rejection_survives_a_merge(library: Library) -> None:
    library.put("a.jpg", jpeg(1))
    sidecar = library.put("a.txt", b"kitty")
    await library.scan()
    await library.act(Kind.UNTAG, "a.jpg", tags="kitty")
    async with library.ingest.db.unit_of_work() as uow:
        cat = await tagging.make(uow, "cat", "general")
        [kitty] = await tagging.resolve(uow.sql, "kitty")
        await tagging.merge(uow, kitty, cat)
    sidecar.write_bytes(b"cat, dog")
    await library.scan()
    assert await library.tags("a.jpg") == {"dog"}


async def test_a_sidecar_dates_what_only_its_name_dated_and_takes_the_date_back(library: Library) -> None:
    library.put("IMG_20200102_030405.jpg", jpeg(1))
    sidecar = library.put(
        "IMG_20200102_030405.jpg.json", json.dumps({"date": "2019-05-06 07:08:09"}).encode()
    )
    await library.scan()
    asset = await library.asset("IMG_20200102_030405.jpg")
    assert (asset["date_source"], asset["effective_at"]) == ("sidecar", datetime(2019, 5, 6, 7, 8, 9))
    assert (asset["taken_at"], asset["taken_offset"]) == (datetime(2019, 5, 6, 7, 8, 9), 0)

    sidecar.unlink()
    await library.scan()
    asset = await library.asset("IMG_20200102_030405.jpg")
    assert (asset["date_source"], asset["effective_at"]) == ("name", datetime(2020, 1, 2, 3, 4, 5))
    assert asset["taken_offset"] is None


async def test_the_date_of_a_camera_stands_above_that_of_a_sidecar(library: Library) -> None:
    library.put("a.jpg", jpeg(1, taken="2001:02:03 04:05:06"))
    library.put("a.jpg.json", json.dumps({"date": "2019-05-06 07:08:09"}).encode())
    await library.scan()
    assert (await library.asset("a.jpg"))["date_source"] == "exif"


async def test_a_date_that_a_person_set_stays_and_the_other_waits_beside_it(library: Library) -> None:
    library.put("a.jpg", jpeg(1))
    sidecar = library.put("a.jpg.json", json.dumps({"date": "2019-05-06 07:08:09"}).encode())
    await library.scan()
    await library.act(Kind.DATE, "a.jpg", to="2022-02-02T02:02")
    sidecar.write_bytes(json.dumps({"date": "2018-01-01 00:00:00"}).encode())
    await library.scan()
    asset = await library.asset("a.jpg")
    assert (asset["date_source"], asset["effective_at"]) == ("human", datetime(2022, 2, 2, 2, 2))

    await library.act(Kind.OWN_DATE, "a.jpg")
    asset = await library.asset("a.jpg")
    assert (asset["date_source"], asset["effective_at"]) == ("sidecar", datetime(2018, 1, 1))


async def test_one_sidecar_speaks_of_all_that_share_its_name(library: Library) -> None:
    library.put("a.jpg", jpeg(1))
    library.put("a.png", make.saved(make.corner(), "PNG"))
    library.put("a.b/c.jpg", jpeg(2))
    library.put("a.txt", b"lake")
    await library.scan()
    assert await library.tags("a.jpg") == await library.tags("a.png") == {"lake"}
    assert await library.tags("a.b/c.jpg") == set()


async def test_words_of_all_places_of_the_same_bytes_come_together(library: Library) -> None:
    library.put("a/1.jpg", jpeg(1))
    library.put("a/1.jpg.txt", b"lake")
    library.put("b/2.jpg", jpeg(1))
    library.put("b/2.jpg.txt", b"pier")
    await library.scan()
    assert await library.tags("a/1.jpg") == {"lake", "pier"}


async def test_a_file_that_moves_away_from_its_sidecar_and_one_that_comes_beside_it(library: Library) -> None:
    library.put("a.jpg", jpeg(1))
    library.put("b.jpg", jpeg(2))
    library.put("a.txt", b"lake")
    library.put("b.txt", b"pier")
    await library.scan()
    os.rename(library.folder / "a.jpg", library.folder / "c.jpg")
    os.rename(library.folder / "b.jpg", library.folder / "a.jpg")
    os.rename(library.folder / "c.jpg", library.folder / "b.jpg")
    await library.scan()
    assert (await library.tags("a.jpg"), await library.tags("b.jpg")) == ({"lake"}, {"pier"})


async def test_a_folder_that_is_renamed_with_its_sidecars_keeps_its_words(library: Library) -> None:
    library.put("one/a.jpg", jpeg(1))
    library.put("one/a.jpg.xmp", words("lake"))
    await library.scan()
    before = (await library.asset("one/a.jpg"))["id"]
    os.rename(library.folder / "one", library.folder / "two")
    await library.scan()
    asset = await library.asset("two/a.jpg")
    assert (asset["id"], asset["title"]) == (before, "At sea")
    assert await library.tags("two/a.jpg") == {"lake"}


@pytest.mark.parametrize("mode", [Mode.COPY, Mode.MOVE])
async def test_stored_modes_read_sidecars_and_leave_them_where_they_are(library: Library, mode: Mode) -> None:
    library.put("a.jpg", jpeg(1))
    library.put("a.jpg.xmp", words("lake"))
    await library.ingest.scan(library.folder, mode)
    assert await library.tags("a.jpg") == {"lake"}
    assert (library.folder / "a.jpg.xmp").exists()


async def test_a50_what_people_say_about_a_read_only_library_stays_and_nothing_is_written(
    library: Library,
) -> None:
    picture = library.put("a.jpg", jpeg(1))
    sidecar = library.put("a.jpg.xmp", words("lake"))
    await library.scan()
    for path in (picture, sidecar, library.folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    await library.act(Kind.TAG, "a.jpg", tags="mine")
    await library.act(Kind.UNTAG, "a.jpg", tags="lake")
    await library.act(Kind.TITLE, "a.jpg", title="Mine")
    os.utime(picture, (1_600_000_000, 1_600_000_000))
    os.utime(sidecar, (1_600_000_000, 1_600_000_000))
    before = tree(library.folder)

    again = await library.scan()

    assert again.unchanged == 1
    assert await library.tags("a.jpg") == {"mine"}
    assert (await library.asset("a.jpg"))["title"] == "Mine"
    assert tree(library.folder) == before
    library.folder.chmod(0o755)


async def test_texts_that_are_about_nothing_are_passed_over(library: Library) -> None:
    library.put("README.txt", b"Hello\nworld")
    library.put("package.json", b'{"name": "x", "tags": 3}')
    library.put("page.nfo", b"x")
    batch = await library.scan()
    assert (batch.skipped, batch.failed) == (3, 0)
    assert await library.ingest.rows("SELECT 1 AS n FROM tag") == []


async def test_a17_a_page_saved_as_a_picture_is_refused_in_words(library: Library) -> None:
    library.put("a.jpg", b"<!DOCTYPE html><html><head><title>Sign in</title></head></html>")
    library.put("a.jpg.txt", b"lake")
    batch = await library.scan()
    assert (batch.imported, batch.failed) == (0, 1)
    rows = await library.ingest.rows("SELECT reason, detail FROM root_entry WHERE path = 'a.jpg'")
    assert rows[0]["reason"] == "not_media"
    assert rows[0]["detail"]


async def test_hostile_words_never_cost_the_file(library: Library) -> None:
    names = [
        "\u202e" + "gpj",
        "x" * 5000,
        " ",
        "\ufeff",
        "🦊",
        "a:b:c",
        "'; DROP TABLE asset; --",
        *map(str, range(600)),
    ]
    library.put(
        "a.jpg", make.saved(make.corner(), "JPEG", xmp=packets.xmp(dc_subject=names, dc_title=["t" * 9000]))
    )
    library.put("a.jpg.json", json.dumps({"tags": [*names, "\x00", "\ud800"], "title": "\x00"}).encode())
    batch = await library.scan()
    assert (batch.imported, batch.failed) == (1, 0)
    assert "🦊" in await library.tags("a.jpg")
    assert len((await library.asset("a.jpg"))["title"]) == 200


MANY = 20_000
_FILL = """
WITH root AS (SELECT id FROM root LIMIT 1), asset AS (SELECT id FROM asset LIMIT 1), made AS (
    INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, outcome, reason, asset_id, seen_batch)
    SELECT root.id, convert_to(format('d%s/%s.%s', n % 50, n, e), 'UTF8'), 1, 1, n,
           CASE e WHEN 'jpg' THEN 'imported' ELSE 'skipped' END, CASE e WHEN 'txt' THEN 'sidecar' END,
           CASE e WHEN 'jpg' THEN asset.id END, 1
    FROM root, asset, generate_series(1, $1) n, unnest(ARRAY['jpg', 'txt']) e
    RETURNING id, root_id, path
)
INSERT INTO sidecar (entry_id, root_id, about, kind, sha256, said)
SELECT id, root_id, substr(path, 1, length(path) - 4), 'txt', '', '{}' FROM made
WHERE substr(path, length(path) - 2) = 'txt'
"""


async def test_files_and_sidecars_find_each_other_by_few_pages_among_many(library: Library) -> None:
    library.put("a.jpg", jpeg(1))
    library.put("a.txt", b"lake")
    await library.scan()
    root_id = (await library.ingest.rows("SELECT id FROM root"))[0]["id"]
    async with library.ingest.db.unit_of_work() as uow:
        await uow.sql.execute(_FILL, MANY)
    async with library.ingest.db.unit_of_work() as uow:
        await uow.sql.execute("ANALYZE root_entry")
        await uow.sql.execute("ANALYZE sidecar")
        found = [
            await _explained(uow, describing.ABOUT, root_id, b"d7/7007"),
            await _explained(uow, describing.IS_DESCRIBED, root_id, [b"d7/7007.jpg", b"d7/7007"]),
            await _explained(uow, following.BESIDE, [root_id], [b"d7/7007"], [0], [False]),
        ]
    for plan in found:
        assert "Seq Scan on root_entry" not in plan
        assert "Seq Scan on sidecar" not in plan
        assert int(re.findall(r"shared hit=(\d+)", plan)[0]) < 60


async def _explained(uow: UnitOfWork, statement: str, *args: Any) -> str:
    # Once without counting: the first of a statement also looks its tables up.
    await uow.sql.fetch(statement, *args)
    rows = await uow.sql.fetch(f"EXPLAIN (ANALYZE, BUFFERS) {statement}", *args)
    return "\n".join(r[0] for r in rows)
