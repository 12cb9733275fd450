"""Folders of the library over HTTP: adding with a look first, schedule, taking out and bringing back."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

import httpx

from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.ingest import roots, services
from appliance.ingest.identity import OTHER
from appliance.operations import services as operations
from tests.media_files import jpeg, put
from tests.seed import seed
from tests.web.conftest import PARTIAL
from tests.web.test_import import a_root


async def roots_of(db: Database) -> list[tuple[object, ...]]:
    async with db.unit_of_work() as uow:
        rows = await uow.sql.fetch("SELECT path, mode, status, scan_hour FROM root ORDER BY id")
    return [tuple(r) for r in rows]


async def test_folder_that_stays_where_it_is_is_added_and_scanned(
    client: httpx.AsyncClient, db: Database, tmp_path: Path
) -> None:
    put(tmp_path / "pictures", "a.jpg", jpeg(1))
    path = str(tmp_path / "pictures")
    looked = (await client.get("/import/check", params={"path": path}, headers=PARTIAL)).text
    assert "0 folders and 1 file lie directly in it" in looked

    answer = await client.post("/import/folders", data={"path": path, "hour": "3"})

    assert answer.status_code == 303
    assert await roots_of(db) == [(path.encode(), "in_place", "ready", 3)]
    async with db.unit_of_work() as uow:
        assert await uow.sql.fetchval("SELECT status FROM import_batch") == "pending"
        assert await uow.sql.fetchval("SELECT next_scan_at > now() FROM root")


async def test_copying_shows_what_it_takes_before_it_begins(
    client: httpx.AsyncClient, db: Database, tmp_path: Path
) -> None:
    for number in range(3):
        put(tmp_path / "pictures", f"{number}.jpg", bytes(500_000))
    sent = {"path": str(tmp_path / "pictures"), "mode": "copy"}
    asked = (await client.post("/import/folders", data=sent)).text
    assert "Copying 3 files" in asked
    assert "1.5 MB" in asked
    assert await roots_of(db) == []
    assert (await client.post("/import/folders", data=sent | {"sure": "1"})).status_code == 303
    assert [r[1] for r in await roots_of(db)] == ["copy"]


async def test_folders_that_cannot_be_added_are_refused_in_words(
    client: httpx.AsyncClient, db: Database, tmp_path: Path
) -> None:
    (tmp_path / "library" / "inner").mkdir(parents=True)
    (tmp_path / "file").write_bytes(b"x")
    await a_root(db, str(tmp_path / "library"))
    for path, words in {
        tmp_path / "nowhere": "There is no folder",
        tmp_path / "file": "is not a folder",
        tmp_path / "library": "in the library already",
        tmp_path / "library" / "inner": "It lies in",
        tmp_path: "It contains",
        Path("relative"): "begins with a slash",
        Path("/"): "whole file system",
    }.items():
        looked = (await client.get("/import/check", params={"path": str(path)}, headers=PARTIAL)).text
        assert words in looked, path
        refused = await client.post("/import/folders", data={"path": str(path)})
        assert words in refused.text, path
    assert len(await roots_of(db)) == 1


async def test_picker_lists_subfolders_and_carries_any_name(
    client: httpx.AsyncClient, db: Database, tmp_path: Path
) -> None:
    odd = bytes(tmp_path) + b"/odd\xe9name"
    Path(tmp_path, "fine").mkdir()
    Path(odd.decode("utf-8", "surrogateescape")).mkdir()
    page = (await client.get("/import/folders/add", params={"at": bytes(tmp_path).hex()})).text
    assert "fine" in page
    assert r"odd\xe9name" in page
    assert f"at={odd.hex()}" in page
    shown = rf"{tmp_path}/odd\xe9name"
    answer = await client.post("/import/folders", data={"path": shown, "at": odd.hex()})
    assert answer.status_code == 303
    assert (await roots_of(db))[0][0] == odd


async def test_folder_is_taken_out_and_comes_back_as_it_was(
    client: httpx.AsyncClient, db: Database, tmp_path: Path
) -> None:
    root = await a_root(db, str(tmp_path), scan_hour=4)
    assert (await client.post(f"/import/folders/{root}/retire")).status_code == 303
    page = (await client.get(f"/import/folders/{root}")).text
    assert "It was taken out" in page
    assert "Taken out" in (await client.get("/import")).text
    assert (await client.post(f"/import/folders/{root}/scan", headers=PARTIAL)).status_code == 409
    assert (await client.post(f"/import/folders/{root}/return")).status_code == 303
    assert await roots_of(db) == [(str(tmp_path).encode(), "in_place", "ready", 4)]


async def test_scan_now_and_schedule(client: httpx.AsyncClient, db: Database, tmp_path: Path) -> None:
    root = await a_root(db, str(tmp_path))
    assert "looked at again" in (await client.post(f"/import/folders/{root}/scan", headers=PARTIAL)).text
    await client.post(f"/import/folders/{root}/schedule", data={"hour": "23"})
    assert (await roots_of(db))[0][3] == 23
    assert "23:00" in (await client.get("/import")).text
    await client.post(f"/import/folders/{root}/schedule", data={"hour": ""})
    assert (await roots_of(db))[0][3] is None
    assert (await client.post(f"/import/folders/{root}/schedule", data={"hour": "24"})).status_code == 422
    assert (await client.post("/import/folders/999/scan")).status_code == 404


async def test_new_folder_is_scanned_each_night_unless_somebody_says_otherwise(
    client: httpx.AsyncClient, db: Database, tmp_path: Path
) -> None:
    form = (await client.get("/import/folders/add")).text
    assert '<option value="3" selected>every day at 03:00</option>' in form
    async with db.unit_of_work() as uow:
        await services.add_root(uow, bytes(tmp_path))
        assert await roots.queue_due(uow, zone=ZoneInfo("UTC")) == 0
        assert await uow.sql.fetchval("SELECT next_scan_at > now() FROM root")


async def test_folder_of_which_much_is_gone_asks_before_anything_is_changed(
    client: httpx.AsyncClient, db: Database, tmp_path: Path
) -> None:
    root = await a_root(db, str(tmp_path), held_batch=7, held_gone=12_345, held_known=20_000)
    for url in ("/import", f"/import/folders/{root}"):
        page = (await client.get(url)).text
        assert "12,345 of 20,000 files" in page, url
        assert "They are gone: mark as missing" in page
        assert "Look again" in page

    refused = await client.post(f"/import/folders/{root}/gone?batch=6", headers=PARTIAL)
    assert refused.status_code == 409
    said = await client.post(f"/import/folders/{root}/gone?batch=7", headers=PARTIAL)

    assert "marked as missing" in said.text
    async with db.unit_of_work() as uow:
        assert await uow.sql.fetchval("SELECT confirms FROM import_batch WHERE root_id = $1", root) == 7
    assert "They are gone" not in (await client.get("/import")).text


async def test_other_disk_is_said_and_can_be_taken_as_it_is(
    client: httpx.AsyncClient, db: Database, tmp_path: Path
) -> None:
    root = await a_root(
        db, str(tmp_path), status="unavailable", reason=f"/x cannot be read: {OTHER}", identity="a:1:2"
    )
    assert "Another disk seems to be mounted" in (await client.get("/import")).text

    await client.post(f"/import/folders/{root}/accept")

    async with db.unit_of_work() as uow:
        assert await uow.sql.fetchval("SELECT identity FROM root WHERE id = $1", root) is None
        assert await uow.sql.fetchval("SELECT status FROM import_batch WHERE root_id = $1", root) == "pending"


async def test_a4_folder_that_is_gone_can_be_taken_out_with_its_pictures(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    first, *_others = await seed(db, settings.home, 3)
    async with db.unit_of_work() as uow:
        root = await uow.sql.fetchval("SELECT id FROM root WHERE purpose = 'folder'")
        # One of them lies among our originals as well, and the disk of all is gone.
        await uow.sql.execute(
            "INSERT INTO asset_file (asset_id, path, size, mtime_ns) VALUES ($1, 'ours', 1, 1)", first
        )
        await uow.sql.execute("UPDATE root SET path = '/nowhere/any/more'")
    dry = (await client.get(f"/import/folders/{root}/retire")).text
    assert "3 files known there" in dry
    assert "2 pictures" in dry

    answer = await client.post(f"/import/folders/{root}/retire", data={"pictures": "trash"})

    assert (answer.status_code, answer.headers["location"]) == (303, "/history")
    async with db.unit_of_work() as uow:
        rows = await uow.sql.fetch("SELECT state FROM asset ORDER BY id")
        assert sorted(r["state"] for r in rows) == ["kept", "trashed", "trashed"]
        assert await uow.sql.fetchval("SELECT state FROM asset WHERE id = $1", first) == "kept"
        undo = await operations.ask_undo(uow, 1, person=None)
        assert undo.changed == 2
    assert [r[2] for r in await roots_of(db)] == ["retired"]
