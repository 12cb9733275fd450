"""The page of deletions: what was kept out and why, and the two ways to let it in."""

from __future__ import annotations

import os
import re
from pathlib import Path

import httpx
import pytest

from appliance.ingest import letting_in, sweeps
from appliance.ingest.models import Mode
from tests.duplicates.conftest import Doubles, jpeg, scene
from tests.ingest.test_uploads import send
from tests.media_files import put
from tests.web.conftest import PARTIAL


async def delete(doubles: Doubles, *names: str, person: int | None = None) -> None:
    ids = await doubles.ids(*names)
    await doubles.lib.act("trash", ids, person=person)
    await doubles.lib.act("purge", ids, person=person)


def kept(page: httpx.Response) -> dict[str, int]:
    """The files on the page, by name."""
    found = re.findall(r'id="kept-(\d+)"><div><code class="path">([^<]+)</code>', page.text)
    return {name: int(entry) for entry, name in found}


async def names(doubles: Doubles) -> list[str]:
    rows = await doubles.lib.rows(
        "SELECT p.path FROM asset a JOIN provenance p ON p.asset_id = a.id ORDER BY 1"
    )
    return [bytes(row["path"]).decode() for row in rows]


async def test_a71_a_file_that_was_kept_out_comes_in_by_one_click_and_stays(
    client: httpx.AsyncClient, doubles: Doubles, folder: Path
) -> None:
    put(folder, "worse.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder)
    await delete(doubles, "worse.jpg")
    put(folder, "again.jpg", jpeg(scene(1), 90))
    put(folder, "other.jpg", jpeg(scene(1), 70))
    await doubles.imports.scan(folder)
    page = await client.get("/deletions")
    assert set(kept(page)) == {"worse.jpg", "again.jpg", "other.jpg"}
    assert "It looks like worse.jpg, deleted for good on" in page.text

    answer = await client.post(f"/deletions/files/{kept(page)['again.jpg']}")
    assert "again.jpg is brought in." in answer.text
    assert await doubles.imports.drain() == {"imported": 1}

    assert await names(doubles) == ["again.jpg"]
    assert set(kept(await client.get("/deletions"))) == {"worse.jpg", "other.jpg"}
    # The deletion still holds for others, and the next scan changes nothing.
    put(folder, "third.jpg", jpeg(scene(1), 60))
    assert (await doubles.imports.scan(folder)).imported == 0


async def test_the_very_file_that_was_deleted_comes_in_and_its_deletion_is_forgotten(
    client: httpx.AsyncClient, doubles: Doubles, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder)
    await delete(doubles, "a.jpg")
    page = await client.get("/deletions")

    await client.post(f"/deletions/files/{kept(page)['a.jpg']}", headers=PARTIAL)
    await doubles.imports.drain()

    assert await names(doubles) == ["a.jpg"]
    page = await client.get("/deletions")
    assert "No file was kept out." in page.text
    assert "Nothing was deleted for good." in page.text


async def test_a_forgotten_deletion_lets_its_files_in_and_keeps_no_copy_out(
    client: httpx.AsyncClient, doubles: Doubles, folder: Path, account: int
) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder)
    await delete(doubles, "a.jpg", person=account)
    page = (await client.get("/deletions")).text
    assert 'data-l="By:">anna<' in page
    assert "The file and its copies" in page
    (tombstone,) = re.findall(r'id="deleted-(\d+)"', page)

    answer = await client.post(f"/deletions/{tombstone}")
    assert "The deletion of a.jpg is forgotten. 1 file comes in again." in answer.text
    await doubles.imports.drain()
    put(folder, "copy.jpg", jpeg(scene(1), 80))
    await doubles.imports.scan(folder)

    assert await names(doubles) == ["a.jpg", "copy.jpg"]


@pytest.mark.parametrize("for_good", [True, False])
async def test_what_its_look_kept_out_comes_in_when_the_cause_is_over_and_it_is_looked_at_again(
    client: httpx.AsyncClient, doubles: Doubles, folder: Path, for_good: bool
) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    put(folder, "other.jpg", jpeg(scene(2)))
    await doubles.imports.scan(folder)
    ids = await doubles.ids("a.jpg")
    await doubles.lib.act("trash", ids)
    await delete(doubles, "other.jpg")
    if for_good:
        await doubles.lib.act("purge", ids)
    put(folder, "copy.jpg", jpeg(scene(1), 80))
    put(folder, "other copy.jpg", jpeg(scene(2), 80))
    await doubles.imports.scan(folder)
    assert {"copy.jpg", "other copy.jpg"} <= set(kept(await client.get("/deletions")))
    if for_good:
        tombstone = await doubles.lib.value("SELECT id FROM tombstone WHERE name = 'a.jpg'")
        await client.post(f"/deletions/{tombstone}")
    else:
        await doubles.lib.act("restore", ids)

    answer = await client.post("/deletions/again")

    assert "2 files are looked at again." in answer.text
    await doubles.imports.drain()
    assert "copy.jpg" in await names(doubles)
    page = await client.get("/deletions")
    assert {"other copy.jpg", "other.jpg"} == set(kept(page))


async def test_looking_again_at_nothing_says_so(client: httpx.AsyncClient) -> None:
    assert "No file is kept out by its look." in (await client.post("/deletions/again")).text


async def test_a_deleted_picture_whose_file_lies_nowhere_is_not_listed_as_kept_out(
    client: httpx.AsyncClient, doubles: Doubles, folder: Path
) -> None:
    await send(doubles.imports, "sent.jpg", jpeg(scene(1)))
    await doubles.imports.drain()
    for number, name in enumerate(("lost.jpg", "there.jpg", "there too.jpg", "and there.jpg")):
        put(folder, name, jpeg(scene(2 + number)))
    await doubles.imports.scan(folder)
    (folder / "lost.jpg").unlink()
    await doubles.imports.scan(folder)
    ids = [row["id"] for row in await doubles.lib.rows("SELECT id FROM asset")]
    await doubles.lib.act("trash", ids)
    await doubles.lib.act("purge", ids)

    page = await client.get("/deletions")

    assert set(kept(page)) == {"there.jpg", "there too.jpg", "and there.jpg"}
    assert len(re.findall(r'id="deleted-', page.text)) == 5


async def test_a_moved_source_is_listed_only_where_it_stayed(
    client: httpx.AsyncClient, doubles: Doubles, folder: Path
) -> None:
    put(folder, "gone.jpg", jpeg(scene(1)))
    put(folder, "stayed.jpg", jpeg(scene(2)))
    await doubles.imports.scan(folder, Mode.MOVE)
    await doubles.lib.execute(
        "UPDATE root_entry SET detail = 'stored, but the source stayed: no right' WHERE path = 'stayed.jpg'"
    )

    await delete(doubles, "gone.jpg", "stayed.jpg")

    assert set(kept(await client.get("/deletions"))) == {"stayed.jpg"}


async def test_a_file_that_would_move_into_the_library_stays_where_it_is_until_it_is_let_in(
    client: httpx.AsyncClient, doubles: Doubles, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder, Mode.MOVE)
    await delete(doubles, "a.jpg")

    put(folder, "copy.jpg", jpeg(scene(1), 80))
    await doubles.imports.scan(folder, Mode.MOVE)
    assert (folder / "copy.jpg").exists()
    page = await client.get("/deletions")
    await client.post(f"/deletions/files/{kept(page)['copy.jpg']}")
    await doubles.imports.drain()

    assert await names(doubles) == ["copy.jpg"]
    assert not (folder / "copy.jpg").exists()


async def test_a_sent_file_that_is_kept_out_waits_with_us_and_can_be_let_in(
    client: httpx.AsyncClient, doubles: Doubles, folder: Path
) -> None:
    home = doubles.imports.settings.home
    put(folder, "a.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder)
    await delete(doubles, "a.jpg")

    await send(doubles.imports, "copy.jpg", jpeg(scene(1), 80))
    assert await doubles.imports.drain() == {"skipped": 1}
    for waiting in home.uploads.iterdir():
        os.utime(waiting, (0, 0))
    async with doubles.lib.db.unit_of_work() as uow:
        assert await sweeps.drop_left_behind(uow.sql, home) == 0
    await client.post(f"/deletions/files/{kept(await client.get('/deletions'))['copy.jpg']}")

    assert await doubles.imports.drain() == {"imported": 1}
    assert await names(doubles) == ["copy.jpg"]


async def test_a_sent_file_that_nobody_lets_in_is_dropped_after_a_month(
    doubles: Doubles, folder: Path
) -> None:
    home = doubles.imports.settings.home
    put(folder, "a.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder)
    await delete(doubles, "a.jpg")
    await send(doubles.imports, "copy.jpg", jpeg(scene(1), 80))
    await doubles.imports.drain()
    await doubles.lib.execute("UPDATE root_entry SET changed_at = now() - interval '31 days'")
    for waiting in home.uploads.iterdir():
        os.utime(waiting, (0, 0))

    async with doubles.lib.db.unit_of_work() as uow:
        assert await sweeps.drop_left_behind(uow.sql, home) == 1


async def test_a_file_whose_folder_is_away_is_not_let_in(
    client: httpx.AsyncClient, doubles: Doubles, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder)
    await delete(doubles, "a.jpg")
    await doubles.lib.execute("UPDATE root SET status = 'unavailable'")
    page = await client.get("/deletions")

    answer = await client.post(f"/deletions/files/{kept(page)['a.jpg']}")

    assert answer.status_code == 409
    assert await doubles.lib.value("SELECT count(*) FROM tombstone") == 1


@pytest.mark.parametrize("path", ["/deletions/files/77", "/deletions/77"])
async def test_what_is_not_there_is_said_to_be_so(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.post(path)).status_code == 404


async def test_many_are_shown_in_pages(client: httpx.AsyncClient, doubles: Doubles, folder: Path) -> None:
    ids = await doubles.lib.fill(120)
    await doubles.lib.act("trash", ids)
    await doubles.lib.act("purge", ids)

    seen, path = [], "/deletions"
    while path:
        page = (await client.get(path)).text
        seen += re.findall(r'id="deleted-(\d+)"', page)
        more = re.search(r'href="(/deletions\?before=\d+)"', page)
        path = more[1] if more else ""

    assert len(seen) == len(set(seen)) == 120


async def test_the_lists_are_read_from_their_own_indexes(doubles: Doubles) -> None:
    await doubles.lib.execute("INSERT INTO root (path, mode) VALUES ('/pictures', 'in_place')")
    await doubles.lib.execute(
        "INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, sha256, outcome, reason, seen_batch)"
        " SELECT (SELECT id FROM root), n::text::bytea, n, n, n, sha256(n::text::bytea),"
        " CASE WHEN n % 2 = 0 THEN 'skipped' ELSE 'imported' END,"
        " CASE WHEN n % 2 = 0 THEN 'tombstoned' END, 1 FROM generate_series(1, 40000) n"
    )
    kept_out = f"EXPLAIN SELECT id FROM root_entry e WHERE {letting_in.KEPT_OUT}"
    async with doubles.lib.db.unit_of_work() as uow:
        await uow.sql.execute("ANALYZE root_entry")
        listed = await uow.sql.fetch(f"{kept_out} AND id < 9000 ORDER BY id DESC LIMIT 50")
        by_content = await uow.sql.fetch(f"{kept_out} AND sha256 = sha256('100') AND size = 100")

    for plan, index in ((listed, "ix_root_entry_kept_out"), (by_content, "ix_root_entry_kept_content")):
        assert index in "\n".join(row[0] for row in plan)
