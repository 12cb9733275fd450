"""The table of tags and the page of one, over HTTP."""

from __future__ import annotations

import re

import httpx
import pytest

from appliance.accounts import sessions
from appliance.accounts.models import Role
from appliance.core.db import Database
from appliance.tagging import merging
from appliance.tagging import services as tagging
from tests.people import a_person
from tests.tagging.conftest import carried, many, tag
from tests.web.conftest import PARTIAL


async def put(db: Database, ids: list[int], tag_id: int) -> None:
    async with db.unit_of_work() as uow:
        await tagging.assign(uow, ids, [tag_id])


async def test_the_table_walks_through_all_tags_once_in_both_orders(
    client: httpx.AsyncClient, db: Database
) -> None:
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO tag (name, name_key, kind, uses) SELECT 't' || n, 't' || n, 'general', n % 7"
            " FROM generate_series(1, 250) n"
        )
    for order in ("uses", "name"):
        seen: list[str] = []
        path: str | None = f"/tags?order={order}"
        while path:
            text = (await client.get(path, headers=PARTIAL)).text
            seen += re.findall(r'href="/tags/(\d+)"', text)
            found = re.search(r'hx-get="(/tags\?[^"]*after[^"]*)"', text)
            path = found[1].replace("&amp;", "&") if found else None
        assert len(seen) == len(set(seen)) == 250
    assert (await client.get("/tags?after=9999999999999999999999&below=1&order=uses")).status_code == 200


async def test_tags_are_filtered_by_name_other_name_and_kind(client: httpx.AsyncClient, db: Database) -> None:
    cat = await tag(db, "black cat")
    await tag(db, "dog")
    await tag(db, "Cathy", "artist")
    async with db.unit_of_work() as uow:
        await tagging.add_alias(uow, cat, "panther")
    whole = (await client.get("/tags?text=cat")).text
    assert "black cat" in whole
    assert "Cathy" in whole
    assert ">dog<" not in whole
    assert "Cathy" not in (await client.get("/tags?text=PANTH", headers=PARTIAL)).text
    assert "black cat" not in (await client.get("/tags?text=cat&kind=artist", headers=PARTIAL)).text
    assert (await client.get("/tags", params={"text": "\0%_"})).status_code == 200


async def test_counts_in_the_table_are_of_this_moment(client: httpx.AsyncClient, db: Database) -> None:
    ids = await many(db, 1234)
    await put(db, ids, await tag(db, "cat"))
    assert "1,234" in (await client.get("/tags", headers=PARTIAL)).text


async def test_completion_offers_to_make_what_nobody_is_called(
    client: httpx.AsyncClient, db: Database
) -> None:
    await tag(db, "cat", "artist")
    found = await client.get("/tags/complete", params={"text": "ca", "create": "1"}, headers=PARTIAL)
    assert 'class="k-artist"' in found.text
    assert "Create “ca”" in found.text
    known = await client.get("/tags/complete", params={"text": "artist:CAT", "create": "1"}, headers=PARTIAL)
    assert "Create" not in known.text
    fandom = await client.get("/tags/fandom", params={"fandom": "<i>New"})
    assert "Create the fandom “&lt;i&gt;New” too" in fandom.text


async def test_renaming_to_a_name_that_is_taken_offers_the_merge(
    client: httpx.AsyncClient, db: Database
) -> None:
    cat, dog = await tag(db, "cat"), await tag(db, "dog")
    answer = await client.post(f"/tags/{cat}/name", data={"name": "DOG"}, headers=PARTIAL)
    assert answer.status_code == 409
    assert f'href="/tags/{cat}/merge?into=%23{dog}"' in answer.text
    answer = await client.post(f"/tags/{cat}/name", data={"name": "kitten"}, headers=PARTIAL)
    assert answer.status_code == 200
    assert "Also found as" in answer.text
    assert (await client.post(f"/tags/{cat}/name", data={"name": " "}, headers=PARTIAL)).status_code == 422


async def test_a_merge_is_counted_before_it_is_done(client: httpx.AsyncClient, db: Database) -> None:
    ids = await many(db, 10)
    cat, dog = await tag(db, "cat"), await tag(db, "dog")
    await put(db, ids[:6], cat)
    await put(db, ids[4:], dog)
    asked = await client.get(f"/tags/{cat}/merge", params={"into": "dog"}, headers=PARTIAL)
    assert "2 assets carry both" in asked.text
    assert "Merge 6 assets" in asked.text
    assert len(await carried(db)) == 12
    done = await client.post(f"/tags/{cat}/merge", data={"target": str(dog)})
    assert (done.status_code, done.headers["Location"]) == (303, f"/tags/{dog}")
    assert await carried(db) == {(i, dog) for i in ids}
    gone = await client.get(f"/tags/{cat}")
    assert gone.headers["Location"] == f"/tags/{dog}"


async def test_a_large_merge_is_said_to_be_under_way(
    client: httpx.AsyncClient, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "AT_ONCE", 3)
    ids = await many(db, 5)
    cat, dog = await tag(db, "cat"), await tag(db, "dog")
    await put(db, ids, cat)
    asked = await client.post(f"/tags/{cat}/merge", data={"target": str(dog)})
    assert asked.headers["Location"] == f"/tags/{cat}"
    page = (await client.get(f"/tags/{cat}")).text
    assert "Being merged into dog" in page
    assert await carried(db) == {(i, cat) for i in ids}
    async with db.unit_of_work() as uow:
        await tagging.merge(uow, cat, dog)
    gone = await client.get(f"/tags/{cat}", headers=PARTIAL)
    assert gone.headers["HX-Redirect"] == f"/tags/{dog}"


async def test_kind_and_fandom_change_together_with_a_new_fandom_at_once(
    client: httpx.AsyncClient, db: Database
) -> None:
    rin = await tag(db, "Rin")
    form = {"kind": "character", "fandom": "Tidepool"}
    asked = await client.post(f"/tags/{rin}/kind", data=form, headers=PARTIAL)
    assert asked.status_code == 422
    assert "Create the fandom “Tidepool” too" in asked.text
    done = await client.post(f"/tags/{rin}/kind", data=form | {"make_fandom": "1"}, headers=PARTIAL)
    assert done.status_code == 200
    async with db.unit_of_work() as uow:
        assert await tagging.resolve(uow.sql, "rin", fandom="tidepool") == [rin]


async def test_other_names_come_and_go_and_unused_tags_are_deleted(
    client: httpx.AsyncClient, db: Database
) -> None:
    cat = await tag(db, "cat")
    page = await client.post(f"/tags/{cat}/aliases", data={"name": "feline"}, headers=PARTIAL)
    remove = re.search(rf'action="(/tags/{cat}/aliases/\d+/remove)"', page.text)
    assert remove
    assert (await client.post(remove[1])).status_code == 303
    async with db.unit_of_work() as uow:
        assert await tagging.resolve(uow.sql, "feline") == []
    ids = await many(db, 1)
    await put(db, ids, cat)
    assert (await client.post(f"/tags/{cat}/delete", headers=PARTIAL)).status_code == 409
    async with db.unit_of_work() as uow:
        await tagging.unassign(uow, ids, [cat])
    assert (await client.post(f"/tags/{cat}/delete")).headers["Location"] == "/tags"
    assert (await client.get(f"/tags/{cat}")).status_code == 404


async def test_a_new_tag_is_made_on_its_own_page(client: httpx.AsyncClient, db: Database) -> None:
    made = await client.post("/tags/new", data={"name": "Lune Marin", "kind": "artist"})
    page = await client.get(made.headers["Location"])
    assert "Lune Marin" in page.text
    refused = await client.post("/tags/new", data={"name": "", "kind": "artist"})
    assert refused.status_code == 422
    assert (await client.post("/tags/new", data={"name": "x", "kind": "colour"})).status_code == 422


async def test_viewers_read_tags_and_change_none(client: httpx.AsyncClient, db: Database) -> None:
    cat = await tag(db, "cat")
    async with db.unit_of_work() as uow:
        viewer = await a_person(uow, "ben", "four words make two", role=Role.VIEWER)
        token = await sessions.start(uow.sql, viewer, address="127.0.0.1", agent="tests")
    client.cookies.set("vitrine", token, domain="localhost.local")
    assert "cat" in (await client.get("/tags")).text
    page = await client.get(f"/tags/{cat}")
    assert "Rename" not in page.text
    assert (await client.get(f"/tags/{cat}/merge")).status_code == 403
    for path in ("name", "kind", "aliases", "delete", "merge"):
        answer = await client.post(
            f"/tags/{cat}/{path}", data={"name": "dog", "target": "1"}, headers=PARTIAL
        )
        assert answer.status_code == 403
