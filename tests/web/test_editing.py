"""Editing one asset over HTTP: fragments at the field, undo, and plain forms without scripts."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from appliance.accounts import services as accounts
from appliance.accounts import sessions
from appliance.accounts.models import Role
from appliance.core.db import Database
from appliance.library import queries
from appliance.tagging import services as tagging
from tests.tagging.conftest import many, tag
from tests.web.conftest import PARTIAL


async def tags_of(db: Database, asset_id: int) -> list[tuple[str, str, str | None]]:
    async with db.unit_of_work() as uow:
        return [(t.tag.name, t.tag.kind, t.tag.fandom) for t in await tagging.of_asset(uow.sql, asset_id)]


async def asset(db: Database, asset_id: int) -> Any:
    async with db.unit_of_work() as uow:
        return await queries.asset(uow.sql, asset_id)


async def send(client: httpx.AsyncClient, path: str, **fields: str) -> httpx.Response:
    return await client.post(path, data=fields, headers=PARTIAL)


async def test_a_known_tag_is_added_by_name_or_other_name(client: httpx.AsyncClient, db: Database) -> None:
    (one,) = await many(db, 1)
    cat = await tag(db, "cat")
    async with db.unit_of_work() as uow:
        await tagging.add_alias(uow, cat, "feline")
    answer = await send(client, f"/asset/{one}/tags", name=" FELINE ")
    assert answer.status_code == 200
    assert await tags_of(db, one) == [("cat", "general", None)]
    assert "Put there by anna" in answer.text
    assert 'href="/?q=cat"' in answer.text


async def test_a_new_tag_is_offered_with_kind_and_a_new_fandom_at_once(
    client: httpx.AsyncClient, db: Database
) -> None:
    (one,) = await many(db, 1)
    path = f"/asset/{one}/tags"
    asked = await send(client, path, name="Rin")
    assert "is a new tag" in asked.text
    assert 'name="kind"' in asked.text
    assert await tags_of(db, one) == []
    asked = await send(client, path, name="Rin", kind="character", fandom="Tidepool", make="1")
    assert "Create the fandom “Tidepool” too" in asked.text
    assert await tags_of(db, one) == []
    sent = {"name": "Rin", "kind": "character", "fandom": "Tidepool", "make": "1", "make_fandom": "1"}
    assert (await send(client, path, **sent)).status_code == 200
    assert await tags_of(db, one) == [("Rin", "character", "Tidepool")]


async def test_a_kind_in_front_of_a_new_name_is_kept(client: httpx.AsyncClient, db: Database) -> None:
    (one,) = await many(db, 1)
    asked = await send(client, f"/asset/{one}/tags", name="artist: Anna")
    assert re.search(r'value="artist" selected', asked.text)
    await send(client, f"/asset/{one}/tags", name="artist:Anna", make="1")
    assert await tags_of(db, one) == [("Anna", "artist", None)]


async def test_of_several_tags_of_one_name_a_person_chooses(client: httpx.AsyncClient, db: Database) -> None:
    (one,) = await many(db, 1)
    first, second = await tag(db, "One", "fandom"), await tag(db, "Two", "fandom")
    await tag(db, "Rin", "character", first)
    other = await tag(db, "Rin", "character", second)
    asked = await send(client, f"/asset/{one}/tags", name="rin")
    assert "Which one?" in asked.text
    await send(client, f"/asset/{one}/tags", name="rin", tag=str(other))
    assert await tags_of(db, one) == [("Rin", "character", "Two")]


@pytest.mark.parametrize("name", ["", "\0", "x" * 101, "a\u202eb"])
async def test_a_name_that_cannot_be_is_refused_at_the_field(
    client: httpx.AsyncClient, db: Database, name: str
) -> None:
    (one,) = await many(db, 1)
    answer = await send(client, f"/asset/{one}/tags", name=name, make="1")
    assert answer.status_code == 422
    assert 'id="tag-error"' in answer.text


async def test_a_removed_tag_comes_back_with_the_undo_of_its_line(
    client: httpx.AsyncClient, db: Database
) -> None:
    (one,) = await many(db, 1)
    cat = await tag(db, "<b>cat</b>")
    async with db.unit_of_work() as uow:
        await tagging.assign(uow, [one], [cat])
    answer = await send(client, f"/asset/{one}/tags/remove", tag=str(cat))
    assert await tags_of(db, one) == []
    undo = re.search(r'hx-post="(/operations/\d+/undo)"', answer.text)
    assert undo
    assert '<hx-partial hx-target="#toasts"' in answer.text
    assert (await send(client, undo[1])).status_code == 200
    assert await tags_of(db, one) == [("<b>cat</b>", "general", None)]
    shown = await client.get(f"/asset/{one}/tags", headers=PARTIAL)
    assert "<b>cat" not in shown.text
    assert "&lt;b&gt;cat" in shown.text


async def test_marks_are_set_and_taken_back(client: httpx.AsyncClient, db: Database) -> None:
    (one,) = await many(db, 1)
    path = f"/asset/{one}/marks"
    for fields in ({"rating": "4"}, {"favourite": "1"}, {"private": "1"}, {"state": "archive"}):
        assert (await send(client, path, **fields)).status_code == 200
    seen = await asset(db, one)
    assert (seen.rating, seen.favourite, seen.private, seen.state) == (4, True, True, "archived")
    for fields in ({"rating": "0"}, {"favourite": "0"}, {"private": "0"}, {"state": "trash"}):
        assert (await send(client, path, **fields)).status_code == 200
    seen = await asset(db, one)
    assert (seen.rating, seen.favourite, seen.private, seen.state) == (0, False, False, "trashed")
    await send(client, path, state="restore")
    assert (await asset(db, one)).state == "archived"


@pytest.mark.parametrize("fields", [{}, {"rating": "6"}, {"rating": "x"}, {"state": "gone"}])
async def test_a_mark_that_does_not_exist_changes_nothing(
    client: httpx.AsyncClient, db: Database, fields: dict[str, str]
) -> None:
    (one,) = await many(db, 1)
    before = await asset(db, one)
    assert (await send(client, f"/asset/{one}/marks", **fields)).status_code == 422
    assert await asset(db, one) == before


async def test_a_date_is_set_by_hand_and_the_files_own_used_again(
    client: httpx.AsyncClient, db: Database
) -> None:
    (one,) = await many(db, 1)
    before = await asset(db, one)
    answer = await send(client, f"/asset/{one}/date", day="1999-12-31", time="23:59:58")
    assert "31 Dec 1999, 23:59" in answer.text
    assert "set by hand" in answer.text
    assert (await asset(db, one)).date_source == "human"
    await send(client, f"/asset/{one}/date/own")
    assert await asset(db, one) == before
    assert (await send(client, f"/asset/{one}/date/own")).status_code == 409


@pytest.mark.parametrize(
    ("day", "time"),
    [("", ""), ("2024-02-31", ""), ("2024-02-01", "25:00"), ("x", "\0"), ("9999-12-31", "23:59:59.999999")],
)
async def test_what_is_no_date_is_refused_at_the_field(
    client: httpx.AsyncClient, db: Database, day: str, time: str
) -> None:
    (one,) = await many(db, 1)
    answer = await send(client, f"/asset/{one}/date", day=day, time=time)
    assert answer.status_code == 422
    assert 'id="date-error"' in answer.text


async def test_two_people_with_the_form_open_keep_each_others_words(
    client: httpx.AsyncClient, db: Database
) -> None:
    (one,) = await many(db, 1)
    path, was = f"/asset/{one}/words", {"was_title": "", "was_note": ""}
    await send(client, path, title="A day", note="", **was)
    await send(client, path, title="", note="two\r\nlines <i>", **was)
    seen = await asset(db, one)
    assert (seen.title, seen.note) == ("A day", "two\nlines <i>")
    answer = await send(client, path, title="x" * 201, note="two\nlines <i>", was_title="A day")
    assert answer.status_code == 422
    assert "at most 200" in answer.text
    assert "lines &lt;i&gt;" in answer.text


async def test_turning_answers_with_new_pictures_to_come(client: httpx.AsyncClient, db: Database) -> None:
    (one,) = await many(db, 1)
    answer = await send(client, f"/asset/{one}/turn", by="90")
    assert "data-turned" in answer.text
    seen = await asset(db, one)
    assert (seen.width, seen.height, seen.turn) == (3, 4, 90)
    assert (await send(client, f"/asset/{one}/turn", by="45")).status_code == 422


@pytest.mark.parametrize(
    ("path", "fields", "words"),
    [
        ("words", {"title": "A day", "was_title": "", "note": "", "was_note": ""}, ["Set the title"]),
        ("words", {"title": "A", "note": "b"}, ["Set the title", "Set the note"]),
        ("turn", {"by": "270"}, ["Turned left"]),
        ("date", {"day": "1999-12-31", "time": ""}, ["Set the date by hand"]),
    ],
)
async def test_each_edit_says_so_in_a_line_that_takes_it_back(
    client: httpx.AsyncClient, db: Database, path: str, fields: dict[str, str], words: list[str]
) -> None:
    (one,) = await many(db, 1)
    before = await asset(db, one)
    answer = await send(client, f"/asset/{one}/{path}", **fields)
    assert re.findall(r"<span>([^<]+)</span>", answer.text.partition("<hx-partial")[2]) == words
    assert await asset(db, one) != before
    for undo in re.findall(r'hx-post="(/operations/\d+/undo)"', answer.text):
        assert "Undone for 1" in (await send(client, undo)).text
    assert await asset(db, one) == before


async def test_the_files_own_date_is_taken_back_by_its_line(client: httpx.AsyncClient, db: Database) -> None:
    (one,) = await many(db, 1)
    await send(client, f"/asset/{one}/date", day="1999-12-31", time="23:59:58")
    before = await asset(db, one)
    answer = await send(client, f"/asset/{one}/date/own")
    assert "Using the file" in answer.text
    undo = re.search(r'hx-post="(/operations/\d+/undo)"', answer.text)
    assert undo
    await send(client, undo[1])
    assert await asset(db, one) == before


async def test_what_says_the_same_again_makes_no_line(client: httpx.AsyncClient, db: Database) -> None:
    (one,) = await many(db, 1)
    await send(client, f"/asset/{one}/words", title="A day", note="")
    answer = await send(client, f"/asset/{one}/words", title="A  day ", note="", was_title="A day")
    assert answer.status_code == 200
    assert "<hx-partial" not in answer.text
    undone = await client.post("/operations/undo", headers=PARTIAL)
    assert undone.status_code == 200
    assert (await asset(db, one)).title is None


async def test_a_title_that_is_refused_leaves_the_note_as_it_was(
    client: httpx.AsyncClient, db: Database
) -> None:
    (one,) = await many(db, 1)
    answer = await send(client, f"/asset/{one}/words", title="fine", note="x" * 10_001)
    assert answer.status_code == 422
    seen = await asset(db, one)
    assert (seen.title, seen.note) == (None, None)
    assert "Nothing here yet" in (await client.get("/history")).text


async def test_without_scripts_every_form_leads_back_to_the_asset(
    client: httpx.AsyncClient, db: Database
) -> None:
    (one,) = await many(db, 1)
    await tag(db, "cat")
    for path, fields in (
        ("tags", {"name": "cat"}),
        ("marks", {"rating": "3"}),
        ("date", {"day": "2020-01-01", "time": ""}),
        ("words", {"title": "x", "note": ""}),
        ("turn", {"by": "90"}),
    ):
        answer = await client.post(f"/asset/{one}/{path}", data=fields)
        assert (answer.status_code, answer.headers["Location"]) == (303, f"/asset/{one}")
    asked = await client.post(f"/asset/{one}/tags", data={"name": "unheard of"})
    assert asked.status_code == 200
    assert "<!doctype html>" in asked.text
    assert "is a new tag" in asked.text
    shown = await client.get(f"/asset/{one}")
    assert "cat" in shown.text


async def test_viewers_see_tags_and_change_nothing(client: httpx.AsyncClient, db: Database) -> None:
    (one,) = await many(db, 1)
    cat = await tag(db, "cat")
    async with db.unit_of_work() as uow:
        await tagging.assign(uow, [one], [cat])
        viewer = await accounts.add_person(uow, "ben", "four words make two", role=Role.VIEWER)
        token = await sessions.start(uow.sql, viewer, address="127.0.0.1", agent="tests")
    client.cookies.set("vitrine", token, domain="localhost.local")
    shown = await client.get(f"/asset/{one}")
    assert "cat" in shown.text
    assert "Remove cat" not in shown.text
    assert "asset-more" not in shown.text
    for path in ("tags", "tags/remove", "marks", "date", "date/own", "words", "turn"):
        assert (await send(client, f"/asset/{one}/{path}", name="dog", tag=str(cat))).status_code == 403
    assert await tags_of(db, one) == [("cat", "general", None)]


async def test_an_asset_that_is_gone_is_said_to_be_gone(client: httpx.AsyncClient) -> None:
    for path in ("tags", "marks", "date", "words", "turn"):
        fields = {"name": "x", "rating": "1", "day": "2020-01-01", "title": "x", "by": "90"}
        assert (await send(client, f"/asset/999/{path}", **fields)).status_code == 404
