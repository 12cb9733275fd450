"""Counters that triggers keep equal a recount, whatever was done."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from appliance.core.db import Database, UnitOfWork
from appliance.core.settings import Settings
from appliance.library import months
from appliance.library.models import VISIBLE
from appliance.search import services
from appliance.tagging import services as tagging
from tests.search.conftest import ADMIN, Library


_MONTHS = f"""
SELECT date_trunc('month', effective_at)::date AS month, count(*) AS n FROM asset WHERE {VISIBLE} GROUP BY 1
ORDER BY 1 DESC
"""
_USES = f"""
SELECT t.id, (SELECT count(*) FROM asset_tag x JOIN asset a ON a.id = x.asset_id
              WHERE x.tag_id = t.id AND {VISIBLE}) AS truth,
       t.uses + coalesce((SELECT sum(uses) FROM tag_delta d WHERE d.tag_id = t.id), 0) AS known
FROM tag t ORDER BY t.id
"""
_DATES = """
SELECT count(*) FROM asset_tag x JOIN asset a ON a.id = x.asset_id WHERE x.effective_at <> a.effective_at
"""
CHANGES = (
    "UPDATE asset SET state = 'trashed' WHERE id = ANY($1::bigint[])",
    "UPDATE asset SET state = 'kept', private = false WHERE id = ANY($1::bigint[])",
    "UPDATE asset SET private = NOT private WHERE id = ANY($1::bigint[])",
    "UPDATE asset SET effective_at = effective_at + interval '40 days' WHERE id = ANY($1::bigint[])",
    "UPDATE asset SET state = 'archived', effective_at = '2020-05-05' WHERE id = ANY($1::bigint[])",
    "UPDATE asset SET rating = 5 WHERE id = ANY($1::bigint[])",
    "DELETE FROM asset WHERE id = ANY($1::bigint[])",
)


async def agree(uow: UnitOfWork) -> None:
    """Months and uses are what counting says, and every tag knows its asset's date."""
    plan = await services.plan(uow.sql, services.EVERYTHING, ADMIN)
    truth = [(r["month"], r["n"]) for r in await uow.sql.fetch(_MONTHS)]
    assert await services.months(uow.sql, plan) == truth
    total = await services.count(uow.sql, plan)
    assert total == services.Total(sum(n for _, n in truth), exact=True)
    for row in await uow.sql.fetch(_USES):
        assert row["known"] == row["truth"]
    assert await uow.sql.fetchval(_DATES) == 0


@pytest.mark.parametrize("seed", range(3))
async def test_counters_equal_a_recount_after_any_changes(
    db: Database, settings: Settings, seed: int
) -> None:
    rng, library = random.Random(seed), Library(db)
    made = await library.add(120, apart=timedelta(days=9))
    tags = await library.tag(made[:60], "fox", "snow", "artist:anna")
    for _ in range(25):
        some = rng.sample(made, rng.randint(1, 30))
        async with db.unit_of_work() as uow:
            match rng.randrange(4):
                case 0:
                    await tagging.assign(uow, some, rng.sample(tags, 2))
                case 1:
                    await tagging.unassign(uow, some, rng.sample(tags, 2))
                case _:
                    await uow.sql.execute(rng.choice(CHANGES), some)
            if rng.random() < 0.3:
                await months.fold(uow.sql)
                await tagging.fold(uow.sql)
            await agree(uow)
    async with db.unit_of_work() as uow:
        while await months.fold(uow.sql):
            pass
        while await tagging.fold(uow.sql):
            pass
        await agree(uow)
        assert await uow.sql.fetchval("SELECT count(*) FROM month_delta") == 0
        assert await uow.sql.fetchval("SELECT min(assets) FROM month_count") >= 0


async def test_a_change_that_is_taken_back_counts_nothing(db: Database, settings: Settings) -> None:
    library = Library(db)
    made = await library.add(10)
    await library.tag(made, "fox")
    with pytest.raises(ZeroDivisionError):
        async with db.unit_of_work() as uow:
            await uow.sql.execute("DELETE FROM asset")
            raise ZeroDivisionError
    async with db.unit_of_work() as uow:
        await agree(uow)
        assert len(made) == (await services.count(uow.sql, await library.plan("fox"))).count
