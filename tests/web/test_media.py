"""Bytes over HTTP: the recorded file or none, in whole or in part, never as something it is not."""

from __future__ import annotations

import asyncio
import html
import os
import re
from pathlib import Path

import httpx
import pytest

from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.library.queries import Sendable
from appliance.web.remembering import Remembered, remembered
from appliance.web.sending import Span, disposition, span
from tests.seed import seed
from tests.waiting import until
from tests.web.conftest import PARTIAL, statements


async def asset(db: Database, settings: Settings) -> tuple[int, Path]:
    made = await seed(db, settings.home, 1)
    return made[0], next((settings.data / "seeded").iterdir())


@pytest.mark.parametrize("name", ["grid-240", "grid-480", "preview"])
async def test_a_picture_with_a_version_may_be_kept_for_ever(
    client: httpx.AsyncClient, db: Database, settings: Settings, name: str
) -> None:
    number, _ = await asset(db, settings)
    answer = await client.get(f"/media/{number}/{name}?v=1")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/webp"
    assert "immutable" in answer.headers["cache-control"]
    assert "private" in answer.headers["cache-control"]
    assert answer.content[:4] == b"RIFF"
    assert "immutable" not in (await client.get(f"/media/{number}/{name}")).headers["cache-control"]


@pytest.mark.parametrize(
    "path", ["/media/999/grid-240", "/media/1/other", "/media/1/..%2f..%2finstance.json", "/media/x/preview"]
)
async def test_pictures_that_do_not_exist_are_not_found(
    client: httpx.AsyncClient, db: Database, settings: Settings, path: str
) -> None:
    await asset(db, settings)
    assert (await client.get(path)).status_code == 404


async def is_wished(db: Database) -> bool:
    async with db.unit_of_work() as uow:
        wished: bool = await uow.sql.fetchval("SELECT priority = 0 FROM rendition WHERE name = 'preview'")
        return wished


async def test_a_turned_picture_is_never_kept_as_it_was_before(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    number, _ = await asset(db, settings)
    assert (await client.get(f"/media/{number}/grid-240?v=1")).status_code == 200
    async with db.unit_of_work() as uow:
        digest = await uow.sql.fetchval("SELECT sha256 FROM asset WHERE id = $1", number)
        await uow.sql.execute("UPDATE rendition SET status = 'pending', version = 2 WHERE name = 'grid-240'")
    with statements(db) as seen:
        asked = asyncio.create_task(client.get(f"/media/{number}/grid-240?v=2"))
        await until(lambda: sum("FROM rendition" in s for s in seen) > 2, "it looked again and again")
    assert not asked.done()
    settings.home.rendition(digest, "grid-240").write_bytes(b"RIFFturned")
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE rendition SET status = 'complete' WHERE name = 'grid-240'")
    answer = await asked
    assert answer.content == b"RIFFturned"
    assert "immutable" in answer.headers["cache-control"]
    old = await client.get(f"/media/{number}/grid-240?v=1")
    assert "immutable" not in old.headers["cache-control"]


async def test_a_missing_preview_is_put_first_and_waited_for(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    number = (await seed(db, settings.home, 1, preview=False))[0]
    waiting = asyncio.create_task(client.get(f"/media/{number}/preview"))
    await until(lambda: is_wished(db), "it was put first")
    async with db.unit_of_work() as uow:
        digest = await uow.sql.fetchval("SELECT sha256 FROM asset WHERE id = $1", number)
        settings.home.rendition(digest, "preview").write_bytes(b"RIFFsharp")
        await uow.sql.execute("UPDATE rendition SET status = 'complete' WHERE name = 'preview'")
    answer = await waiting
    assert answer.status_code == 200
    assert answer.content == b"RIFFsharp"


@pytest.mark.parametrize("harm", ["deleted", "emptied"])
async def test_a_picture_whose_file_is_lost_is_drawn_again(
    client: httpx.AsyncClient, db: Database, settings: Settings, harm: str
) -> None:
    number = (await seed(db, settings.home, 1))[0]
    assert (await client.get(f"/media/{number}/grid-240")).status_code == 200
    async with db.unit_of_work() as uow:
        place = settings.home.rendition(
            await uow.sql.fetchval("SELECT sha256 FROM asset WHERE id = $1", number), "grid-240"
        )
    if harm == "deleted":
        place.unlink()
    else:
        place.write_bytes(b"")

    answer = await client.get(f"/media/{number}/grid-240")

    assert answer.status_code == 404
    async with db.unit_of_work() as uow:
        row = await uow.sql.fetchrow("SELECT status, priority FROM rendition WHERE name = 'grid-240'")
    assert (row["status"], row["priority"]) == ("pending", 1)


async def test_an_original_is_sent_with_its_type_and_name(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    number, file = await asset(db, settings)
    answer = await client.get(f"/media/{number}/original")
    assert answer.content == file.read_bytes()
    assert answer.headers["content-type"] == "image/jpeg"
    assert answer.headers["content-disposition"].startswith("inline; filename=")
    assert answer.headers["content-security-policy"].startswith("sandbox")
    saved = await client.get(f"/media/{number}/original?download=1")
    assert saved.headers["content-disposition"].startswith("attachment; ")


async def test_a_part_of_an_original_can_be_asked_for(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    number, file = await asset(db, settings)
    whole = file.read_bytes()
    part = await client.get(f"/media/{number}/original", headers={"Range": "bytes=10-19"})
    assert part.status_code == 206
    assert part.content == whole[10:20]
    assert part.headers["content-range"] == f"bytes 10-19/{len(whole)}"
    assert part.headers["content-length"] == "10"
    tail = await client.get(f"/media/{number}/original", headers={"Range": "bytes=-5"})
    assert tail.content == whole[-5:]
    beyond = await client.get(f"/media/{number}/original", headers={"Range": f"bytes={len(whole)}-"})
    assert beyond.status_code == 416
    other = await client.get(
        f"/media/{number}/original", headers={"Range": "bytes=0-1", "If-Range": '"other"'}
    )
    assert other.status_code == 200
    mark = {"If-None-Match": other.headers["etag"]}
    assert (await client.get(f"/media/{number}/original", headers=mark)).status_code == 304


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, Span(0, 100, partial=False)),
        ("bytes=0-", Span(0, 100, partial=True)),
        ("bytes=99-500", Span(99, 100, partial=True)),
        ("bytes=-500", Span(0, 100, partial=True)),
        ("bytes=-0", None),
        ("bytes=100-", None),
        ("bytes=9-3", None),
        ("bytes=-", Span(0, 100, partial=False)),
        ("bytes=0-1,5-6", Span(0, 100, partial=False)),
        ("lines=1-2", Span(0, 100, partial=False)),
    ],
)
def test_ranges(header: str | None, expected: Span | None) -> None:
    assert span(header, 100) == expected


async def _gone(client: httpx.AsyncClient, number: int, words: str) -> None:
    answer = await client.get(f"/media/{number}/original")
    assert answer.status_code == 410
    assert words in answer.text
    assert answer.headers["content-type"].startswith("text/html")


async def test_a_file_that_changed_is_not_shown_as_the_recorded_one(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    number, file = await asset(db, settings)
    known = file.stat()
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    os.utime(file, ns=(known.st_atime_ns, known.st_mtime_ns + 1))
    await _gone(client, number, "has changed since it was read")


async def test_a_file_that_vanished_says_so(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    number, file = await asset(db, settings)
    file.unlink()
    await _gone(client, number, "is not there")


async def test_a_link_in_place_of_the_file_is_not_followed(
    client: httpx.AsyncClient, db: Database, settings: Settings, tmp_path: Path
) -> None:
    number, file = await asset(db, settings)
    moved = tmp_path / "moved.jpg"
    file.rename(moved)
    file.symlink_to(moved)
    await _gone(client, number, "cannot be read")


async def test_a_link_in_place_of_a_folder_is_not_followed(
    client: httpx.AsyncClient, db: Database, settings: Settings, tmp_path: Path
) -> None:
    number, file = await asset(db, settings)
    file.parent.rename(tmp_path / "elsewhere")
    file.parent.symlink_to(tmp_path / "elsewhere")
    await _gone(client, number, "cannot be read")


async def test_a_pipe_in_place_of_the_file_blocks_nobody_a55(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    number, file = await asset(db, settings)
    file.unlink()
    os.mkfifo(file)
    await asyncio.wait_for(_gone(client, number, "has changed"), 60)


async def test_what_browsers_might_run_is_a_download(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    number, _ = await asset(db, settings)
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET mime = 'image/svg+xml'")
    answer = await client.get(f"/media/{number}/original")
    assert answer.headers["content-disposition"].startswith("attachment")


def test_any_file_name_becomes_a_header_a14() -> None:
    for name in (
        b"dr\xe9.jpg",
        "72 【Summer】 [Tulip]*?.zip".encode(),
        b'a"b\r\nX: y.jpg',
        b"a/b",
        "é 猫.png".encode(),
    ):
        header = disposition(name, inline=True)
        assert header.isascii()
        assert "\r" not in header
        assert "\n" not in header
        assert header.count('"') == 2
        assert "filename*=UTF-8''" in header


def test_what_is_remembered_has_a_limit() -> None:
    kept = Remembered(limit=2)
    for number in range(5):
        kept._facts[number] = (Sendable(b"", "still", "", 0, 0, True, {}), 0.0)
    assert len(kept._facts) == 5
    kept.forget(4)
    assert 4 not in kept._facts


async def test_a_range_of_thousands_of_digits_is_no_range(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    number, file = await asset(db, settings)
    answer = await client.get(f"/media/{number}/original", headers={"Range": f"bytes={'9' * 7000}-"})
    assert (answer.status_code, answer.content) == (200, file.read_bytes())


async def test_the_pictures_of_a_page_are_served_without_asking_the_database_again(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await seed(db, settings.home, 30, stored=30)
    for page in ("/", "/items?before=20991231T000000.000000_1"):
        remembered._facts.clear()
        text = (await client.get(page, headers=PARTIAL if "items" in page else {})).text
        pictures = re.findall(r'<img src="([^"]+)"', text)
        with statements(db) as asked:
            answers = [await client.get(html.unescape(picture)) for picture in pictures]
        assert [a.status_code for a in answers] == [200] * 30
        assert asked == []
