"""Settings: everybody's own account and look, and what only administrators may open."""

from __future__ import annotations

import re

import httpx
import pytest

from appliance.accounts import services, sessions
from appliance.accounts.models import Role
from appliance.core.db import Database
from appliance.web.account import device
from tests.people import a_person
from tests.web.conftest import PASSWORD


NEXT = "another four words here"
OWN = [
    "/settings",
    "/settings/sessions",
    "/settings/appearance",
    "/settings/keyboard",
    "/settings/about",
    "/more",
]
ADMINS = ["/settings/people", "/settings/log", "/settings/app"]


async def signed_in(db: Database, client: httpx.AsyncClient, name: str, role: Role) -> int:
    async with db.unit_of_work() as uow:
        user_id = await a_person(uow, name, PASSWORD, role=role)
        token = await sessions.start(uow.sql, user_id, address="192.168.1.7", agent="Firefox/128 Windows")
    client.cookies.set("vitrine", token, domain="localhost.local")
    return user_id


@pytest.mark.parametrize("path", OWN)
async def test_a_viewer_has_settings_of_their_own(
    stranger: httpx.AsyncClient, db: Database, path: str
) -> None:
    await signed_in(db, stranger, "bo", Role.VIEWER)
    answer = await stranger.get(path)
    assert answer.status_code == 200
    assert answer.text.count("<h1") == 1
    for closed in (*ADMINS, "/admin/activity", "/history", "/import"):
        assert f'href="{closed}"' not in answer.text


@pytest.mark.parametrize("path", [*OWN, *ADMINS])
async def test_an_administrator_has_all_sections(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 200
    if path != "/more":
        assert 'href="/settings/people"' in answer.text


async def test_the_own_password_is_changed_by_knowing_it(
    client: httpx.AsyncClient, db: Database, account: int
) -> None:
    async with db.unit_of_work() as uow:
        other = await sessions.start(uow.sql, account, address="10.0.0.1", agent="Safari iPhone")
    wrong = await client.post("/settings/password", data={"old": "wrong", "new": NEXT})
    assert wrong.status_code == 422
    assert "not your present password" in wrong.text
    assert NEXT not in wrong.text
    weak = await client.post("/settings/password", data={"old": PASSWORD, "new": "short"})
    assert weak.status_code == 422
    assert "too short" in weak.text
    done = await client.post("/settings/password", data={"old": PASSWORD, "new": NEXT})
    assert done.headers["location"] == "/settings?said=password"
    assert "Your password is changed" in (await client.get("/settings?said=password")).text
    async with db.unit_of_work() as uow:
        assert await sessions.look_up(uow.sql, other) is None


async def test_guesses_at_the_present_password_are_slowed_down(client: httpx.AsyncClient) -> None:
    answers = [
        (await client.post("/settings/password", data={"old": "wrong", "new": NEXT})).status_code
        for _ in range(7)
    ]
    assert answers[:5] == [422] * 5
    assert 429 in answers[5:]


async def test_sessions_name_device_and_address_and_can_be_ended(
    client: httpx.AsyncClient, db: Database, account: int
) -> None:
    agent = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Mobile Safari/604.1"
    async with db.unit_of_work() as uow:
        other = await sessions.start(uow.sql, account, address="192.168.1.44", agent=agent)
    page = (await client.get("/settings/sessions")).text
    assert "Safari on iPhone" in page
    assert "192.168.1.44" in page
    assert "This browser" in page
    (ended,) = re.findall(r'action="(/settings/sessions/\d+/end)"', page)
    assert (await client.post(ended)).status_code == 303
    async with db.unit_of_work() as uow:
        assert await sessions.look_up(uow.sql, other) is None
    assert (await client.get("/settings/sessions")).status_code == 200


async def test_all_other_sessions_end_at_once_and_this_one_stays(
    client: httpx.AsyncClient, db: Database, account: int
) -> None:
    async with db.unit_of_work() as uow:
        others = [await sessions.start(uow.sql, account, address="a", agent="b") for _ in range(3)]
    assert (await client.post("/settings/sessions/end-others")).status_code == 303
    async with db.unit_of_work() as uow:
        assert [await sessions.look_up(uow.sql, t) for t in others] == [None] * 3
    assert (await client.get("/settings")).status_code == 200


async def test_a_session_of_somebody_else_is_not_ended(client: httpx.AsyncClient, db: Database) -> None:
    async with db.unit_of_work() as uow:
        bo = await a_person(uow, "bo", PASSWORD, role=Role.VIEWER)
        token = await sessions.start(uow.sql, bo, address="a", agent="b")
        theirs = (await sessions.of_person(uow.sql, bo))[0].id
    await client.post(f"/settings/sessions/{theirs}/end")
    async with db.unit_of_work() as uow:
        assert await sessions.look_up(uow.sql, token) is not None


async def test_look_and_keys_are_kept_in_cookies(client: httpx.AsyncClient) -> None:
    kept = await client.post("/settings/appearance", data={"theme": "dark", "density": "l"})
    assert {"theme=dark", "density=l"} <= {c.split(";")[0] for c in kept.headers.get_list("set-cookie")}
    assert 'data-theme="dark"' in (await client.get("/settings/appearance")).text
    off = await client.post("/settings/keyboard", data={})
    assert off.headers["set-cookie"].startswith("keys=off;")
    assert 'name="keys" value="on" checked' not in (await client.get("/settings/keyboard")).text
    on = await client.post("/settings/keyboard", data={"keys": "on"})
    assert on.headers["set-cookie"].startswith("keys=on;")


async def test_the_audit_log_is_paged_and_names_people(
    client: httpx.AsyncClient, db: Database, account: int
) -> None:
    async with db.unit_of_work() as uow:
        for n in range(105):
            await services.audit(uow.sql, "signed in", user_id=account, subject=f"<visit {n}>")
    first = (await client.get("/settings/log")).text
    assert "&lt;visit 104&gt;" in first
    (older,) = re.findall(r'href="(/settings/log\?before=\d+)"', first)
    second = (await client.get(older)).text
    assert "&lt;visit 4&gt;" in second
    assert "&lt;visit 5&gt;" not in second


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36", "Chrome on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/130.0 Safari/537.36 Edg/130.0", "Edge on Windows"),
        ("Mozilla/5.0 (Android 14; Mobile; rv:130.0) Gecko/130.0 Firefox/130.0", "Firefox on Android"),
        ("curl/8.5.0", "curl"),
        ("", "Unknown device"),
    ],
)
def test_a_browser_is_named_in_words(agent: str, words: str) -> None:
    assert device(agent) == words
