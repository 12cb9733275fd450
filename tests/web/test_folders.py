"""The folder pages: levels, counts, names that are bytes, and nothing shown that must not be."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

import httpx
import pytest

from appliance.accounts import sessions
from appliance.accounts.models import Role
from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.library import folders
from appliance.web.folders import packed, unpacked
from tests.people import a_person
from tests.seed import seed
from tests.web.conftest import statements


async def hang(db: Database, settings: Settings, paths: Sequence[bytes]) -> list[int]:
    """Pictures at these paths under one root, in that order."""
    made = await seed(db, settings.home, len(paths), stored=0)
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "UPDATE asset_file f SET path = t.path FROM unnest($1::bigint[], $2::bytea[]) AS t(id, path)"
            " WHERE f.asset_id = t.id",
            made,
            list(paths),
        )
    return made


async def root_of(db: Database) -> int:
    async with db.unit_of_work() as uow:
        found: int = await uow.sql.fetchval("SELECT id FROM root WHERE purpose = 'folder'")
    return found


def shown(text: str) -> list[str]:
    return [html.unescape(n) for n in re.findall(r'class="folder-name".*?<b>(.*?)</b>', text, re.DOTALL)]


def counts(text: str) -> list[str]:
    return re.findall(r'<span class="dim n">([\d,+]+) pictures?', text)


def doors(text: str) -> list[str]:
    return [html.unescape(u) for u in re.findall(r'class="folder-name" href="([^"]+)"', text)]


async def test_roots_lead_to_their_folders_and_those_to_the_gallery(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await hang(db, settings, [b"a/1.jpg", b"a/b/2.jpg", b"a/b/3.jpg", b"c/4.jpg", b"5.jpg"])
    page = (await client.get("/folders")).text
    assert len(shown(page)) == 1
    assert counts(page) == ["5"]
    inside = (await client.get(f"/folders?root={await root_of(db)}")).text
    assert shown(inside) == ["a", "c"]
    assert counts(inside) == ["3", "1"]
    assert "Folders inside a" in inside
    assert "Folders inside c" not in inside
    deeper = (await client.get(f"/folders?root={await root_of(db)}&in={packed(b'a')}")).text
    assert shown(deeper) == ["b"]
    assert "folder%3A" in doors(deeper)[0]
    assert doors(deeper)[0].endswith("seeded%2Fa%2Fb")


async def test_a_folder_is_not_its_neighbour_that_begins_alike(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    names = [b"a/1.jpg", b"a b/2.jpg", b"a.d/3.jpg", b"a0/4.jpg", b"ab/5.jpg", b"a-/6.jpg"]
    await hang(db, settings, names)
    inside = (await client.get(f"/folders?root={await root_of(db)}")).text
    assert sorted(shown(inside)) == ["a", "a b", "a-", "a.d", "a0", "ab"]
    assert counts(inside) == ["1"] * 6


async def test_names_are_bytes(client: httpx.AsyncClient, db: Database, settings: Settings) -> None:
    await hang(db, settings, [b"caf\xe9/x/1.jpg", b"\xff\xff/2.jpg", "größe/3.jpg".encode(), b"<b>/4.jpg"])
    inside = (await client.get(f"/folders?root={await root_of(db)}")).text
    assert shown(inside) == ["<b>", r"caf\xe9", "größe", r"\xff\xff"]
    deeper = await client.get(f"/folders?root={await root_of(db)}&in={packed(bytes([99, 97, 102, 0xE9]))}")
    assert shown(deeper.text) == ["x"]


@pytest.mark.parametrize("text", ["%", "a", "é", "A" * 9000])
async def test_a_place_that_is_none_is_refused(client: httpx.AsyncClient, account: int, text: str) -> None:
    answer = await client.get("/folders", params={"root": "1", "in": text})
    assert answer.status_code in {404, 422}


async def test_many_folders_come_in_pages_without_gaps(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await hang(db, settings, [f"f{n:03d}/{n}.jpg".encode() for n in range(75)])
    url, seen = f"/folders?root={await root_of(db)}", []
    while url:
        page = (await client.get(url)).text
        seen += shown(page)
        more = re.search(r'class="pager-plain"><a class="btn" href="([^"]+)"', page)
        url = html.unescape(more[1]) if more else ""
    assert seen == [f"f{n:03d}" for n in range(75)]


async def test_a_viewer_sees_no_folder_that_holds_only_hidden_pictures(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    made = await hang(db, settings, [b"open/1.jpg", b"secret/2.jpg", b"gone/3.jpg"])
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET private = true WHERE id = $1", made[1])
        await uow.sql.execute("UPDATE asset SET state = 'trashed' WHERE id = $1", made[2])
        viewer = await a_person(uow, "bo", "four words make two", role=Role.VIEWER)
        token = await sessions.start(uow.sql, viewer, address="127.0.0.1", agent="tests")
    url = f"/folders?root={await root_of(db)}"
    assert shown((await client.get(url)).text) == ["gone", "open", "secret"]
    client.cookies.set("vitrine", token, domain="localhost.local")
    assert shown((await client.get(url)).text) == ["open"]


async def test_a_large_folder_is_counted_up_to_a_limit_and_has_covers(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await hang(db, settings, [f"big/{n:05d}.jpg".encode() for n in range(folders.SAMPLE + 50)])
    page = (await client.get(f"/folders?root={await root_of(db)}")).text
    assert counts(page) == [f"{folders.SAMPLE}+"]
    assert page.count("/grid-240?v=1") == folders.COVERS


async def test_the_page_costs_a_fixed_number_of_statements(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await hang(db, settings, [f"{n % 3}/{n}.jpg".encode() for n in range(6)])
    url = f"/folders?root={await root_of(db)}"
    await client.get(url)
    with statements(db) as few:
        await client.get(url)
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset_file SET path = convert_to(asset_id::text || '/x.jpg', 'UTF8')")
    with statements(db) as many:
        await client.get(url)
    assert len(many) == len(few) <= 8


@pytest.mark.parametrize("path", [b"", b"a", b"a/b", bytes(range(1, 256))])
def test_a_path_comes_back_from_its_address(path: bytes) -> None:
    assert unpacked(packed(path)) == path


async def test_every_door_leads_to_exactly_what_lies_inside(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    names = [b"caf\xe9/x/1.jpg", b"caf\xe9 2/2.jpg", b'say "hi" (2)/3.jpg', b"a\\xe9/4.jpg", b"-or/5.jpg"]
    made = await hang(db, settings, names)
    inside = (await client.get(f"/folders?root={await root_of(db)}")).text
    found = {}
    for name, door in zip(shown(inside), doors(inside), strict=True):
        page = (await client.get(door)).text
        found[name] = [int(n) for n in re.findall(r'<a href="/asset/(\d+)', page)]
    assert sorted(found.values()) == sorted([m] for m in made)
