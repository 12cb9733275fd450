"""The search, decisions and the trash at the same moment: nobody waits in a circle, nothing is forgotten."""

from __future__ import annotations

import asyncio
from pathlib import Path

from appliance.duplicates import matching
from appliance.duplicates import services as duplicates
from appliance.duplicates.models import Verdict
from tests.duplicates.conftest import Doubles, film, jpeg, scene
from tests.duplicates.test_deciding import bring, decide
from tests.media_files import put
from tests.waiting import until


async def waits(doubles: Doubles) -> None:
    await until(lambda: doubles.lib.rows("SELECT 1 FROM pg_locks WHERE NOT granted"), "it waits for a lock")


TRASH = "UPDATE asset SET state = 'trashed', trashed_at = now() WHERE id = $1"


async def test_what_is_thrown_away_while_it_is_compared_is_compared_when_it_comes_back(
    doubles: Doubles, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    put(folder, "b.jpg", jpeg(scene(1), 80))
    await doubles.imports.scan(folder)
    a, _b = await doubles.ids("a.jpg", "b.jpg")

    async with doubles.lib.db.unit_of_work() as uow:
        await uow.sql.execute("SELECT FROM asset ORDER BY id FOR UPDATE")
        searching = asyncio.create_task(doubles.search())
        await waits(doubles)
        await uow.sql.execute(TRASH, a)

    assert (await searching).pairs == 1
    assert await doubles.shown() == []
    await doubles.lib.act("restore", [a])
    assert await doubles.shown() == [await doubles.pair("a.jpg", "b.jpg")]
    assert (await doubles.search()).searched == 1


async def test_what_is_deleted_for_good_while_it_is_compared_makes_no_pair(
    doubles: Doubles, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    put(folder, "b.jpg", jpeg(scene(1), 80))
    await doubles.imports.scan(folder)
    a, _b = await doubles.ids("a.jpg", "b.jpg")

    async with doubles.lib.db.unit_of_work() as uow:
        await uow.sql.execute("SELECT FROM asset ORDER BY id FOR UPDATE")
        searching = asyncio.create_task(doubles.search())
        await waits(doubles)
        await uow.sql.execute("DELETE FROM asset WHERE id = $1", a)

    assert (await searching).pairs == 0
    assert await doubles.lib.value("SELECT count(*) FROM duplicate_pair") == 0


async def test_a_film_that_is_thrown_away_while_it_is_hashed_keeps_its_copies_out(
    doubles: Doubles, folder: Path
) -> None:
    put(folder, "a.mp4", film(range(3)))
    await doubles.imports.scan(folder)
    (a,) = await doubles.ids("a.mp4")

    async with doubles.lib.db.unit_of_work() as uow:
        await uow.sql.execute("SELECT FROM asset ORDER BY id FOR UPDATE")
        hashed = asyncio.create_task(doubles.hash_films())
        await waits(doubles)
        await uow.sql.execute(TRASH, a)

    assert await hashed == {"complete": 1}
    places = await doubles.lib.rows("SELECT DISTINCT place FROM phash WHERE asset_id = $1", a)
    assert [row["place"] for row in places] == ["deleted"]


async def test_hashing_anew_and_the_trash_do_not_wait_in_a_circle(doubles: Doubles, folder: Path) -> None:
    put(folder, "a.mp4", film(range(3)))
    await doubles.imports.scan(folder)
    (a,) = await doubles.ids("a.mp4")
    await doubles.hash_films()
    await doubles.lib.execute("UPDATE fingerprint SET status = 'pending'")

    async with doubles.lib.db.unit_of_work() as uow:
        await uow.sql.execute("SELECT FROM asset ORDER BY id FOR UPDATE")
        hashed = asyncio.create_task(doubles.hash_films())
        await waits(doubles)
        await uow.sql.execute(TRASH, a)

    assert await hashed == {"complete": 1}


async def test_two_stackings_at_once_make_one_group(doubles: Doubles, folder: Path) -> None:
    ids = await bring(doubles, folder, "a.jpg", "b.jpg", "c.jpg", "d.jpg")
    a, b, c, d = sorted(ids)
    await decide(doubles, "alternate", b, c)

    async with doubles.lib.db.unit_of_work() as uow:
        await duplicates.decide(uow.sql, Verdict.ALTERNATE, a, b, person=None)
        other = asyncio.create_task(decide(doubles, "alternate", c, d))
        await waits(doubles)

    await other
    async with doubles.lib.db.unit_of_work() as uow:
        assert await duplicates.versions(uow.sql, a) == [b, c, d]


async def test_one_search_at_a_time(doubles: Doubles, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    put(folder, "b.jpg", jpeg(scene(1), 80))
    await doubles.imports.scan(folder)

    async with doubles.lib.db.unit_of_work() as uow:
        assert (await matching.find(uow, 1)).searched == 1
        second = asyncio.create_task(doubles.search())
        await waits(doubles)

    assert (await second).searched == 1
    assert len(await doubles.shown()) == 1
