"""Searching over HTTP: one address, chips and menus that change it, words for errors and for nothing."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from appliance.accounts import sessions
from appliance.accounts.models import Role
from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.search import grammar
from appliance.tagging import services as tagging
from appliance.web.language import ADMIN, LANGUAGE
from appliance.web.remembering import remembered
from tests.people import a_person
from tests.seed import seed
from tests.web.conftest import PARTIAL, statements


EARLIER = datetime(2025, 6, 1)  # noqa: DTZ001 - wall time
TILE = re.compile(r'<a href="/asset/(\d+)[^"]*" id="a\d+">')
PAGER = re.compile(r'data-way="(before|after)"><a class="btn" href="([^"]+)" data-from="([^"]+)"')
CHIP = re.compile(r'<span class="chip k-(\w+)(?: not)?">(.*?)<a href="([^"]+)" aria-label="Remove ([^"]+)"')


def ids(text: str) -> list[int]:
    return [int(n) for n in TILE.findall(text)]


def chips(text: str) -> dict[str, str]:
    """What each chip says and what the search becomes without it."""
    return {html.unescape(said): query(url) for _, _, url, said in CHIP.findall(text)}


def query(url: str) -> str:
    return parse_qs(urlsplit(html.unescape(url)).query).get("q", [""])[0]


def links(text: str, words: str) -> list[str]:
    found = re.findall(rf'<a href="([^"]+)"[^>]*>{re.escape(words)}</a>', text)
    return [query(u) for u in found]


async def tagged(
    db: Database, ids_: Sequence[int], name: str, *, every: int = 1, kind: str = "general"
) -> set[int]:
    """Put a tag on every n-th of these pictures."""
    chosen = list(ids_)[::every]
    async with db.unit_of_work() as uow:
        tag = await tagging.make(uow, name, kind)
        await tagging.assign(uow, chosen, [tag])
        await tagging.fold(uow.sql)
    return set(chosen)


async def everything(client: httpx.AsyncClient, q: str) -> list[int]:
    """All pictures of a search, from chunk to chunk as a browser goes."""
    page = (await client.get("/", params={"q": q})).text
    seen, url = ids(page), _next(page)
    while url:
        part = await client.get(url, headers=PARTIAL)
        assert part.status_code == 200, part.text
        seen += ids(part.text)
        url = _next(part.text)
    return seen


def _next(text: str) -> str | None:
    return next((html.unescape(u) for way, _, u in PAGER.findall(text) if way == "before"), None)


async def test_every_link_of_a_page_keeps_the_search(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    made = await seed(db, settings.home, 500)
    with_fox = await tagged(db, made, "red fox", every=2)
    page = (await client.get("/", params={"q": "red_fox"})).text
    assert set(ids(page)) < with_fox
    urls = re.findall(r'(?:href|data-from|data-url|hx-get)="(/[^"]*)"', page)
    own = [u for u in urls if u.startswith(("/asset/", "/items", "/months", "/?before"))]
    assert len(own) > 80
    assert all(query(u) == "red_fox" for u in own)
    assert set(await everything(client, "red_fox")) == with_fox
    assert '<b class="n">250</b> of 500' in page


@pytest.mark.parametrize(
    "q",
    ["sort:added", "-sort:added", "sort:rating", "sort:size", "sort:random:7", "-sort:date", "fox sort:size"],
)
async def test_other_orders_have_no_months_and_show_everything_once(
    client: httpx.AsyncClient, db: Database, settings: Settings, q: str
) -> None:
    made = await seed(db, settings.home, 420, apart=timedelta(hours=7))
    expected = await tagged(db, made, "fox", every=2) if "fox" in q else set(made)
    seen = await everything(client, q)
    assert len(seen) == len(set(seen))
    assert set(seen) == expected
    page = (await client.get("/", params={"q": q})).text
    assert ('class="month"' in page) == q.endswith("sort:date")
    assert ('id="scrub"' in page) == q.endswith("sort:date")


async def test_a_random_order_gets_its_seed_into_the_address(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await seed(db, settings.home, 30)
    answer = await client.get("/?q=sort:random")
    assert answer.status_code == 303
    seeded = answer.headers["location"]
    assert re.fullmatch(r"sort:random:\d+", query(seeded))
    assert ids((await client.get(seeded)).text) == ids((await client.get(seeded)).text)


async def test_a_place_of_another_order_is_refused(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await seed(db, settings.home, 30)
    answer = await client.get("/?q=sort:size&at=20261123T101500.000000_5")
    assert answer.status_code == 422


async def test_chips_take_away_their_own_part_only(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await tagged(db, await seed(db, settings.home, 30), "okapi inks", kind="artist")
    q = 'artist:"okapi inks" -snow (a or b) rating:>=0 sort:size'
    page = (await client.get("/", params={"q": q})).text
    found = chips(page)
    assert list(found) == ['artist:"okapi inks"', "-snow", "(a or b)", "rating:>=0", "sort:size"]
    assert found["-snow"] == 'artist:"okapi inks" (a or b) rating:>=0 sort:size'
    assert found["(a or b)"] == 'artist:"okapi inks" -snow rating:>=0 sort:size'
    assert found["sort:size"] == 'artist:"okapi inks" -snow (a or b) rating:>=0'
    assert 'class="chip k-artist">' in page


async def test_a_tag_without_its_kind_has_the_colour_of_its_kind(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await tagged(db, await seed(db, settings.home, 3), "mira", kind="character")
    page = (await client.get("/?q=mira")).text
    assert 'class="chip k-character">' in page


async def test_menus_change_one_part_of_the_search(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await seed(db, settings.home, 30)
    page = (await client.get("/", params={"q": "rating:0 type:image"})).text
    assert links(page, "Videos") == ["rating:0 type:video"]
    assert links(page, "Pictures") == ["rating:0"]
    assert links(page, "Not rated") == ["type:image"]
    assert links(page, "Rating") == ["rating:0 type:image sort:rating"]
    assert links(page, "Trash") == ["rating:0 type:image is:trashed"]
    trash = (await client.get("/", params={"q": "is:trashed"})).text
    assert "Nothing lies in the trash" in trash


@pytest.mark.parametrize(
    ("q", "token"),
    [
        ("cat rating:9 dog", "rating:9"),
        ("(cat", "("),
        ('cat "dog', '"dog'),
        ("<b> is:nonsense", "is:nonsense"),
        ("cat or", "or"),
    ],
)
async def test_an_error_stands_at_its_words(
    client: httpx.AsyncClient, account: int, q: str, token: str
) -> None:
    answer = await client.get("/", params={"q": q})
    assert answer.status_code == 422
    marked = re.search(r"<code>(.*?)<mark>(.*?)</mark>(.*?)</code>", answer.text)
    assert marked
    assert html.unescape("".join(marked.groups())) == q
    assert html.unescape(marked[2]) == token
    assert f'value="{html.escape(q)}"'.replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in answer.text


async def test_a_search_for_nothing_names_what_kills_it(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    made = await seed(db, settings.home, 60)
    await tagged(db, made[:30], "snow")
    await tagged(db, made[30:], "beach")
    answer = await client.get("/", params={"q": "snow beach date:2026"})
    assert answer.status_code == 200
    assert "No picture matches all three" in answer.text
    ways = re.findall(r'<a class="link n" href="([^"]+)">Show ([\d,]+)</a>', answer.text)
    assert {query(url): int(n) for url, n in ways}.items() >= {
        "beach date:2026": 30,
        "snow date:2026": 30,
    }.items()
    assert "Without" in answer.text


async def test_a_tag_that_does_not_exist_is_named_with_what_may_be_meant(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await tagged(db, await seed(db, settings.home, 5), "lighthouse")
    page = (await client.get("/?q=lighthouses")).text
    assert "No tag is called “lighthouses”" in page
    assert "lighthouse" in [query(u) for u in re.findall(r'<a class="link n" href="([^"]+)"', page)]


async def test_what_is_new_counts_only_what_the_search_finds(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await tagged(db, await seed(db, settings.home, 5), "fox")
    page = (await client.get("/?q=fox")).text
    found = re.search(r'hx-get="(/items/new\?[^"]+)"', page)
    assert found
    url = html.unescape(found[1])
    more = await seed(db, settings.home, 20, latest=EARLIER)
    assert "pill-new" not in (await client.get(url, headers=PARTIAL)).text
    await tagged(db, more[:7], "fox")
    told = (await client.get(url, headers=PARTIAL)).text
    assert "7 new" in told
    assert query(re.findall(r'href="([^"]+)"', told)[0]) == "fox"


async def test_a_viewer_finds_only_what_is_shown(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    made = await seed(db, settings.home, 12)
    await tagged(db, made, "fox")
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET private = true WHERE id = ANY($1::bigint[])", made[:3])
        await uow.sql.execute("UPDATE asset SET state = 'trashed' WHERE id = ANY($1::bigint[])", made[3:5])
        viewer = await a_person(uow, "bo", "four words make two", role=Role.VIEWER)
        token = await sessions.start(uow.sql, viewer, address="127.0.0.1", agent="tests")
    assert ids((await client.get("/?q=is:trashed")).text) == made[3:5]
    assert ids((await client.get("/?q=is:private")).text) == made[:3]
    client.cookies.set("vitrine", token, domain="localhost.local")
    page = (await client.get("/?q=fox")).text
    assert ids(page) == made[5:]
    assert 'class="pick"' not in page
    assert "is%3Atrashed" not in page
    for hidden in ("is:private", "is:trashed", "is:archived"):
        assert (await client.get("/", params={"q": hidden})).status_code == 422


async def test_months_are_those_of_the_search_with_their_counts(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    made = await seed(db, settings.home, 400, apart=timedelta(hours=12))
    await tagged(db, made[:20], "fox")
    part = (await client.get("/months?q=fox", headers=PARTIAL)).text
    assert re.findall(r'<a class="l12" href="([^"]+)"', part) == ["/?q=fox&amp;at=2026-11#m2026-11"]
    assert 'aria-label="November 2026, 20"' in part
    menu = (await client.get("/months?q=fox&menu=true", headers=PARTIAL)).text
    assert re.findall(r'<a href="([^"]+)"[^>]*>Nov</a>', menu) == ["/?q=fox&amp;at=2026-11#m2026-11"]
    whole = (await client.get("/months")).text
    counts = [int(n) for n in re.findall(r'aria-label="\w+ \d+, (\d+)"', whole)]
    assert sum(counts) == 400
    assert "<!doctype html>" in whole


async def test_suggestions_say_what_the_text_becomes(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    made = await seed(db, settings.home, 9)
    await tagged(db, made, "red fox")
    await tagged(db, made, "red panda", every=3, kind="character")
    got = (await client.get("/search/complete?q=cat+re+dog&at=6", headers=PARTIAL)).text
    options = re.findall(r'data-text="([^"]*)" data-at="(\d+)"', got)
    texts = [html.unescape(t) for t, _ in options]
    assert 'cat "red fox" dog' in texts or "cat red_fox dog" in texts
    first = texts.index(next(t for t in texts if "fox" in t))
    assert texts[first][: int(options[first][1])].rstrip().endswith(('"red fox"', "red_fox"))
    assert '<span class="of">9</span>' in got
    assert "k-character" in got


async def test_a_key_among_the_suggestions_waits_for_its_value(
    client: httpx.AsyncClient, account: int
) -> None:
    got = (await client.get("/search/complete?q=rat&at=3", headers=PARTIAL)).text
    assert re.search(r'data-text="rating:" data-at="7" data-insert="rating:" data-open', got)
    values = (await client.get("/search/complete?q=rating:&at=7", headers=PARTIAL)).text
    assert 'data-text="rating:5 "' in values


@pytest.mark.parametrize("q", ["", " ", '"', "((", "-", "a" * 3000, "\x00", "a:b:c*"])
async def test_no_text_breaks_the_suggestions(client: httpx.AsyncClient, account: int, q: str) -> None:
    answer = await client.get("/search/complete", params={"q": q, "at": "99999"}, headers=PARTIAL)
    assert answer.status_code in {200, 422}


async def test_the_language_is_taught_by_examples_that_work(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    page = (await client.get("/search/help")).text
    examples = [e for part in (*LANGUAGE, ADMIN) for line in part.lines for e in line.examples]
    assert len(examples) > 30
    for example in examples:
        assert grammar.parse(example).text
        assert html.escape(example, quote=False) in html.unescape(page) or example in html.unescape(page)


@pytest.mark.parametrize("q", ["fox -snow", "fox or snow", "rating:0", "sort:size fox", "sort:random:5"])
async def test_a_searched_page_costs_a_fixed_number_of_statements(
    client: httpx.AsyncClient, db: Database, settings: Settings, q: str
) -> None:
    made = await seed(db, settings.home, 40)
    await tagged(db, made, "fox")
    await tagged(db, made[:2], "snow")
    await client.get("/", params={"q": q})
    remembered._facts.clear()
    with statements(db) as few:
        await client.get("/", params={"q": q})
    more = await seed(db, settings.home, 600, latest=EARLIER)
    await tagged(db, more, "fox")
    with statements(db) as many:
        await client.get("/", params={"q": q})
    assert len(many) == len(few)
    assert len(many) <= 24


@pytest.mark.parametrize("sort", ["id;select", "id", "date desc", "DATE"])
async def test_e28_an_order_that_is_none_of_ours_is_no_request(client: httpx.AsyncClient, sort: str) -> None:
    assert (await client.get("/", params={"sort": sort})).status_code == 400


async def test_an_order_beside_a_search_becomes_a_part_of_it(client: httpx.AsyncClient) -> None:
    answer = await client.get("/", params={"q": "fox sort:added", "sort": "size"})
    assert answer.status_code == 303
    assert query(answer.headers["location"]) == "fox sort:size"
