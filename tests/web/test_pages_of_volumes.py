"""Pages over HTTP: who is shown which, and for how long browsers keep them."""

from __future__ import annotations

import re
from pathlib import Path

import httpx

from appliance.core.db import Database
from tests.ingest.conftest import Ingest, folder, ingest
from tests.media.zips import comic
from tests.media_files import jpeg, put
from tests.web.conftest import PARTIAL, statements
from tests.web.test_reading import RIGHT_TO_LEFT, Shelve, shelve, viewer


__all__ = ["folder", "ingest", "shelve"]


async def test_what_a_person_put_away_is_not_read_from_a_volume_that_is_not_made_yet(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path, shelve: Shelve, db: Database
) -> None:
    put(folder, "loose.jpg", jpeg(1))
    await ingest.scan(folder)
    await ingest.rows("UPDATE asset SET private = true RETURNING id")
    volume = await shelve(comic(2, packed=True), unpacked=False)
    assert (await client.get(f"/media/{volume}/page/2")).status_code == 200

    other = await viewer(client, db)
    assert (await other.get(f"/media/{volume}/page/1")).content == jpeg(0)
    assert (await other.get(f"/media/{volume}/page/2")).status_code == 404


async def test_page_that_is_turned_has_another_address(
    client: httpx.AsyncClient, shelve: Shelve, ingest: Ingest
) -> None:
    volume = await shelve(comic(2))

    async def address() -> str:
        page = (await client.get(f"/asset/{volume}/read?page=2")).text
        return re.findall(r'class="leaf" src="([^"]+)"', page)[0]  # type: ignore[no-any-return]

    before = await address()
    assert "immutable" in (await client.get(before)).headers["cache-control"]
    await ingest.rows("UPDATE asset SET turn = 90 WHERE kind = 'still' RETURNING id")
    assert (await client.get(await address())).status_code == 303
    await ingest.rows("UPDATE asset SET turn = 0 WHERE kind = 'still' RETURNING id")
    old = (await client.get(f"/media/{volume}/page/2?v=0-0")).headers["cache-control"]
    assert old == "private, max-age=60"
    assert await address() == before


async def test_direction_that_nobody_chose_stays_open(
    client: httpx.AsyncClient, shelve: Shelve, ingest: Ingest
) -> None:
    volume = await shelve(comic(3, ComicInfo__xml=RIGHT_TO_LEFT))
    await client.post(f"/asset/{volume}/read?page=2")
    assert await ingest.rows("SELECT page, right_to_left FROM reading_place") == [
        {"page": 2, "right_to_left": None}
    ]
    await client.post(f"/asset/{volume}/read?page=3&rtl=0")
    assert await ingest.rows("SELECT page, right_to_left FROM reading_place") == [
        {"page": 3, "right_to_left": False}
    ]


async def test_tile_of_a_volume_says_to_its_reader_alone_how_far_it_was_read(
    client: httpx.AsyncClient, shelve: Shelve, db: Database
) -> None:
    volume = await shelve(comic(12))
    await client.post(f"/asset/{volume}/read?page=1")
    assert "12 pages" in (await client.get("/")).text
    await client.post(f"/asset/{volume}/read?page=5")
    for address in ("/", "/items?before=20990101T000000.000000_1"):
        wall = (await client.get(address, headers=PARTIAL if "items" in address else {})).text
        assert "Read to page </span>5 / 12<" in wall
        assert '<progress class="read" value="5" max="12"' in wall

    other = await viewer(client, db)
    wall = (await other.get("/")).text
    assert "12 pages" in wall
    assert "<progress" not in wall


async def test_places_of_a_wall_cost_one_statement_and_none_where_no_volume_is(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path, db: Database
) -> None:
    put(folder, "loose.jpg", jpeg(1))
    await ingest.scan(folder)
    with statements(db) as before:
        await client.get("/")
    assert not any("reading_place" in each for each in before)
    put(folder, "first.cbz", comic(2))
    put(folder, "second.cbz", comic(3))
    await ingest.scan(folder)
    with statements(db) as after:
        await client.get("/")
    assert sum("reading_place" in each for each in after) == 1


async def test_page_of_a_volume_says_which_of_its_pages_cannot_be_shown(
    client: httpx.AsyncClient, shelve: Shelve, ingest: Ingest
) -> None:
    content = bytearray(comic(6))
    content[content.find(jpeg(1)) + 200] ^= 0xFF
    volume = await shelve(bytes(content))
    assert "Page 2 cannot be shown" in (await client.get(f"/asset/{volume}")).text

    await ingest.rows("UPDATE volume_page SET status = 'failed' WHERE position > 4 RETURNING position")
    page = (await client.get(f"/asset/{volume}")).text
    assert "3 pages cannot be shown" in page
    assert "the first is page 2" in page
    await ingest.rows("UPDATE volume_page SET status = 'complete' RETURNING position")
    assert "cannot be shown" not in (await client.get(f"/asset/{volume}")).text
