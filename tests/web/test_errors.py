"""Errors at the edge: a page, a toast or JSON; the database away is a page that comes back by itself."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import text

from appliance.core import clock
from appliance.core import db as databases
from appliance.core.db import Database, open_database
from appliance.core.settings import Settings
from appliance.web import gallery
from appliance.web.outage import LONG_S
from tests.collisions import Rival
from tests.web.conftest import PARTIAL


async def test_an_unknown_address_is_a_page_in_words(client: httpx.AsyncClient) -> None:
    await client.get("/")
    answer = await client.get("/nowhere")
    assert answer.status_code == 404
    assert "There is nothing here" in answer.text
    assert 'class="rail"' in answer.text


async def test_a_stranger_sees_no_frame_around_an_error(stranger: httpx.AsyncClient, account: int) -> None:
    answer = await stranger.get("/nowhere")
    assert answer.status_code == 404
    assert 'class="rail"' not in answer.text


async def test_a_fault_shows_a_number_and_no_trace(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> object:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(gallery, "pulse", broken)
    answer = await client.get("/")
    assert answer.status_code == 500
    assert answer.headers["x-request-id"] in answer.text
    assert "secret detail" not in answer.text
    part = await client.get("/", headers=PARTIAL)
    assert part.status_code == 500
    assert part.headers["hx-retarget"] == "#toasts"
    assert '<div class="toast bad"' in part.text
    assert "<html" not in part.text


@pytest.mark.parametrize("face", ["driver", "session"])
async def test_a_full_disk_is_said_and_nothing_is_changed(
    client: httpx.AsyncClient, db: Database, monkeypatch: pytest.MonkeyPatch, face: str
) -> None:
    full = "DO $$ BEGIN RAISE 'no room' USING ERRCODE = '53100'; END $$"

    async def writing(*_: object) -> object:
        async with db.unit_of_work() as uow:
            if face == "driver":
                return await uow.sql.execute(full)
            return await uow.session.execute(text(full))

    monkeypatch.setattr(gallery, "pulse", writing)
    answer = await client.get("/")
    assert answer.status_code == 507
    assert "The disk is full" in answer.text
    assert "Nothing was changed" in answer.text


@pytest.mark.parametrize("face", ["page", "fragment"])
async def test_two_who_change_the_same_are_told_to_do_it_again(
    client: httpx.AsyncClient, db: Database, monkeypatch: pytest.MonkeyPatch, face: str
) -> None:
    rival = Rival(db)

    async def writing(*_: object) -> None:
        async with db.unit_of_work() as uow:
            await rival.meet(uow)

    monkeypatch.setattr(gallery, "pulse", writing)
    answer = await client.get("/", headers=PARTIAL if face == "fragment" else {})
    await rival.leave()
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "3"
    assert "Somebody else changed the same at this moment" in answer.text
    assert "Nothing was changed" in answer.text


async def test_machines_get_problem_json(client: httpx.AsyncClient) -> None:
    answer = await client.get("/api/nothing")
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert answer.json()["status"] == 404


async def test_a_database_that_is_away_is_a_page_that_tries_again(
    client: httpx.AsyncClient, settings: Settings, db: Database
) -> None:
    away = open_database("postgresql://vitrine@/vitrine?host=/nonexistent")
    databases.use(away)
    answer = await client.get("/")
    databases.use(db)
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "3"
    assert '<meta http-equiv="refresh" content="3">' in answer.text
    assert (await client.get("/health/ready")).status_code == 200
    assert (await client.get("/")).status_code == 200


async def test_an_outage_that_lasts_says_where_to_look_and_the_next_one_does_not(
    client: httpx.AsyncClient, db: Database
) -> None:
    away = open_database("postgresql://vitrine@/vitrine?host=/nonexistent")
    held = HeldClock()
    restore = clock.use(held)
    try:
        databases.use(away)
        assert "a few seconds only" in (await client.get("/")).text
        for _ in range(3):
            held.passed += LONG_S / 2.5
            lasting = await client.get("/")
        assert (lasting.status_code, lasting.headers["retry-after"]) == (503, "3")
        assert '<meta http-equiv="refresh" content="3">' in lasting.text
        assert "vitrine doctor" in lasting.text
        assert "logs/postgres.log" in lasting.text
        databases.use(db)
        assert (await client.get("/")).status_code == 200
        databases.use(away)
        assert "a few seconds only" in (await client.get("/")).text
    finally:
        databases.use(db)
        restore()


class HeldClock(clock.Clock):
    """Stands still but for what a test lets pass."""

    passed = 0.0

    def monotonic(self) -> float:
        return 1000.0 + self.passed


async def test_ready_says_no_while_the_database_is_away(client: httpx.AsyncClient, db: Database) -> None:
    databases.use(open_database("postgresql://vitrine@127.0.0.1:1/vitrine"))
    ready, live = await client.get("/health/ready"), await client.get("/health/live")
    databases.use(db)
    assert ready.status_code == 503
    assert live.status_code == 200


@pytest.mark.parametrize(
    "path",
    [f"/asset/{'9' * 23}", f"/media/{'9' * 20}/original", f"/media/{'9' * 20}/preview", "/asset/%00"],
)
async def test_numbers_beyond_the_database_are_refused_without_a_fault(
    client: httpx.AsyncClient, path: str
) -> None:
    assert (await client.get(path)).status_code in {404, 422}


async def test_a_nul_in_a_name_is_refused_without_a_fault(stranger: httpx.AsyncClient, account: int) -> None:
    answer = await stranger.post(
        "/login", data={"name": "a\0", "password": "b\0"}, headers={"Origin": "http://localhost:8420"}
    )
    assert answer.status_code == 422


async def test_an_original_that_never_was_is_not_found(client: httpx.AsyncClient) -> None:
    assert (await client.get("/media/999/original")).status_code == 404
