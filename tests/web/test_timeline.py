"""The timeline over HTTP: every picture once, in both directions, at the same cost everywhere."""

from __future__ import annotations

import gzip
import re
from datetime import datetime, timedelta

import httpx
import pytest

from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.library.timeline import Tile
from appliance.search import services
from appliance.search.query import EVERYTHING
from appliance.web.assets import assets
from appliance.web.remembering import remembered
from tests.seed import seed
from tests.web.conftest import PARTIAL, statements


TILE = re.compile(r'<a href="/asset/(\d+)" id="a\d+">')
PAGER = re.compile(r'data-way="(before|after)"><a class="btn" href="[^"]+" data-from="([^"]+)"')
OWN = re.compile(r'data-url="([^"]+)"')
ROW = re.compile(r'data-at="([^"]+)"')


def ids(text: str) -> list[int]:
    return [int(n) for n in TILE.findall(text)]


def pager(text: str, way: str) -> str | None:
    return next((url.replace("&amp;", "&") for found, url in PAGER.findall(text) if found == way), None)


async def order(db: Database, q: str = "", limit: int = 1000) -> list[Tile]:
    """Everything that a search finds, from the top."""
    async with db.unit_of_work() as uow:
        query = services.parse(q) if q else EVERYTHING
        plan = await services.plan(uow.sql, query, services.Scope(admin=True))
        return await services.older(uow.sql, plan, plan.order.first(), limit, inclusive=True)


async def chunk(client: httpx.AsyncClient, url: str) -> str:
    answer = await client.get(url, headers=PARTIAL)
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize(
    "apart", [timedelta(hours=5), timedelta(minutes=3), timedelta(0), timedelta(days=45)]
)
async def test_going_down_shows_every_picture_exactly_once(
    client: httpx.AsyncClient, db: Database, settings: Settings, apart: timedelta
) -> None:
    made = await seed(db, settings.home, 700, apart=apart)
    page = (await client.get("/")).text
    seen, url = ids(page), pager(page, "before")
    while url:
        part = await chunk(client, url)
        seen += ids(part)
        url = pager(part, "before")
    expected = made if apart else sorted(made, reverse=True)
    assert seen == expected


@pytest.mark.parametrize("apart", [timedelta(hours=5), timedelta(minutes=3), timedelta(0)])
async def test_going_up_from_the_middle_shows_the_rest_exactly_once(
    client: httpx.AsyncClient, db: Database, settings: Settings, apart: timedelta
) -> None:
    made = await seed(db, settings.home, 700, apart=apart)
    expected = made if apart else sorted(made, reverse=True)
    rows = await order(db)
    middle = rows[430].position.text()
    page = (await client.get(f"/?at={middle}")).text
    seen, up, down = ids(page), pager(page, "after"), pager(page, "before")
    assert rows[430].id in seen
    while up:
        part = await chunk(client, up)
        seen = ids(part) + seen
        up = pager(part, "after")
    while down:
        part = await chunk(client, down)
        seen += ids(part)
        down = pager(part, "before")
    assert seen == expected


async def test_what_comes_in_between_is_shown_when_a_chunk_is_fetched_again(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    made = await seed(db, settings.home, 400)
    page = (await client.get("/")).text
    part = await chunk(client, str(pager(page, "before")))
    own = OWN.search(part)
    assert own
    again = await chunk(client, own[1].replace("&amp;", "&"))
    assert ids(again) == ids(part)
    assert ROW.findall(again) == ROW.findall(part)
    async with db.unit_of_work() as uow:
        middle = ids(part)[30]
        await uow.sql.execute(
            "INSERT INTO asset (kind, sha256, size, mime, width, height, date_source, effective_at)"
            " SELECT kind, '\\x01'::bytea, size, mime, width, height, date_source,"
            " effective_at - interval '1 minute'"
            " FROM asset WHERE id = $1",
            middle,
        )
    grown = ids(await chunk(client, own[1].replace("&amp;", "&")))
    assert len(grown) == len(ids(part)) + 1
    assert set(ids(part)) < set(grown)
    assert len(made) == 400


async def test_a_row_begins_at_the_place_one_comes_back_to_also_when_its_chunk_is_fetched_again(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await seed(db, settings.home, 400, apart=timedelta(minutes=5))
    place = (await order(db))[203].position.text()
    page = (await client.get(f"/?at={place}")).text
    own = OWN.search(page)
    assert own
    assert ROW.findall(page).count(place) == 1
    again = await chunk(client, own[1].replace("&amp;", "&"))
    assert ROW.findall(again) == ROW.findall(page)


async def test_a_chunk_that_grew_beyond_its_limit_goes_on_where_it_was_cut(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    made = await seed(db, settings.home, 900, apart=timedelta(minutes=5))
    rows = await order(db)
    url: str | None = f"/items?from={rows[0].position.text()}&to={rows[899].position.text()}&edges=be"
    seen: list[int] = []
    while url:
        part = await chunk(client, url)
        seen += ids(part)
        url = pager(part, "before")
    assert seen == made


async def test_a_chunk_that_did_not_change_is_not_sent_again(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await seed(db, settings.home, 300)
    url = str(pager((await client.get("/")).text, "before"))
    first = await client.get(url, headers=PARTIAL)
    assert first.headers["cache-control"] == "private, max-age=60"
    second = await client.get(url, headers=PARTIAL | {"If-None-Match": first.headers["etag"]})
    assert second.status_code == 304
    assert second.content == b""


async def test_a_chunk_asked_for_plainly_is_a_page(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await seed(db, settings.home, 300)
    url = str(pager((await client.get("/")).text, "before"))
    answer = await client.get(url, follow_redirects=True)
    assert answer.status_code == 200
    assert "<!doctype html>" in answer.text
    assert len(ids(answer.text)) > 30


async def test_without_scripts_plain_links_lead_through_all_pages(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    made = await seed(db, settings.home, 500)
    seen: list[int] = []
    url: str | None = "/"
    while url:
        text = (await client.get(url)).text
        seen += ids(text)
        found = re.search(r'data-way="before"><a class="btn" href="([^"]+)"', text)
        url = found[1] if found else None
    assert seen == made


@pytest.mark.parametrize(
    "place", ["x", "20260101", "2026-13", "99999999999999999999_1", "20261123T101500.000000_-5", "☃"]
)
async def test_a_place_that_is_none_is_refused_in_words(
    client: httpx.AsyncClient, account: int, place: str
) -> None:
    answer = await client.get("/", params={"at": place})
    assert answer.status_code == 422
    assert "not a place in the gallery" in answer.text


async def test_a_month_leads_to_its_newest_picture(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await seed(db, settings.home, 600)
    page = (await client.get("/?at=2026-09")).text
    assert 'id="m2026-09"' in page
    menu = (await client.get("/months")).text
    link = r'href="/\?at=2026-09#m2026-09" data-of="2026-09" aria-label="September 2026, \d+"'
    assert re.search(link, menu)


async def test_a_picture_that_failed_is_listed_with_its_reason_a40(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    made = await seed(db, settings.home, 3)
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "UPDATE rendition SET status = 'failed', reason = 'corrupt' WHERE asset_id = $1", made[1]
        )
        await uow.sql.execute("UPDATE rendition SET status = 'pending' WHERE asset_id = $1", made[2])
    page = (await client.get("/")).text
    assert ids(page) == made
    assert "File is damaged<code>corrupt</code>" in page
    assert "Picture is being made" in page


async def test_what_is_new_is_counted_and_moves_nothing(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await seed(db, settings.home, 20)
    page = (await client.get("/")).text
    since = re.search(r"/items/new\?since=(\d+)", page)
    assert since
    quiet = await client.get(f"/items/new?since={since[1]}", headers=PARTIAL)
    assert "pill-new" not in quiet.text
    await seed(db, settings.home, 21, latest=datetime(2020, 1, 1))  # noqa: DTZ001 - wall time
    told = await client.get(f"/items/new?since={since[1]}", headers=PARTIAL)
    assert "21 new" in told.text


async def test_an_empty_library_says_how_to_begin(client: httpx.AsyncClient, account: int) -> None:
    page = (await client.get("/")).text
    assert "Nothing on the walls yet" in page
    assert "./vitrine up FOLDER" in page


async def test_the_wall_fills_by_itself_while_it_is_short(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    page = (await client.get("/")).text
    known = re.search(r'hx-get="(/\?known=[^"]+)"', page)
    assert known
    assert (await client.get(known[1], headers=PARTIAL)).status_code == 204
    made = await seed(db, settings.home, 5)
    part = (await client.get(known[1], headers=PARTIAL)).text
    assert ids(part) == made
    assert part.lstrip().startswith('<div class="wall"')
    await seed(db, settings.home, 300, latest=datetime(2019, 1, 1))  # noqa: DTZ001 - wall time
    assert 'hx-get="/?known' not in (await client.get("/", headers=PARTIAL)).text


@pytest.mark.parametrize("url", ["/", "/?at=2026-10", "/items?before=20270101T000000.000000_1"])
async def test_a_page_costs_a_fixed_number_of_statements(
    client: httpx.AsyncClient, db: Database, settings: Settings, url: str
) -> None:
    headers = PARTIAL if "items" in url else {}
    await seed(db, settings.home, 40)
    await client.get(url, headers=headers)
    remembered._facts.clear()
    with statements(db) as few:
        await client.get(url, headers=headers)
    await seed(db, settings.home, 900, latest=datetime(2026, 12, 1))  # noqa: DTZ001 - wall time
    remembered._facts.clear()
    with statements(db) as many:
        await client.get(url, headers=headers)
    assert len(many) == len(few)
    assert len(many) <= 16


async def test_the_first_page_is_small(client: httpx.AsyncClient, db: Database, settings: Settings) -> None:
    await seed(db, settings.home, 400)
    body = (await client.get("/")).content
    assert len(gzip.compress(body, 5)) <= 20_000
    assert len(body) <= 120_000


def test_scripts_and_styles_of_the_gallery_are_small() -> None:
    sizes = {n: len(assets().named(n).packed or b"") for n in ("gallery.page.js", "gallery.page.css")}
    assert sizes["gallery.page.js"] <= 30 * 1024
    assert sizes["gallery.page.css"] <= 14 * 1024


async def test_density_and_width_change_the_rows(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await seed(db, settings.home, 200)
    counts = {}
    for density in "sml":
        page = (await client.get("/", cookies={"density": density})).text
        counts[density] = len(ids(page)) / len(ROW.findall(page))
    assert counts["s"] > counts["m"] > counts["l"]
    phone = (await client.get("/", headers={"User-Agent": "Mozilla/5.0 (Linux; Android 15) Mobile"})).text
    assert len(ids(phone)) / len(ROW.findall(phone)) < counts["l"]
