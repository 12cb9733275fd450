"""Completion: exact first, then by use, other names too, and flat at a hundred thousand tags."""

from __future__ import annotations

from typing import Any

from appliance.core.db import Database
from appliance.tagging import reading, services
from tests.tagging.conftest import tag


async def names(db: Database, text: str, kind: str | None = None) -> list[str]:
    async with db.unit_of_work() as uow:
        found = await services.complete(uow.sql, text, kind=kind)
    return [f"{c.tag.name} < {c.alias}" if c.alias else c.tag.name for c in found]


async def set_uses(db: Database, **uses: int) -> None:
    async with db.unit_of_work() as uow:
        for name, count in uses.items():
            await uow.sql.execute("UPDATE tag SET uses = $2 WHERE name_key = $1", name, count)


async def test_the_exact_name_comes_first_then_the_most_used(db: Database) -> None:
    for name in ("cat", "cat ears", "cathedral", "dog"):
        await tag(db, name)
    await set_uses(db, cat_ears=90, cathedral=4, cat=1)
    assert await names(db, "cat") == ["cat", "cat ears", "cathedral"]
    assert await names(db, "Cat_E") == ["cat ears"]
    assert await names(db, "x") == await names(db, " ") == []


async def test_other_names_lead_to_their_tag_once(db: Database) -> None:
    cat = await tag(db, "cat")
    async with db.unit_of_work() as uow:
        await services.add_alias(uow, cat, "catto")
        await services.add_alias(uow, cat, "feline")
        assert await services.expand(uow.sql, "f", limit=5) == ([cat], 1)
    assert await names(db, "fel") == ["cat < feline"]
    assert await names(db, "cat") == ["cat"]


async def test_a_kind_narrows_what_is_offered(db: Database) -> None:
    await tag(db, "rose")
    await tag(db, "rosa", "artist")
    assert await names(db, "ros", "artist") == ["rosa"]


async def test_signs_of_patterns_are_letters_like_others(db: Database) -> None:
    for name in ("100%", "100 x", "a\\b"):
        await tag(db, name)
    assert await names(db, "100%") == ["100%"]
    assert await names(db, "a\\") == ["a\\b"]
    assert await names(db, "%") == []


async def crowd(db: Database) -> None:
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO tag (name, name_key, kind, uses) SELECT 'c' || n, 'c' || n, 'general', n % 977"
            " FROM generate_series(1, 30000) n"
        )
        await uow.sql.execute(
            "INSERT INTO tag (name, name_key, kind, uses) SELECT 'd' || n, 'd' || n, 'artist', 0"
            " FROM generate_series(1, 9000) n"
        )
    async with db.one_statement() as sql:
        await sql.execute("ANALYZE tag")


async def buffers(sql: Any, statement: str, *args: Any) -> int:
    plan = await sql.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", *args)
    return int(plan[0]["Plan"]["Shared Hit Blocks"]) + int(plan[0]["Plan"]["Shared Read Blocks"])


async def test_completion_reads_little_however_many_begin_alike(db: Database) -> None:
    await crowd(db)
    async with db.one_statement() as sql:
        for text in ("c", "d", "d99", "c1234", "nothing"):
            assert await buffers(sql, reading._NAMED, text, None, 8) < reading.FEW // 2, text
            assert await buffers(sql, reading._USED, text, None, 8) < reading.MOST_USED + 200, text
            assert await buffers(sql, reading._BY_ALIAS, text, None, 8) < 60, text
    async with db.unit_of_work() as uow:
        assert [c.tag.uses for c in await services.complete(uow.sql, "c")] == [976] * 8
        ids, total = await services.expand(uow.sql, "c", limit=20)
    assert (len(ids), total) == (20, 30000)
