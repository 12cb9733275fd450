"""The whole application over HTTP, without a socket between."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from litestar import Litestar
from sqlalchemy import event

from appliance.accounts import services, sessions
from appliance.accounts.models import Role
from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.web.app import bare_app
from appliance.web.remembering import remembered
from queues.declare import load
from tests.people import a_person


NAME, PASSWORD = "anna", "four words make one"


@pytest.fixture(autouse=True)
def forgetful() -> None:
    """What a process remembers must not outlive the tables of one test."""
    services.forget_set_up()
    sessions._cache.clear()
    remembered._facts.clear()


_made: dict[object, Litestar] = {}


def the_app(settings: Settings) -> Litestar:
    """All routes; putting them together takes longer than most tests, and only the gate keeps settings."""
    kept = (settings.hosts, settings.proxy)
    if kept not in _made:
        load()
        _made[kept] = bare_app(settings)
    return _made[kept]


@pytest.fixture
async def stranger(db: Database, settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """A browser that nobody has signed in with."""
    transport = httpx.ASGITransport(app=the_app(settings), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8420") as client:
        yield client


@pytest.fixture
async def account(db: Database) -> int:
    async with db.unit_of_work() as uow:
        return await a_person(uow, NAME, PASSWORD, role=Role.ADMIN)


@pytest.fixture
async def client(stranger: httpx.AsyncClient, account: int, db: Database) -> httpx.AsyncClient:
    """A browser in which Anna is signed in."""
    async with db.unit_of_work() as uow:
        token = await sessions.start(uow.sql, account, address="127.0.0.1", agent="tests")
    stranger.cookies.set("vitrine", token, domain="localhost.local")
    return stranger


PARTIAL = {"HX-Request": "true", "HX-Request-Type": "partial"}


@contextmanager
def statements(db: Database) -> Iterator[list[str]]:
    """Every statement that goes to the server meanwhile, on whichever face."""
    seen: list[str] = []

    def watch(connection: Any, *_rest: Any) -> None:
        driver = connection.driver_connection
        driver.add_query_logger(note)
        watched.append(driver)

    def note(record: Any) -> None:
        seen.append(record.query)

    watched: list[Any] = []
    event.listen(db.engine.sync_engine, "checkout", watch)
    try:
        yield seen
    finally:
        event.remove(db.engine.sync_engine, "checkout", watch)
        for driver in watched:
            driver.remove_query_logger(note)
