"""Set-up, sign-in, and that everything else is closed."""

from __future__ import annotations

import re

import httpx
import pytest

from appliance.accounts import services
from appliance.core.db import Database
from appliance.core.settings import Settings
from tests.web.conftest import NAME, PARTIAL, PASSWORD, the_app


OPEN = {
    "/login",
    "/logout",
    "/setup",
    "/look",
    "/static/{path:path}",
    "/favicon.ico",
    "/robots.txt",
    "/health/live",
    "/health/ready",
    "/manifest.webmanifest",
    "/sw.js",
    "/offline",
}
# Spoken to by programs, which would take the way to the sign-in page for success: 401 and a sentence.
PROTOCOL = {"/uploads", "/uploads/{token:str}", "/uploads/batch", "/uploads/batch/{batch_id:int}/done"}

# Files come with these, and signing in would not bring them back: a page that says so.
FORMS = {"/uploads/form", "/uploads/shared"}


def routes(settings: Settings) -> list[tuple[str, str]]:
    found = [
        (method, route.path)
        for route in the_app(settings).routes
        for method in getattr(route, "methods", ())
        if method != "OPTIONS"
    ]
    return sorted(found)


def filled(path: str) -> str:
    return re.sub(r"\{[^}]*:int\}|\{asset_id\}", "1", re.sub(r"\{name(:str)?\}", "preview", path))


async def test_every_route_is_closed_to_a_stranger(
    stranger: httpx.AsyncClient, account: int, settings: Settings
) -> None:
    walked = [(m, p) for m, p in routes(settings) if p not in OPEN and "{path" not in p]
    assert len(walked) >= 8
    for method, path in walked:
        answer = await stranger.request(method, filled(path))
        if path in PROTOCOL:
            assert (answer.status_code, answer.text) == (401, "Sign in again"), (method, path)
            continue
        if path in FORMS:
            assert answer.status_code == 401, (method, path)
            assert "Nothing was taken" in answer.text
            continue
        assert answer.status_code == 303, (method, path, answer.status_code)
        assert answer.headers["location"].startswith("/login"), (method, path)
        part = await stranger.request(method, filled(path), headers=PARTIAL)
        assert part.headers.get("hx-redirect") == "/login", (method, path)
        assert part.content == b""


async def test_before_set_up_everything_leads_to_set_up(
    stranger: httpx.AsyncClient, settings: Settings
) -> None:
    for method, path in routes(settings):
        if path in OPEN or "{path" in path:
            continue
        answer = await stranger.request(method, filled(path))
        if path in PROTOCOL:
            assert (answer.status_code, answer.text) == (401, "Vitrine is not set up yet"), (method, path)
            continue
        assert answer.status_code == 303, (method, path)
        assert answer.headers["location"] == "/setup", (method, path)
    for path in ("/setup", "/login"):
        page = await stranger.get(path)
        assert page.status_code == 200
        assert "Set-up code" in page.text
        assert "in the terminal or in the log" in page.text


async def test_the_printed_code_makes_the_first_account_and_signs_it_in(
    stranger: httpx.AsyncClient, db: Database
) -> None:
    async with db.unit_of_work() as uow:
        code = await services.issue_setup_code(uow)
    assert code is not None
    page = await stranger.get(f"/setup?code={code}")
    assert code in page.text
    answer = await stranger.post("/setup", data={"code": code.lower(), "name": NAME, "password": PASSWORD})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    assert (await stranger.get("/", cookies={"vitrine": answer.cookies["vitrine"]})).status_code == 200
    assert (await stranger.get("/setup")).headers["location"] == "/login"
    again = await stranger.post("/setup", data={"code": code, "name": "eve", "password": PASSWORD})
    assert again.headers["location"] == "/login"


async def test_a_wrong_code_says_where_the_right_one_is(stranger: httpx.AsyncClient, db: Database) -> None:
    async with db.unit_of_work() as uow:
        await services.issue_setup_code(uow)
    answer = await stranger.post(
        "/setup", data={"code": "AAAA-BBBB-CCCC", "name": NAME, "password": PASSWORD}
    )
    assert answer.status_code == 422
    assert "printed when Vitrine starts" in answer.text
    assert PASSWORD not in answer.text


async def test_a_short_password_keeps_what_was_typed_but_not_the_password(
    stranger: httpx.AsyncClient, db: Database
) -> None:
    async with db.unit_of_work() as uow:
        code = await services.issue_setup_code(uow)
    answer = await stranger.post("/setup", data={"code": code, "name": NAME, "password": "short"})
    assert answer.status_code == 422
    assert "too short" in answer.text
    assert f'value="{NAME}"' in answer.text


async def test_the_session_cookie_is_new_at_sign_in_and_hidden_from_scripts(
    stranger: httpx.AsyncClient, account: int
) -> None:
    stranger.cookies.set("vitrine", "chosen-by-an-attacker", domain="localhost.local")
    answer = await stranger.post(
        "/login", data={"name": "ANNA", "password": PASSWORD, "next": "/admin/activity"}
    )
    assert answer.status_code == 303
    assert answer.headers["location"] == "/admin/activity"
    cookie = answer.headers["set-cookie"]
    assert "chosen-by-an-attacker" not in cookie
    assert re.search(r"^vitrine=\S{40,};", cookie)
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    stranger.cookies.clear()
    assert (await stranger.get("/", cookies={"vitrine": "chosen-by-an-attacker"})).status_code == 303


async def test_over_tls_the_cookie_is_bound_to_the_host(stranger: httpx.AsyncClient, account: int) -> None:
    answer = await stranger.post("https://localhost/login", data={"name": NAME, "password": PASSWORD})
    assert answer.headers["set-cookie"].startswith("__Host-vitrine=")
    assert "Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil",
        "/\t/evil.example",
        "javascript:alert(1)",
        "",
    ],
)
async def test_next_leads_only_to_this_site(stranger: httpx.AsyncClient, account: int, target: str) -> None:
    answer = await stranger.post("/login", data={"name": NAME, "password": PASSWORD, "next": target})
    assert answer.headers["location"] == "/"


async def test_a_wrong_password_and_an_unknown_name_read_the_same(
    stranger: httpx.AsyncClient, account: int
) -> None:
    wrong = await stranger.post("/login", data={"name": NAME, "password": "not the password"})
    unknown = await stranger.post("/login", data={"name": "nobody", "password": "not the password"})
    assert wrong.status_code == unknown.status_code == 422
    assert wrong.text.replace(NAME, "") == unknown.text.replace("nobody", "")


async def test_signing_out_ends_the_session_on_the_server(client: httpx.AsyncClient) -> None:
    token = client.cookies["vitrine"]
    assert (await client.get("/")).status_code == 200
    answer = await client.post("/logout")
    assert answer.headers["location"] == "/login"
    client.cookies.clear()
    assert (await client.get("/", cookies={"vitrine": token})).status_code == 303


async def test_the_theme_is_a_link_that_works_without_scripts(client: httpx.AsyncClient) -> None:
    answer = await client.get("/look?theme=dark&to=/admin/activity")
    assert answer.headers["location"] == "/admin/activity"
    page = await client.get("/", cookies={"theme": "dark"})
    assert '<html lang="en" data-theme="dark">' in page.text
    assert (await client.get("/look?theme=dark&to=//evil.example")).headers["location"] == "/"
