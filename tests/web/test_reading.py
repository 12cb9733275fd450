"""Reading volumes over HTTP: one page a request without a script, pages as they lie in the archive."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import pytest

from appliance.accounts import sessions
from appliance.accounts.models import Role
from appliance.core.db import Database
from appliance.operations import services as operations
from appliance.operations.kinds import Kind
from appliance.web.remembering import remembered
from tests.ingest.conftest import Ingest, folder, ingest
from tests.library.books import shelved
from tests.media.make import corner, saved
from tests.media.zips import comic, zipped
from tests.media_files import jpeg, put
from tests.people import a_person
from tests.web.conftest import PARTIAL


__all__ = ["folder", "ingest"]

Shelve = Callable[..., Awaitable[int]]
RIGHT_TO_LEFT = b"<ComicInfo><Title>Tides</Title><Manga>YesAndRightToLeft</Manga></ComicInfo>"


@pytest.fixture
def shelve(ingest: Ingest, folder: Path) -> Shelve:
    """Bring a volume in."""

    async def run(content: bytes, *, unpacked: bool = True) -> int:
        return await shelved(ingest, folder, content, unpacked=unpacked)

    return run


async def viewer(stranger: httpx.AsyncClient, db: Database) -> httpx.AsyncClient:
    async with db.unit_of_work() as uow:
        person = await a_person(uow, "ben", role=Role.VIEWER)
        token = await sessions.start(uow.sql, person, address="127.0.0.1", agent="tests")
    stranger.cookies.set("vitrine", token, domain="localhost.local")
    return stranger


def leaves(text: str) -> list[int]:
    """The pages that are shown, in the order of the document."""
    return [int(n) for n in re.findall(r'class="leaf" src="/media/\d+/page/(\d+)\?v=[\d-]+"', text)]


def link(text: str, rel: str) -> str:
    found = re.search(rf'rel="{rel}" data-turn="-?1" href="([^"]+)"', text)
    assert found
    return found[1].replace("&amp;", "&")


async def test_every_page_is_reached_by_plain_links(client: httpx.AsyncClient, shelve: Shelve) -> None:
    volume = await shelve(comic(4))
    answer = await client.get(f"/asset/{volume}/read")
    seen = leaves(answer.text)
    while 'rel="next"' in answer.text and seen[-1] < 4:
        answer = await client.get(link(answer.text, "next"))
        seen += leaves(answer.text)

    assert seen == [1, 2, 3, 4]
    assert leaves((await client.get(link(answer.text, "prev"))).text) == [3]


async def test_two_pages_leave_the_cover_and_wide_pages_alone(
    client: httpx.AsyncClient, shelve: Shelve
) -> None:
    tall, wide = (60, 90), (90, 60)
    shapes = [tall, tall, tall, tall, wide, tall]
    pages = {f"{n}.jpg": jpeg(n, size=size) for n, size in enumerate(shapes, 1)}
    volume = await shelve(zipped(pages))
    answer = await client.get(f"/asset/{volume}/read?two=1")
    seen = [leaves(answer.text)]
    while seen[-1][-1] < 6:
        answer = await client.get(link(answer.text, "next"))
        seen.append(leaves(answer.text))

    assert seen == [[1], [2, 3], [4], [5], [6]]


async def test_page_of_a_volume_is_sent_as_it_lies_there(client: httpx.AsyncClient, shelve: Shelve) -> None:
    volume = await shelve(comic(2), unpacked=False)
    answer = await client.get(f"/media/{volume}/page/2?v=0-0")

    assert (answer.status_code, answer.content) == (200, jpeg(1))
    assert answer.headers["content-type"] == "image/jpeg"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "immutable" in answer.headers["cache-control"]
    part = await client.get(f"/media/{volume}/page/2", headers={"Range": "bytes=10-19"})
    assert (part.status_code, part.content) == (206, jpeg(1)[10:20])
    assert part.headers["content-range"] == f"bytes 10-19/{len(jpeg(1))}"
    again = await client.get(f"/media/{volume}/page/2", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize("nested", [False, True])
async def test_packed_page_is_unpacked_on_the_way(
    client: httpx.AsyncClient, shelve: Shelve, nested: bool
) -> None:
    content = comic(3, packed=True)
    volume = await shelve(zipped({"in.cbz": content}, packed=True) if nested else content)
    answer = await client.get(f"/media/{volume}/page/3")

    assert answer.content == jpeg(2)
    assert answer.headers["content-length"] == str(len(jpeg(2)))
    again = await client.get(f"/media/{volume}/page/3", headers={"If-None-Match": answer.headers["etag"]})
    assert again.status_code == 304


async def test_original_of_a_page_is_sent_from_within_its_archive(
    client: httpx.AsyncClient, shelve: Shelve, ingest: Ingest
) -> None:
    await shelve(comic(2, packed=True))
    (row,) = await ingest.rows("SELECT asset_id FROM volume_page WHERE position = 2")
    answer = await client.get(f"/media/{row['asset_id']}/original?download=1")

    assert answer.content == jpeg(1)
    assert 'attachment; filename="2.jpg"' in answer.headers["content-disposition"]


async def test_page_that_browsers_cannot_show_leads_to_its_full_size(
    client: httpx.AsyncClient, shelve: Shelve, ingest: Ingest
) -> None:
    volume = await shelve(zipped({"1.jpg": jpeg(1), "2.tif": saved(corner((40, 60)), "TIFF")}))
    (row,) = await ingest.rows("SELECT asset_id FROM volume_page WHERE position = 2")
    answer = await client.get(f"/media/{volume}/page/2")

    assert (answer.status_code, answer.headers["location"]) == (303, f"/media/{row['asset_id']}/full")


async def test_damaged_page_says_so_and_the_others_are_read(
    client: httpx.AsyncClient, shelve: Shelve
) -> None:
    content = bytearray(comic(3))
    content[content.find(jpeg(1)) + 200] ^= 0xFF
    volume = await shelve(bytes(content))
    page = (await client.get(f"/asset/{volume}/read?page=2")).text

    assert leaves(page) == []
    assert "damaged within its archive: the checksum does not fit" in page
    assert leaves((await client.get(link(page, "next"))).text) == [3]
    assert (await client.get(f"/media/{volume}/page/2")).status_code == 410
    assert "damaged" in (await client.get(f"/asset/{volume}/pages")).text


async def test_place_is_kept_for_each_person(client: httpx.AsyncClient, shelve: Shelve, db: Database) -> None:
    volume = await shelve(comic(9))
    assert (await client.post(f"/asset/{volume}/read?page=5")).status_code == 204
    assert leaves((await client.get(f"/asset/{volume}/read")).text) == [5]
    assert "Continue at page 5 of 9" in (await client.get(f"/asset/{volume}")).text

    other = await viewer(client, db)
    assert leaves((await other.get(f"/asset/{volume}/read")).text) == [1]


async def test_page_that_does_not_exist_keeps_the_place(client: httpx.AsyncClient, shelve: Shelve) -> None:
    volume = await shelve(comic(3))
    await client.post(f"/asset/{volume}/read?page=2")
    await client.post(f"/asset/{volume}/read?page=99")
    assert leaves((await client.get(f"/asset/{volume}/read")).text) == [2]
    assert leaves((await client.get(f"/asset/{volume}/read?page=99")).text) == [3]


async def test_direction_is_the_volumes_until_a_person_turns_it(
    client: httpx.AsyncClient, shelve: Shelve
) -> None:
    volume = await shelve(comic(3, ComicInfo__xml=RIGHT_TO_LEFT))
    page = (await client.get(f"/asset/{volume}/read")).text
    assert 'data-rtl="1"' in page
    assert "<title>Tides" in page

    await client.get(f"/asset/{volume}/read?rtl=0")
    assert 'data-rtl="0"' in (await client.get(f"/asset/{volume}/read")).text


async def test_manner_of_reading_is_remembered(client: httpx.AsyncClient, shelve: Shelve) -> None:
    volume = await shelve(comic(5), unpacked=False)
    await client.get(f"/asset/{volume}/read?fit=width&two=1")
    page = (await client.get(f"/asset/{volume}/read?page=2")).text
    assert "fit-width" in page
    assert leaves(page) == [2, 3]


async def test_viewers_read_what_they_see_and_nothing_else(
    client: httpx.AsyncClient, shelve: Shelve, ingest: Ingest, db: Database
) -> None:
    volume = await shelve(comic(2))
    (row,) = await ingest.rows("SELECT asset_id FROM volume_page WHERE position = 1")
    addresses = [
        f"/asset/{volume}/read",
        f"/asset/{volume}/pages",
        f"/media/{volume}/page/1",
        f"/asset/{row['asset_id']}",
        f"/media/{row['asset_id']}/grid-240",
        f"/media/{row['asset_id']}/original",
    ]
    other = await viewer(client, db)
    assert [(await other.get(a)).status_code for a in addresses] == [200] * 6
    assert "Page of" in (await other.get(f"/asset/{row['asset_id']}")).text

    await ingest.rows("UPDATE asset SET private = true WHERE id = $1", volume)
    remembered._facts.clear()
    assert [(await other.get(a)).status_code for a in addresses] == [404] * 6


async def test_page_that_a_person_put_away_is_not_shown_to_viewers(
    client: httpx.AsyncClient, shelve: Shelve, ingest: Ingest, db: Database
) -> None:
    volume = await shelve(comic(2))
    await ingest.rows(
        "UPDATE asset SET private = true WHERE id = (SELECT asset_id FROM volume_page WHERE position = 2)"
    )
    assert (await client.get(f"/media/{volume}/page/2")).status_code == 200

    other = await viewer(client, db)
    assert "It is not shown here" in (await other.get(f"/asset/{volume}/read?page=2")).text
    assert (await other.get(f"/media/{volume}/page/2")).status_code == 404


async def test_page_that_was_deleted_for_good_leaves_its_place(
    client: httpx.AsyncClient, shelve: Shelve, ingest: Ingest
) -> None:
    volume = await shelve(comic(3))
    (row,) = await ingest.rows("SELECT asset_id FROM volume_page WHERE position = 2")
    page = int(str(row["asset_id"]))
    async with ingest.db.unit_of_work() as uow:
        await operations.act(uow, Kind.TRASH, [page], {}, person=None)
    async with ingest.db.unit_of_work() as uow:
        await operations.act(uow, Kind.PURGE, [page], {}, person=None)

    assert "It was deleted for good" in (await client.get(f"/asset/{volume}/read?page=2")).text
    assert (await client.get(f"/media/{volume}/page/2")).status_code == 410
    assert (await client.get(f"/media/{volume}/page/3")).content == jpeg(2)


async def test_volume_without_a_title_is_called_by_its_file(
    client: httpx.AsyncClient, shelve: Shelve
) -> None:
    volume = await shelve(comic(2))
    assert "<title>book · Vitrine</title>" in (await client.get(f"/asset/{volume}/read")).text
    assert "<bdi>book</bdi>" in (await client.get(f"/asset/{volume}")).text


async def test_pages_come_a_screenful_at_a_time(client: httpx.AsyncClient, shelve: Shelve) -> None:
    volume = await shelve(comic(60))
    first = (await client.get(f"/asset/{volume}/pages", headers=PARTIAL)).text
    assert first.count('class="mini"') == 48
    assert f'hx-get="/asset/{volume}/pages?start=49"' in first
    rest = (await client.get(f"/asset/{volume}/pages?start=49", headers=PARTIAL)).text
    assert rest.count('class="mini"') == 12
    assert "hx-get" not in rest


async def test_what_is_no_volume_is_not_read(client: httpx.AsyncClient, ingest: Ingest, folder: Path) -> None:
    put(folder, "1.jpg", jpeg(1))
    await ingest.scan(folder)
    (row,) = await ingest.rows("SELECT id FROM asset")
    for address in (f"/asset/{row['id']}/read", f"/asset/{row['id']}/pages", f"/media/{row['id']}/page/1"):
        assert (await client.get(address)).status_code == 404


async def test_a13_volume_with_any_name_is_downloaded_under_it(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    put(folder, 'a\'b "c"/72 【Summer】 [Tulip]*?.zip', comic(2))
    await ingest.scan(folder)
    (row,) = await ingest.rows("SELECT id FROM asset WHERE kind = 'volume'")
    answer = await client.get(f"/media/{row['id']}/original?download=1")

    assert answer.content == comic(2)
    name = answer.headers["content-disposition"]
    assert "filename*=UTF-8''72%20%E3%80%90Summer%E3%80%91%20%5BTulip%5D%2A%3F.zip" in name
    assert (await client.get(f"/media/{row['id']}/grid-240")).status_code == 200


async def test_ugoira_is_shown_moving_and_downloaded_as_it_is(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    plan = b'[{"file": "0.jpg", "delay": 50}, {"file": "1.jpg", "delay": 150}]'
    content = zipped({"0.jpg": jpeg(0), "1.jpg": jpeg(1), "animation.json": plan})
    put(folder, "1234_ugoira.zip", content)
    await ingest.scan(folder)
    (row,) = await ingest.rows("SELECT id, kind, frames, duration_ms FROM asset")
    assert (row["kind"], row["frames"], row["duration_ms"]) == ("animation", 2, 200)

    page = (await client.get(f"/asset/{row['id']}")).text
    assert f'src="/media/{row["id"]}/full"' in page
    assert (await client.get(f"/media/{row['id']}/original?download=1")).content == content
