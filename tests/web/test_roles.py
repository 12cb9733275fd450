"""Viewers: closed routes say so in plain words, and nothing that is hidden shows anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest
from litestar.routes import HTTPRoute

from appliance.accounts import sessions
from appliance.accounts.models import Role
from appliance.core.db import Database
from appliance.core.settings import Settings
from tests.people import a_person
from tests.seed import seed
from tests.web.conftest import PARTIAL, PASSWORD, the_app


FIRST_HIDDEN = 987_654_301
"""Ids that no page can hold by chance."""
VISIBLE = 27
NAMES = {"private": "hush-private", "archived": "hush-archived", "trashed": "hush-trashed"}
QUERIES = (
    "",
    "hushtag",
    "hush",
    "kind:still",
    "type:image",
    "is:private",
    "is:archived",
    "is:trashed",
    "-is:favourite",
    "rating:>=0",
    "date:2026",
    "sort:added",
    "sort:rating",
    "sort:size",
    "sort:random:7",
    'folder:"hush"',
    "text:hush",
    "hushta*",
    "is:private or type:image",
    "-hushtag",
)


class Closed(NamedTuple):
    """A route that is not for viewers, and one that is."""

    method: str
    path: str


def walk(settings: Settings, *, everybody: bool) -> Iterator[Closed]:
    for route in the_app(settings).routes:
        if not isinstance(route, HTTPRoute):
            continue
        for handler in route.route_handlers:
            if handler.opt.get("open") or bool(handler.opt.get("everybody")) is not everybody:
                continue
            for method in sorted(handler.http_methods - {"OPTIONS", "HEAD"}):
                yield Closed(method, route.path)


def filled(path: str, asset_id: int) -> str:
    path = re.sub(r"\{(asset_id|[a-z_]+):int\}", str(asset_id), path)
    return re.sub(r"\{[a-z_]+(:str)?\}", "grid-480", path)


@pytest.fixture
async def viewer(stranger: httpx.AsyncClient, db: Database, account: int) -> httpx.AsyncClient:
    """A browser in which a viewer is signed in."""
    async with db.unit_of_work() as uow:
        bo = await a_person(uow, "bo", PASSWORD, role=Role.VIEWER)
        token = await sessions.start(uow.sql, bo, address="127.0.0.1", agent="tests")
    stranger.cookies.set("vitrine", token, domain="localhost.local")
    return stranger


@pytest.fixture
async def hidden(db: Database, settings: Settings) -> dict[str, int]:
    """A library in which one picture of each hidden kind lies between the others."""
    ids = await seed(db, settings.home, 30, stored=30)
    picked = dict(zip(NAMES, (ids[3], ids[9], ids[15]), strict=True))
    made: dict[str, int] = {}
    async with db.unit_of_work() as uow:
        tag = await uow.sql.fetchval(
            "INSERT INTO tag (name, name_key, kind) VALUES ('hushtag', 'hushtag', 'general') RETURNING id"
        )
        for number, (state, old) in enumerate(picked.items()):
            made[state] = FIRST_HIDDEN + number
            await _move(uow.sql, old, made[state], NAMES[state])
            await uow.sql.execute(
                "INSERT INTO asset_tag (asset_id, tag_id, by, effective_at) "
                "SELECT id, $2, 'human', effective_at FROM asset WHERE id = $1",
                made[state],
                tag,
            )
        await uow.sql.execute("UPDATE asset SET private = true WHERE id = $1", made["private"])
        await uow.sql.execute("UPDATE asset SET state = 'archived' WHERE id = $1", made["archived"])
        await uow.sql.execute(
            "UPDATE asset SET state = 'trashed', trashed_at = now() WHERE id = $1", made["trashed"]
        )
    return made


async def _move(sql: Any, old: int, new: int, name: str) -> None:
    """The same picture under a telling id, title and path."""
    columns = [
        row["column_name"]
        for row in await sql.fetch(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'asset' "
            "AND is_generated = 'NEVER' AND column_name NOT IN ('id', 'title')"
        )
    ]
    listed = ", ".join(f'"{c}"' for c in columns)
    copied = ", ".join("decode('00', 'hex') || sha256" if c == "sha256" else f'"{c}"' for c in columns)
    await sql.execute(
        f"INSERT INTO asset (id, title, {listed}) SELECT $2, $3, {copied} FROM asset WHERE id = $1",
        old,
        new,
        name,
    )
    await sql.execute("UPDATE rendition SET asset_id = $2 WHERE asset_id = $1", old, new)
    path = f"hush/{name}.jpg".encode()
    await sql.execute("UPDATE asset_file SET asset_id = $2, path = $3 WHERE asset_id = $1", old, new, path)
    await sql.execute("UPDATE provenance SET asset_id = $2, path = $3 WHERE asset_id = $1", old, new, path)
    digest = await sql.fetchval("SELECT sha256 FROM asset WHERE id = $1", old)
    await sql.execute("DELETE FROM asset WHERE id = $1", old)
    await sql.execute("UPDATE asset SET sha256 = $2 WHERE id = $1", new, digest)


async def test_a_viewer_is_refused_in_plain_words_wherever_the_route_does_not_say_otherwise(
    viewer: httpx.AsyncClient, settings: Settings, hidden: dict[str, int]
) -> None:
    walked = list(walk(settings, everybody=False))
    assert len(walked) >= 15
    for method, path in walked:
        address = filled(path, hidden["private"])
        page = await viewer.request(method, address)
        assert page.status_code == 403, (method, path, page.status_code)
        assert "Only administrators may do this" in page.text, (method, path)
        part = await viewer.request(method, address, headers=PARTIAL)
        assert part.status_code == 403, (method, path)
        assert "Only administrators may do this" in part.text, (method, path)
        assert "<html" not in part.text, (method, path)


async def test_every_route_that_changes_the_library_is_closed_to_viewers(settings: Settings) -> None:
    own = {"/settings/", "/viewer/", "/asset/{asset_id:int}/play", "/asset/{asset_id:int}/read"}
    changing = [c for c in walk(settings, everybody=True) if c.method != "GET"]
    for method, path in changing:
        assert any(path.startswith(o) for o in own), f"{method} {path} is open to viewers"


def leaks(answer: httpx.Response, hidden: dict[str, int], asked: str) -> list[str]:
    # What the visitor typed may be said back to them.
    body = answer.text
    for typed in {asked, asked.replace("&", "&amp;")}:
        body = body.replace(typed, "")
    found = [str(i) for i in hidden.values() if str(i) in body]
    return found + [name for name in NAMES.values() if name in body]


def addresses(settings: Settings, hidden: dict[str, int], beside: int) -> Iterator[str]:
    for _, path in walk(settings, everybody=True):
        for asset_id in (*hidden.values(), beside):
            yield filled(path, asset_id)
    for asset_id in hidden.values():
        for name in ("grid-240", "grid-480", "preview", "full", "play", "original"):
            yield f"/media/{asset_id}/{name}"
        yield f"/asset/{asset_id}?pane=files"
        yield f"/asset/{asset_id}/panel?pane=files"


async def test_no_page_and_no_fragment_shows_a_hidden_picture(
    viewer: httpx.AsyncClient, settings: Settings, db: Database, hidden: dict[str, int]
) -> None:
    async with db.unit_of_work() as uow:
        beside = await uow.sql.fetchval(
            "SELECT id FROM asset WHERE id < $1 ORDER BY effective_at DESC OFFSET 2 LIMIT 1", FIRST_HIDDEN
        )
    walked = 0
    for address in addresses(settings, hidden, beside):
        for headers in ({}, PARTIAL):
            answer = await viewer.get(address, headers=headers)
            assert answer.status_code < 500, (address, answer.status_code)
            own = str(beside) not in address and any(str(i) in address for i in hidden.values())
            if own and "/media/" in address:
                assert answer.status_code in {404, 405}, (address, answer.status_code)
            found = leaks(answer, hidden, address)
            assert not found, (address, headers, found)
            walked += 1
    assert walked > 50


@pytest.mark.parametrize("query", QUERIES)
async def test_no_search_finds_or_counts_a_hidden_picture(
    viewer: httpx.AsyncClient, hidden: dict[str, int], query: str
) -> None:
    for path in (
        "/",
        "/items",
        "/months",
        "/search/count",
        "/ac",
        "/search/complete",
        "/asset/1",
        "/asset/1/panel",
    ):
        for headers in ({}, PARTIAL):
            answer = await viewer.get(path, params={"q": query}, headers=headers)
            assert answer.status_code < 500, (path, query)
            assert not leaks(answer, hidden, str(answer.request.url.raw_path.decode())), (path, query)
    page = (await viewer.get("/", params={"q": query})).text
    assert len(set(re.findall(r'href="/asset/(\d+)', page))) <= VISIBLE


async def test_neighbours_and_counts_leave_hidden_pictures_out(
    viewer: httpx.AsyncClient, db: Database, hidden: dict[str, int]
) -> None:
    page = (await viewer.get("/")).text
    shown = [int(i) for i in re.findall(r'<a[^>]+href="/asset/(\d+)', page)]
    assert len(set(shown)) == VISIBLE
    for asset_id in shown:
        answer = await viewer.get(f"/asset/{asset_id}")
        assert answer.status_code == 200
        beside = {int(i) for i in re.findall(r'href="/asset/(\d+)', answer.text)}
        assert beside <= set(shown), (asset_id, beside - set(shown))


async def test_an_administrator_sees_them_where_they_belong(
    client: httpx.AsyncClient, hidden: dict[str, int]
) -> None:
    for state, asset_id in hidden.items():
        assert (await client.get(f"/asset/{asset_id}")).status_code == 200, state
        found = await client.get("/", params={"q": f"is:{state}"})
        assert str(asset_id) in found.text, state
    timeline = (await client.get("/")).text
    assert not any(str(i) in timeline for i in hidden.values())


async def test_a_tag_that_only_hidden_pictures_carry_is_nobodys_business(
    viewer: httpx.AsyncClient, db: Database, hidden: dict[str, int]
) -> None:
    async with db.unit_of_work() as uow:
        tag = await uow.sql.fetchval("SELECT id FROM tag WHERE name_key = 'hushtag'")
    for path in ("/tags", "/tags?order=name", "/tags/complete?text=hush", "/search/complete?q=hush&at=4"):
        for headers in ({}, PARTIAL):
            assert "hushtag" not in (await viewer.get(path, headers=headers)).text, path
    assert (await viewer.get(f"/tags/{tag}")).status_code == 404
    # Whether a name exists is not told either: one that does answers like one that does not.
    said = [(await viewer.get("/", params={"q": q})).text.replace(q, "") for q in ("hushtag", "rushtag")]
    assert "No picture matches this" in said[0]
    assert "No tag is called" not in said[1]
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET private = false WHERE id = $1", hidden["private"])
    # Counted at once, before the counters are folded.
    assert "hushtag" in (await viewer.get("/tags")).text
    assert (await viewer.get(f"/tags/{tag}")).status_code == 200
