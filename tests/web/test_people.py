"""The people page: accounts are made, changed and ended without a script, and one administrator stays."""

from __future__ import annotations

import re

import httpx

from appliance.accounts import sessions
from appliance.accounts.models import Role
from appliance.core.db import Database
from tests.people import a_person
from tests.web.conftest import NAME, PASSWORD


async def bo(db: Database, role: Role = Role.VIEWER) -> int:
    async with db.unit_of_work() as uow:
        return await a_person(uow, "Bo", PASSWORD, role=role)


async def row(db: Database, user_id: int) -> dict[str, object] | None:
    async with db.unit_of_work() as uow:
        found = await uow.sql.fetchrow('SELECT * FROM "user" WHERE id = $1', user_id)
        return dict(found) if found else None


async def test_a_made_password_is_shown_once_and_lets_in(client: httpx.AsyncClient) -> None:
    answer = await client.post("/settings/people", data={"name": "Bo", "role": "viewer", "password": ""})
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    made = re.search(r"<output[^>]*>([^<]+)</output>", answer.text)
    assert made
    again = await client.get("/settings/people")
    assert made[1] not in again.text
    assert "Bo" in again.text
    client.cookies.clear()
    entered = await client.post("/login", data={"name": "bo", "password": made[1]})
    assert entered.status_code == 303
    assert "vitrine=" in entered.headers["set-cookie"]


async def test_a_typed_password_is_never_shown(client: httpx.AsyncClient) -> None:
    answer = await client.post("/settings/people", data={"name": "Bo", "role": "admin", "password": PASSWORD})
    assert answer.headers["location"] == "/settings/people?said=added"
    assert PASSWORD not in (await client.get("/settings/people")).text


async def test_refusals_stand_at_their_field_and_keep_what_was_typed(client: httpx.AsyncClient) -> None:
    taken = await client.post(
        "/settings/people", data={"name": NAME.upper(), "role": "viewer", "password": ""}
    )
    assert taken.status_code == 409
    assert 'id="name-problem"' in taken.text
    assert f'value="{NAME.upper()}"' in taken.text
    weak = await client.post("/settings/people", data={"name": "Cy", "role": "admin", "password": "short"})
    assert weak.status_code == 422
    assert 'id="password-problem"' in weak.text
    assert "short" not in re.sub(r"too short", "", weak.text)
    odd = await client.post("/settings/people", data={"name": "Cy", "role": "owner", "password": ""})
    assert odd.status_code == 422


async def test_role_access_and_sessions_are_changed_from_a_persons_page(
    client: httpx.AsyncClient, db: Database
) -> None:
    who = await bo(db)
    async with db.unit_of_work() as uow:
        token = await sessions.start(uow.sql, who, address="a", agent="b")
    page = f"/settings/people/{who}"
    assert (await client.get(page)).status_code == 200
    await client.post(f"{page}/role", data={"role": "admin"})
    assert (await row(db, who))["role"] == "admin"  # type: ignore[index]
    await client.post(f"{page}/sessions")
    async with db.unit_of_work() as uow:
        assert await sessions.look_up(uow.sql, token) is None
    await client.post(f"{page}/disable")
    assert (await row(db, who))["disabled_at"]  # type: ignore[index]
    assert "Shut out since" in (await client.get(page)).text
    await client.post(f"{page}/enable")
    assert (await row(db, who))["disabled_at"] is None  # type: ignore[index]


async def test_an_account_is_removed_after_a_question(client: httpx.AsyncClient, db: Database) -> None:
    who = await bo(db)
    question = await client.get(f"/settings/people/{who}/remove")
    assert "Remove Bo?" in question.text
    assert await row(db, who)
    assert (await client.post(f"/settings/people/{who}/remove")).headers["location"].endswith("said=removed")
    assert await row(db, who) is None
    assert (await client.get(f"/settings/people/{who}")).status_code == 404


async def test_the_last_administrator_is_refused_in_words(
    client: httpx.AsyncClient, db: Database, account: int
) -> None:
    await bo(db)
    for path, data in (("role", {"role": "viewer"}), ("disable", {}), ("remove", {})):
        answer = await client.post(f"/settings/people/{account}/{path}", data=data)
        assert answer.status_code == 409, path
        assert "only administrator" in answer.text
    assert (await client.get("/settings/people")).status_code == 200


async def test_who_gives_up_their_rights_lands_on_their_own_page(
    client: httpx.AsyncClient, db: Database, account: int
) -> None:
    await bo(db, Role.ADMIN)
    answer = await client.post(f"/settings/people/{account}/role", data={"role": "viewer"})
    assert answer.headers["location"] == "/settings"
    assert (await client.get("/settings/people")).status_code == 403


async def test_a_new_password_for_oneself_is_not_made_here(client: httpx.AsyncClient, account: int) -> None:
    answer = await client.post(f"/settings/people/{account}/password")
    assert answer.status_code == 422
