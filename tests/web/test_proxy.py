"""Behind a reverse proxy: its word counts, and nobody else's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from appliance.core import settings as settings_module
from appliance.core.db import Database
from appliance.core.errors import SettingsError
from appliance.core.settings import Settings
from tests.web.conftest import NAME, PASSWORD, the_app


PROXY = "172.18.0.2"
TLS = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}


@asynccontextmanager
async def through(
    settings: Settings, peer: str, *, proxy: tuple[str, ...]
) -> AsyncIterator[httpx.AsyncClient]:
    app = the_app(settings.with_(proxy=proxy))
    transport = httpx.ASGITransport(app=app, client=(peer, 4711), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://pictures.lan") as client:
        yield client


async def sign_in(client: httpx.AsyncClient, headers: dict[str, str]) -> httpx.Response:
    return await client.post("/login", data={"name": NAME, "password": PASSWORD}, headers=headers)


async def address(db: Database) -> str:
    async with db.unit_of_work() as uow:
        found: str = await uow.sql.fetchval("SELECT address FROM session ORDER BY id DESC LIMIT 1")
        return found


@pytest.mark.parametrize("proxy", [PROXY, "172.18.0.0/16"])
async def test_tls_at_a_named_proxy_gives_the_strict_cookie_and_the_visitors_address(
    db: Database, settings: Settings, account: int, proxy: str
) -> None:
    async with through(settings, PROXY, proxy=("10.0.0.1", proxy)) as client:
        answer = await sign_in(client, TLS)
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-vitrine=")
        assert "Secure" in cookie
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert await address(db) == "203.0.113.7"
        token = cookie.split(";")[0]
        inside = await client.get("/settings", headers=TLS | {"Cookie": token})
        assert inside.status_code == 200


@pytest.mark.parametrize("proxy", [(), ("10.0.0.1",)])
async def test_the_word_of_anybody_else_is_not_believed(
    db: Database, settings: Settings, account: int, proxy: tuple[str, ...]
) -> None:
    async with through(settings, "192.168.1.66", proxy=proxy) as client:
        answer = await sign_in(client, TLS)
        assert answer.headers["set-cookie"].startswith("vitrine=")
        assert await address(db) == "192.168.1.66"


@pytest.mark.parametrize(
    ("chain", "visitor"),
    [
        ("6.6.6.6, 203.0.113.7", "203.0.113.7"),
        ("203.0.113.7, 172.18.0.9", "203.0.113.7"),
        ("203.0.113.7:50123", "203.0.113.7"),
        ("[2001:db8::7]:50123", "2001:db8::7"),
        ("nonsense", PROXY),
        ("", PROXY),
    ],
)
async def test_a_claimed_address_before_the_proxys_own_word_does_not_count(
    db: Database, settings: Settings, account: int, chain: str, visitor: str
) -> None:
    async with through(settings, PROXY, proxy=("172.18.0.0/16",)) as client:
        await sign_in(client, {"X-Forwarded-For": chain})
        assert await address(db) == visitor


async def test_a_form_of_another_site_is_refused_behind_a_proxy_too(
    db: Database, settings: Settings, account: int
) -> None:
    async with through(settings, PROXY, proxy=(PROXY,)) as client:
        foreign = await sign_in(client, TLS | {"Origin": "https://evil.example"})
        assert foreign.status_code == 403
        own = await sign_in(client, TLS | {"Origin": "https://pictures.lan"})
        assert own.status_code == 303


def test_a_proxy_that_is_no_address_is_refused() -> None:
    with pytest.raises(SettingsError, match="VITRINE_PROXY"):
        settings_module.load({"VITRINE_PROXY": "traefik"})
    assert settings_module.load({"VITRINE_PROXY": "::1, 10.0.0.0/8"}).proxy == ("::1", "10.0.0.0/8")
