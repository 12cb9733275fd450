"""The history page: who did what to how many, how it stands, and the way back."""

from __future__ import annotations

import httpx
import pytest

from appliance.core.db import Database
from appliance.core.settings import Settings
from tests.operations.conftest import Library
from tests.web.conftest import PARTIAL, statements


@pytest.fixture
def library(db: Database, settings: Settings) -> Library:
    return Library(db)


async def test_an_empty_history_says_what_will_stand_there(client: httpx.AsyncClient) -> None:
    shown = await client.get("/history")
    assert shown.status_code == 200
    assert "Nothing here yet" in shown.text


async def test_each_action_stands_with_who_what_and_how_many(
    client: httpx.AsyncClient, library: Library, account: int
) -> None:
    ids = await library.fill(4)
    await library.act("tag", ids, person=account, tags="sea; artist:anna")
    await library.act("rate", ids[:1], person=account, rating="4")
    await library.act("rate", ids, person=account, rating="4")
    await library.act("date", ids, days="-1")

    shown = (await client.get("/history")).text

    assert "Tag: <bdi>anna</bdi>, <bdi>sea</bdi>" in shown or "Tag: <bdi>sea</bdi>, <bdi>anna</bdi>" in shown
    assert "Rate: 4 stars" in shown
    assert "1 was so already" in shown
    assert "Change date: −1 day" in shown  # noqa: RUF001 - the real minus sign
    assert shown.count('/undo" hx-post') == 4
    assert shown.count('data-l="By:">anna<') == 3


async def test_edits_of_one_picture_stand_there_with_a_way_to_it(
    client: httpx.AsyncClient, library: Library
) -> None:
    (one,) = await library.fill(1)
    await library.act("title", [one], title="A <i>day</i>")
    await library.act("note", [one], note="secret " * 900)
    await library.act("turn", [one], by="270")
    await library.act("date", [one], to="2020-01-02")
    await library.act("own_date", [one])

    shown = (await client.get("/history")).text

    for words in (
        "Set the title: “<bdi>A &lt;i&gt;day&lt;/i&gt;</bdi>”",
        "Set the note",
        "Turn: left",
        "Use the file&#39;s own date",
    ):
        assert words in shown
    assert shown.count(f'href="/asset/{one}"') == 5 == shown.count('/undo" hx-post')
    assert "secret" not in shown
    for kind, rows in (("words", 2), ("dates", 2), ("turned", 1)):
        page = (await client.get(f"/history?kind={kind}")).text
        assert page.count('<tr role="row" id="operation-') == rows


async def test_an_undo_that_comes_too_late_says_so_and_is_not_called_undone(
    client: httpx.AsyncClient, library: Library
) -> None:
    (one,) = await library.fill(1)
    first = await library.act("title", [one], title="mine")
    await library.act("title", [one], title="yours")

    answer = await client.post(f"/operations/{first.id}/undo", headers=PARTIAL)

    assert "Nothing was undone" in answer.text
    assert "1 changed since and stays as it is" in answer.text
    shown = (await client.get("/history")).text
    assert shown.count("Changed since</span>") == 1
    assert "Undone</span>" not in shown
    assert await library.value("SELECT title FROM asset") == "yours"
    assert f'action="/operations/{first.id}/undo"' in shown


async def test_what_was_undone_in_part_says_so_and_offers_the_rest(
    client: httpx.AsyncClient, library: Library
) -> None:
    ids = await library.fill(3)
    rated = await library.act("rate", ids, rating="3")
    over = await library.act("rate", ids[:1], rating="5")
    for operation, state, offered in ((rated, "Partly undone", True), (over, "Undone", False)):
        answer = await client.post(f"/operations/{operation.id}/undo", headers=PARTIAL)
        assert answer.status_code == 200
        shown = (await client.get("/history")).text
        assert f"{state}</span>" in shown
        assert (f'action="/operations/{operation.id}/undo"' in shown) is offered
    assert (await client.post(f"/operations/{rated.id}/undo", headers=PARTIAL)).status_code == 200
    shown = (await client.get("/history")).text
    assert "Partly" not in shown
    assert shown.count(">Undone</span>") == 2


async def test_what_is_gone_for_good_offers_no_undo_and_says_why(
    client: httpx.AsyncClient, library: Library
) -> None:
    ids = await library.fill(3)
    rated = await library.act("rate", ids[:2], rating="4")
    tagged = await library.act("tag", ids, tags="sea")
    thrown = await library.act("trash", ids[:2])
    await library.act("purge", ids[:2])

    shown = (await client.get("/history")).text

    assert shown.count("2 deleted for good since") == 3
    for operation, offered in ((rated, False), (thrown, False), (tagged, True)):
        assert (f"/operations/{operation.id}/undo" in shown) is offered
    late = await client.post(f"/operations/{rated.id}/undo", headers=PARTIAL)
    assert late.status_code == 409
    assert "deleted for good" in late.text
    undone = await client.post(f"/operations/{tagged.id}/undo", headers=PARTIAL)
    assert "Undone for 1" in undone.text
    assert "2 deleted for good since" in undone.text


async def test_what_was_undone_offers_no_second_undo(client: httpx.AsyncClient, library: Library) -> None:
    ids = await library.fill(2)
    asked = await library.act("trash", ids)
    sent = await client.post(f"/operations/{asked.id}/undo")
    assert sent.status_code == 303
    shown = (await client.get("/history")).text
    assert "Undone" in shown
    assert "Undo: move to trash" in shown
    assert f"/operations/{asked.id}/undo" not in shown
    again = await client.post(f"/operations/{asked.id}/undo", headers=PARTIAL)
    assert again.status_code == 409


async def test_kinds_are_filtered_and_pages_go_on(client: httpx.AsyncClient, library: Library) -> None:
    ids = await library.fill(1)
    for n in range(60):
        await library.act("rate", ids, rating=str(n % 2 + 1))
    await library.act("trash", ids)

    trash = (await client.get("/history?kind=places")).text
    assert trash.count('<tr role="row" id="operation-') == 1
    first = (await client.get("/history?kind=ratings")).text
    assert first.count('<tr role="row" id="operation-') == 50
    rest = (await client.get("/history?kind=ratings&before=11")).text
    assert rest.count('<tr role="row" id="operation-') == 10


async def test_the_page_costs_the_same_however_much_was_done(
    client: httpx.AsyncClient, library: Library, db: Database
) -> None:
    ids = await library.fill(1)
    await client.get("/history")
    with statements(db) as one:
        await client.get("/history")
    for n in range(30):
        await library.act("rate", ids, rating=str(n % 2 + 1))
        await library.act("turn", ids, by="90")
    await library.act("trash", ids)
    await library.act("purge", ids)
    with statements(db) as many:
        await client.get("/history")
    assert len(one) == len(many)


async def test_a_running_action_can_be_stopped_from_the_page(
    client: httpx.AsyncClient, library: Library
) -> None:
    ids = await library.fill(600)
    asked = await library.act("trash", ids)
    shown = (await client.get("/history")).text
    assert f"/operations/{asked.id}/cancel" in shown
    await client.post(f"/operations/{asked.id}/cancel")
    assert (await library.operation(asked.id))["status"] == "cancelled"


async def test_actions_belong_to_administrators(stranger: httpx.AsyncClient, account: int) -> None:
    for path in ("/operations", "/operations/1/undo", "/selection/count", "/selection/tags"):
        assert (await stranger.post(path)).status_code in {303, 401}
    assert (await stranger.get("/history")).headers["location"].startswith("/login")
