"""The unit of work: one transaction behind two faces, facts only after the commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from sqlalchemy import text

from appliance.core import facts
from appliance.core.db import Database
from appliance.core.facts import Fact
from appliance.core.work import Setting


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
