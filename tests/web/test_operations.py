"""Selections and actions over HTTP: counted first, done at once or watched, taken back."""

from __future__ import annotations

import json
import re
import time

import httpx
import pytest

from appliance.accounts import services as accounts
from appliance.accounts import sessions
from appliance.accounts.models import Role
from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.tagging import services as tagging
from tests.operations.conftest import Library
from tests.seed import seed
from tests.web.conftest import PARTIAL, statements


@pytest.fixture
def library(db: Database, settings: Settings) -> Library:
    return Library(db)


def selection(**given: object) -> str:
    return json.dumps({"q": "", "all": False, "ranges": [], "ids": [], "without": []} | given)


async def ask(client: httpx.AsyncClient, kind: str, chosen: str, **form: str) -> httpx.Response:
    sent = {"kind": kind, "selection": chosen} | form
    return await client.post("/operations", data=sent, headers=PARTIAL)


async def counted(client: httpx.AsyncClient, chosen: str) -> int:
    answer = await client.post("/selection/count", data={"selection": chosen}, headers=PARTIAL)
    assert answer.status_code == 200
    found = re.search(r'data-count="(\d+)"', answer.text)
    assert found
    return int(found[1])


def number_of(answer: httpx.Response) -> int:
    found = re.search(r"operation-line-(\d+)", answer.text)
    assert found, answer.text
    return int(found[1])


async def test_a74_select_all_means_every_hit_not_what_is_loaded(
    client: httpx.AsyncClient, library: Library
) -> None:
    ids = await library.fill(900)
    await library.act("tag", ids[:500], tags="sea")
    await library.act("tag", ids[500:600], tags="sea")
    chosen = selection(q="sea", all=True)

    assert await counted(client, chosen) == 600
    answer = await ask(client, "tag", chosen, tags="anna", expect="600")
    assert answer.status_code == 202
    await library.carry_out(number_of(answer))

    assert await library.tagged("anna") == 600


async def test_a_few_are_done_at_once_and_the_line_offers_the_undo(
    client: httpx.AsyncClient, library: Library
) -> None:
    ids = await library.fill(5)
    answer = await ask(client, "rate", selection(ids=ids[:4], without=ids[:1]), rating="4", expect="3")

    assert answer.status_code == 200
    assert "Rated 3" in answer.text
    number = number_of(answer)
    assert f"/operations/{number}/undo" in answer.text
    undone = await client.post(f"/operations/{number}/undo", headers=PARTIAL)
    assert "Undone for 3" in undone.text
    assert await library.value("SELECT max(rating) FROM asset") == 0


async def test_another_number_than_was_shown_changes_nothing_and_is_said(
    client: httpx.AsyncClient, library: Library
) -> None:
    await library.fill(12)
    answer = await ask(client, "trash", selection(all=True), expect="9")

    assert answer.status_code == 409
    assert "It is 12 now, not 9" in answer.text
    assert await library.value("SELECT count(*) FROM asset WHERE state = 'trashed'") == 0
    assert await library.value("SELECT count(*) FROM operation") == 0


async def test_a77_five_thousand_answer_at_once_with_a_row_and_its_progress(
    client: httpx.AsyncClient, library: Library
) -> None:
    await library.fill(5_000)
    began = time.monotonic()
    answer = await ask(client, "trash", selection(all=True), expect="5000")

    # A proxy in front gives up after ten seconds.
    assert time.monotonic() - began < 5
    assert answer.status_code == 202
    assert "Moving 5,000 to the trash" in answer.text
    number = number_of(answer)
    await library.carry_out(number, chunks=2)
    half = await client.get(f"/operations/{number}", headers=PARTIAL)
    assert 'value="40"' in half.text
    await library.carry_out(number)
    done = await client.get(f"/operations/{number}", headers=PARTIAL)
    assert "Moved 5,000 to the trash" in done.text
    assert "Undo" in done.text


async def test_a_range_over_pages_that_nobody_loaded_is_what_the_database_counts(
    client: httpx.AsyncClient, library: Library
) -> None:
    ids = await library.fill(1_000)
    rows = await library.rows(
        "SELECT to_char(effective_at, 'YYYYMMDD\"T\"HH24MISS.US') || '_' || id AS place FROM asset"
        " WHERE id = ANY($1::bigint[]) ORDER BY id",
        [ids[100], ids[799]],
    )
    there, back = [row["place"] for row in rows], [row["place"] for row in reversed(rows)]
    assert await counted(client, selection(ranges=[there])) == 700
    assert await counted(client, selection(ranges=[back], without=[ids[300]], ids=[ids[0], ids[150]])) == 700


async def test_both_halves_of_the_tag_dialog_are_one(client: httpx.AsyncClient, library: Library) -> None:
    ids = await library.fill(6)
    await library.act("tag", ids, tags="sea")
    await library.act("tag", ids[:2], tags="artist:anna")
    chosen = selection(q="sea", all=True)

    dialog = await client.post("/selection/tags", data={"selection": chosen}, headers=PARTIAL)
    assert re.search(r'data-was="all" checked.*?sea', dialog.text, re.DOTALL)
    assert re.search(r'data-was="some".*?anna.*?2 of 6', dialog.text, re.DOTALL)

    sea = await library.value("SELECT id FROM tag WHERE name = 'sea'")
    answer = await client.post(
        "/operations/tags",
        data={"selection": chosen, "off": f"#{sea}", "on": "artist:anna; beach", "expect": "6"},
        headers=PARTIAL,
    )
    assert answer.status_code == 200
    assert (await library.tagged("sea"), await library.tagged("anna")) == (0, 6)
    assert await library.tagged("beach") == 6
    assert answer.text.count("/undo") == 4


async def test_deleting_many_for_good_asks_for_the_number(
    client: httpx.AsyncClient, library: Library
) -> None:
    ids = await library.fill(51)
    await library.act("trash", ids)
    chosen = selection(q="is:trashed", all=True)

    dialog = await client.post("/selection/purge", data={"selection": chosen}, headers=PARTIAL)
    assert "Type 51 to confirm" in dialog.text
    for typed in ("", "50"):
        refused = await ask(client, "purge", chosen, expect="51", typed=typed)
        assert refused.status_code == 422
    assert await library.value("SELECT count(*) FROM asset") == 51

    answer = await ask(client, "purge", chosen, expect="51", typed="51")
    assert "Deleted 51 for good" in answer.text
    assert await library.value("SELECT count(*) FROM asset") == 0


async def test_a_few_are_deleted_for_good_without_typing(client: httpx.AsyncClient, library: Library) -> None:
    ids = await library.fill(3)
    await library.act("trash", ids)
    dialog = await client.post("/selection/purge", data={"selection": selection(ids=ids)}, headers=PARTIAL)
    assert "confirm" not in dialog.text
    answer = await ask(client, "purge", selection(ids=ids), expect="3")
    assert answer.status_code == 200
    assert await library.value("SELECT count(*) FROM asset") == 0


async def test_what_was_taken_out_of_the_trash_meanwhile_is_not_deleted(
    client: httpx.AsyncClient, library: Library
) -> None:
    ids = await library.fill(3)
    await library.act("trash", ids)
    await library.act("restore", ids[:1])
    chosen = selection(ids=ids)
    dialog = await client.post("/selection/purge", data={"selection": chosen}, headers=PARTIAL)
    assert "Delete 2 items for good" in dialog.text
    answer = await ask(client, "purge", chosen, expect="2")
    assert "Deleted 2 for good" in answer.text
    assert await library.value("SELECT array_agg(id) FROM asset") == ids[:1]


async def test_viewers_select_and_change_nothing(
    client: httpx.AsyncClient, library: Library, db: Database
) -> None:
    ids = await library.fill(2)
    async with db.unit_of_work() as uow:
        viewer = await accounts.add_person(uow, "ben", "four words make one", role=Role.VIEWER)
        token = await sessions.start(uow.sql, viewer, address="127.0.0.1", agent="tests")
    client.cookies.set("vitrine", token, domain="localhost.local")
    assert (await ask(client, "trash", selection(ids=ids))).status_code == 403
    for path in ("/selection/count", "/selection/tags", "/operations/undo", "/operations/1/undo"):
        assert (await client.post(path, headers=PARTIAL)).status_code == 403
    assert (await client.get("/history")).status_code == 403
    assert await library.value("SELECT count(*) FROM operation") == 0


async def test_the_last_action_of_a_person_is_undone_by_one_request(
    client: httpx.AsyncClient, library: Library
) -> None:
    ids = await library.fill(3)
    await ask(client, "favourite", selection(ids=ids))
    await ask(client, "rate", selection(ids=ids), rating="5")
    await library.act("archive", ids)

    first = await client.post("/operations/undo", headers=PARTIAL)
    second = await client.post("/operations/undo", headers=PARTIAL)
    third = await client.post("/operations/undo", headers=PARTIAL)

    assert (first.status_code, second.status_code, third.status_code) == (200, 200, 422)
    found = await library.rows("SELECT DISTINCT rating, favourite, state FROM asset")
    assert [tuple(r) for r in found] == [(0, False, "archived")]


async def test_one_key_makes_favourites_and_takes_that_away_where_all_are(
    client: httpx.AsyncClient, library: Library
) -> None:
    ids = await library.fill(4)
    await library.act("favourite", ids[:2])
    said = []
    for chosen in (selection(ids=ids[:2]), selection(ids=ids[1:3]), selection(all=True), selection(all=True)):
        answer = await ask(client, "favourite", chosen, toggle="1")
        assert answer.status_code == 200
        said.append(re.search(r"<span>([^<]+)", answer.text)[1])  # type: ignore[index]

    assert said == [
        "Took 2 out of the favourites",
        "Made 2 favourite",
        "Made 2 favourite",
        "Took 4 out of the favourites",
    ]
    answer = await ask(client, "favourite", selection(), toggle="1")
    assert (answer.status_code, "Nothing is selected" in answer.text) == (422, True)
    await client.post("/operations/undo", headers=PARTIAL)
    assert await library.value("SELECT count(*) FROM asset WHERE favourite") == 4
    # The button that says so makes favourites, whatever they are.
    answer = await ask(client, "favourite", selection(all=True))
    assert await library.value("SELECT count(*) FROM asset WHERE favourite") == 4


@pytest.mark.parametrize("change", ["changed = 501", "finished_at = now() - interval '11 minutes'"])
async def test_one_key_takes_back_neither_large_actions_nor_old_ones(
    client: httpx.AsyncClient, library: Library, change: str
) -> None:
    ids = await library.fill(3)
    await ask(client, "rate", selection(ids=ids), rating="5")
    async with library.db.unit_of_work() as uow:
        await uow.sql.execute(f"UPDATE operation SET {change}")

    answer = await client.post("/operations/undo", headers=PARTIAL)

    assert answer.status_code == 422
    assert "history" in answer.text
    assert [tuple(r) for r in await library.rows("SELECT DISTINCT rating FROM asset")] == [(5,)]


@pytest.mark.parametrize(
    ("kind", "chosen", "form"),
    [
        ("destroy", selection(all=True), {}),
        ("undo", selection(all=True), {}),
        ("title", selection(all=True), {"title": "x"}),
        ("turn", selection(all=True), {"by": "90"}),
        ("rate", selection(all=True), {"rating": "9"}),
        ("rate", "nonsense", {"rating": "1"}),
        ("rate", selection(), {"rating": "1"}),
        ("rate", selection(ranges=[["x", "y"]]), {"rating": "1"}),
        ("rate", selection(q="rating:", all=True), {"rating": "1"}),
        ("tag", selection(all=True), {"tags": "a\u202eb"}),
    ],
)
async def test_nonsense_is_refused_in_words(
    client: httpx.AsyncClient, library: Library, kind: str, chosen: str, form: dict[str, str]
) -> None:
    await library.fill(2)
    answer = await ask(client, kind, chosen, **form)
    assert answer.status_code == 422
    assert 'class="toast bad"' in answer.text
    assert await library.value("SELECT count(*) FROM operation") == 0


async def test_an_action_costs_a_fixed_number_of_statements(
    client: httpx.AsyncClient, library: Library, db: Database
) -> None:
    ids = await library.fill(400)
    with statements(db) as few:
        await ask(client, "rate", selection(ids=ids[:10]), rating="1")
    with statements(db) as many:
        await ask(client, "rate", selection(all=True), rating="2")
    assert len(many) <= len(few) + 4


async def test_private_pictures_are_not_in_a_selection_of_everything(
    client: httpx.AsyncClient, library: Library
) -> None:
    ids = await library.fill(4)
    await library.act("private", ids[:1])
    assert await counted(client, selection(all=True)) == 3
    assert await counted(client, selection(q="is:private", all=True)) == 1


async def test_names_of_tags_complete_the_last_one_typed(client: httpx.AsyncClient, library: Library) -> None:
    ids = await library.fill(1)
    await library.act("tag", ids, tags="artist:annabel")
    found = await client.get("/selection/names", params={"text": "sea; anna"}, headers=PARTIAL)
    assert 'value="sea; artist:annabel"' in found.text


async def test_a_name_with_a_semicolon_is_offered_by_its_number(
    client: httpx.AsyncClient, library: Library
) -> None:
    async with library.db.unit_of_work() as uow:
        tag = await tagging.make(uow, "a;b", "general")

    found = await client.get("/selection/names", params={"text": "sea; a"}, headers=PARTIAL)

    assert f'value="sea; #{tag}"' in found.text
    assert "a;b" in found.text


async def test_the_trash_says_how_much_lies_there(client: httpx.AsyncClient, library: Library) -> None:
    ids = await library.fill(3)
    await library.act("trash", ids)
    bar = await client.get("/trash", headers=PARTIAL)
    assert "3 items in the trash" in bar.text
    assert (await client.get("/trash")).headers["location"].startswith("/?q=is")


async def test_seeded_pictures_can_be_acted_on(
    client: httpx.AsyncClient, library: Library, settings: Settings
) -> None:
    ids = await seed(library.db, settings.home, 3, stored=0)
    answer = await ask(client, "archive", selection(ids=ids))
    assert "Archived 3" in answer.text
