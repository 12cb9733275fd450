"""The unit of work: one transaction behind two faces, facts only after the commit."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from sqlalchemy import text

from appliance.core import db as databases
from appliance.core import facts
from appliance.core.db import Database, open_database
from appliance.core.facts import Fact
from appliance.core.work import Setting
from tests.servers import Servers


@dataclass(frozen=True, slots=True)
class Happened(Fact):
    """A fact of these tests."""


@pytest.fixture
def rung() -> Iterator[list[type[Fact]]]:
    heard: list[type[Fact]] = []

    async def hear(kinds: Sequence[type[Fact]]) -> None:
        heard.extend(kinds)

    former = facts._ringer
    facts.ring_with(hear)
    yield heard
    facts.ring_with(former)


async def names(db: Database) -> list[str]:
    async with db.unit_of_work() as uow:
        return [r["name"] for r in await uow.sql.fetch("SELECT name FROM setting ORDER BY name")]


async def test_raw_statement_first_then_an_exception_stores_nothing(db: Database) -> None:
    with pytest.raises(RuntimeError):
        async with db.unit_of_work() as uow:
            await uow.sql.execute("INSERT INTO setting (name, value) VALUES ('raw', '1')")
            raise RuntimeError

    assert await names(db) == []


async def test_both_faces_see_and_commit_the_same_transaction(db: Database) -> None:
    async with db.unit_of_work() as uow:
        await uow.sql.execute("INSERT INTO setting (name, value) VALUES ('raw', '1')")
        uow.session.add(Setting(name="mapped", value=2))
        await uow.session.flush()
        assert await uow.sql.fetchval("SELECT count(*) FROM setting") == 2
        assert (await uow.session.execute(text("SELECT count(*) FROM setting"))).scalar_one() == 2

    assert await names(db) == ["mapped", "raw"]


async def test_commit_inside_the_block_keeps_what_came_before_a_later_failure(db: Database) -> None:
    with pytest.raises(RuntimeError):
        async with db.unit_of_work() as uow:
            await uow.sql.execute("INSERT INTO setting (name, value) VALUES ('first', '1')")
            await uow.commit()
            await uow.sql.execute("INSERT INTO setting (name, value) VALUES ('second', '1')")
            raise RuntimeError

    assert await names(db) == ["first"]


async def test_facts_ring_once_for_each_kind_and_only_after_the_commit(
    db: Database, rung: list[type[Fact]]
) -> None:
    async with db.unit_of_work() as uow:
        uow.record(Happened())
        uow.record(Happened())
        assert rung == []

    assert rung == [Happened]


async def test_facts_of_an_undone_unit_of_work_never_ring(db: Database, rung: list[type[Fact]]) -> None:
    with pytest.raises(RuntimeError):
        async with db.unit_of_work() as uow:
            uow.record(Happened())
            raise RuntimeError

    assert rung == []


async def test_one_statement_is_its_own_transaction(db: Database) -> None:
    async with db.one_statement() as sql:
        assert not sql.is_in_transaction()
        await sql.execute("INSERT INTO setting (name, value) VALUES ('alone', '1')")

    assert await names(db) == ["alone"]


async def test_units_of_work_after_one_statement_still_undo_everything(
    servers: Servers, db: Database
) -> None:
    one = open_database(servers.database_url, pool=1)
    async with one.one_statement() as sql:
        await sql.execute("INSERT INTO setting (name, value) VALUES ('alone', '1')")
    with pytest.raises(RuntimeError):
        async with one.unit_of_work() as uow:
            await uow.sql.execute("INSERT INTO setting (name, value) VALUES ('undone', '1')")
            raise RuntimeError
    await one.close()

    assert await names(db) == ["alone"]


async def test_a_restarted_server_costs_no_failed_request(servers: Servers, db: Database) -> None:
    pooled = open_database(servers.database_url, pool=3, application="doomed")
    async with pooled.unit_of_work() as first, pooled.unit_of_work() as second:
        drivers = [first.sql, second.sql]
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'doomed'"
        )
    async with asyncio.timeout(10):
        while not all(driver.is_closed() for driver in drivers):
            await asyncio.sleep(0)
    async with pooled.unit_of_work() as first, pooled.unit_of_work() as second:
        assert await first.sql.fetchval("SELECT 1") == await second.sql.fetchval("SELECT 1") == 1
    await pooled.close()


async def test_a_connection_that_rested_is_asked_before_it_is_believed(
    servers: Servers, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    pooled = open_database(servers.database_url, pool=1)
    async with pooled.unit_of_work() as uow:
        before = await uow.sql.fetchval("SELECT pg_backend_pid()")
        driver = uow.sql
    monkeypatch.setattr(databases, "FRESH_S", -1.0)
    async with pooled.unit_of_work() as uow:
        assert await uow.sql.fetchval("SELECT pg_backend_pid()") == before
    # A network that swallows everything: the connection looks open and answers nothing.
    driver._transport.abort()
    async with pooled.unit_of_work() as uow:
        assert await uow.sql.fetchval("SELECT pg_backend_pid()") != before
    await pooled.close()
