"""What reading a search costs, what it counts, and what it says when it finds nothing."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from appliance.core.db import Database
from appliance.search import completion, counting, explaining, services, statements
from appliance.search.predicates import Arguments
from appliance.search.services import Plan, TooSlow, Total
from appliance.search.statements import Stretch
from tests.search.conftest import ADMIN, NOW, VIEWER, Library
from tests.web.conftest import statements as watched


async def large(library: Library) -> None:
    """Enough rows that the planner has a choice; tags on most, on some, on few."""
    made = await library.add(6000, apart=timedelta(hours=1))
    await library.tag(made, "every")
    await library.tag(made[:4000], "common")
    await library.tag(made[2500:], "other")
    await library.tag(made[::1500], "rare")
    async with library.db.unit_of_work() as uow:
        await uow.sql.execute(
            "UPDATE tag SET uses = (SELECT count(*) FROM asset_tag x WHERE x.tag_id = tag.id)"
        )
        await uow.sql.execute("DELETE FROM tag_delta")
        await uow.sql.execute("ANALYZE asset, asset_tag, tag")


async def shape(library: Library, plan: Plan, *, middle: bool = True) -> str:
    """The plan of PostgreSQL for a page."""
    start = plan.place("20260801T000000.000000_5") if middle and plan.by_month else plan.order.first()
    async with library.db.unit_of_work() as uow, services.patience(uow.sql):
        bind = Arguments()
        query = statements.hits(plan, bind, Stretch(start), bind(120, "bigint"))
        return "\n".join(r[0] for r in await uow.sql.fetch(f"EXPLAIN {query}", *bind.values))


PLANS = {
    "": ["ix_asset_timeline"],
    "-sort:date": ["ix_asset_timeline"],
    "sort:added": ["Index"],
    "sort:size": ["ix_asset_size"],
    "sort:rating": ["ix_asset_rating"],
    "sort:duration": ["ix_asset_duration"],
    "sort:random:7": ["ix_asset_shuffle"],
    "common": ["ix_asset_tag_timeline"],
    "rare": ["ix_asset_tag_timeline"],
    "common other": ["ix_asset_tag_timeline"],
    "-common": ["ix_asset_timeline"],
    "common or other": ["ix_asset_timeline", "pk_asset_tag"],
    "date:2026-07": ["ix_asset_timeline"],
    "sort:size common": ["ix_asset_size", "pk_asset_tag"],
    "sort:random:3 common other": ["ix_asset_shuffle", "pk_asset_tag"],
    "sort:size rare": ["ix_asset_tag_timeline"],
    "is:favourite": ["ix_asset_favourite"],
    "is:trashed": ["ix_asset_trashed"],
}


async def test_a_page_is_read_from_its_index(library: Library) -> None:
    await large(library)
    for q, indexes in PLANS.items():
        found = await shape(library, await library.plan(q))
        for index in indexes:
            assert index in found, (q, found)
        assert "Seq Scan on asset" not in found, (q, found)
        # Where few are left at this size, gathering and sorting them is as good, and the sample decides.
        if "rare" not in q and "random:3" not in q:
            assert "Sort" not in found.replace("Incremental Sort", ""), (q, found)


@pytest.mark.parametrize(
    "q", ["is:missing", "is:missing sort:size", "common is:missing", "is:missing -other"]
)
async def test_what_is_missing_is_found_by_its_own_index(library: Library, q: str) -> None:
    await large(library)
    async with library.db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET missing_since = now() WHERE id % 1000 = 0")
        await uow.sql.execute("ANALYZE asset")
    assert "ix_asset_missing" in await shape(library, await library.plan(q), middle=False)


async def test_common_tags_are_merged_as_they_lie(library: Library) -> None:
    """Two tags that many assets carry but none both must not cost a probe for each."""
    made = await library.add(6000, apart=timedelta(hours=1))
    await library.tag(made[::2], "even")
    await library.tag(made[1::2], "odd")
    async with library.db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE tag SET uses = 3000")
        await uow.sql.execute("ANALYZE asset, asset_tag, tag")
    assert await library.find("even odd") == []
    assert "Nested Loop" not in (await shape(library, await library.plan("even odd"))).split("Merge Join")[-1]


@pytest.mark.parametrize(
    "q",
    [
        "",
        "common",
        "common other",
        "common -other",
        "common or rare",
        "rating:0 sort:size",
        "sort:random:5 common",
    ],
)
async def test_a_page_costs_a_fixed_number_of_statements_however_many_tags(library: Library, q: str) -> None:
    made = await library.add(150)
    await library.tag(made, "common", "other", "rare", *(f"tag {n}" for n in range(8)))
    few = await cost(library, q)
    await library.tag(made, *(f"more {n}" for n in range(48)))
    assert await cost(library, q) == few
    assert few <= 7


async def cost(library: Library, q: str) -> int:
    with watched(library.db) as seen:
        async with library.db.unit_of_work() as uow, services.patience(uow.sql):
            plan = await services.plan(uow.sql, services.parse(q), ADMIN, now=NOW)
            found = await services.older(uow.sql, plan, plan.order.first(), 120)
    assert len(found) in (0, 120)
    return len([s for s in seen if "asset" in s or "tag" in s or "month" in s])


async def test_totals_are_exact_where_that_is_cheap_and_honest_where_not(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    await large(library)
    async with library.db.unit_of_work() as uow:
        for q, wanted in {
            "": 6000,
            "common": 4000,
            "-common": 2000,
            "rare": 4,
            "nosuch": 0,
            "common other": 1500,
        }.items():
            plan = await services.plan(uow.sql, services.parse(q), ADMIN)
            assert await services.count(uow.sql, plan) == Total(wanted, exact=True), q
            assert await services.count_exact(uow.sql, plan) == wanted
        monkeypatch.setattr(counting, "EXACT_UP_TO", 100)
        plan = await services.plan(uow.sql, services.parse("common other"), ADMIN)
        about = await services.count(uow.sql, plan)
        assert not about.exact
        assert 1200 <= about.count <= 1800


async def test_months_of_a_search_are_those_of_its_assets(library: Library) -> None:
    await large(library)
    async with library.db.unit_of_work() as uow:
        for q in ("rare", "common other", "-common", "date:2026-07", "rating:0 every"):
            plan = await services.plan(uow.sql, services.parse(q), ADMIN)
            found = await services.months(uow.sql, plan)
            assert found
            assert sum(n for _, n in found) == await services.count_exact(uow.sql, plan)
            assert [m for m, _ in found] == sorted((m for m, _ in found), reverse=True)


async def test_no_search_holds_the_server(library: Library) -> None:
    """What takes longer than its patience is stopped by the server, and the next one works."""
    await library.add(3)
    with pytest.raises(TooSlow) as refused:
        async with library.db.unit_of_work() as uow, services.patience(uow.sql, 50):
            await uow.sql.fetchval("SELECT pg_sleep(20)")
    assert refused.value.status == 503
    assert refused.value.hint
    async with library.db.unit_of_work() as uow:
        async with services.patience(uow.sql, 50):
            pass
        assert await uow.sql.fetchval("SHOW statement_timeout") == "0"
        await uow.sql.execute("SELECT pg_sleep(0.2)")
        assert await uow.sql.fetchval("SHOW plan_cache_mode") == "auto"


async def test_patience_is_each_connection_s_own(db: Database, library: Library) -> None:
    async def one() -> str:
        async with db.unit_of_work() as uow, services.patience(uow.sql), services.patience(uow.sql, 5):
            await asyncio.sleep(0)
            shown: str = await uow.sql.fetchval("SHOW statement_timeout")
            return shown

    assert await asyncio.gather(one(), one()) == ["2s", "2s"]


async def parts(library: Library, q: str, scope: Any = ADMIN) -> dict[str, Any]:
    async with library.db.unit_of_work() as uow:
        plan = await services.plan(uow.sql, services.parse(q), scope, now=NOW)
        return {p.text: p for p in await explaining.explain(uow.sql, plan)}


async def test_a_search_that_finds_nothing_names_the_word_that_kills_it(library: Library) -> None:
    made = await library.add(40)
    await library.tag(made[:10], "fox")
    await library.tag(made[20:], "snow")
    found = await parts(library, "fox snow rating:0")
    assert {text: p.count for text, p in found.items()} == {"fox": 20, "snow": 10, "rating:0": 0}
    assert list(found) == ["fox", "snow", "rating:0"]
    assert found["snow"].without == "fox rating:0"
    assert (found["snow"].start, found["snow"].end) == (4, 8)


async def test_a_misspelt_tag_is_named_first_with_what_may_be_meant(library: Library) -> None:
    made = await library.add(6)
    await library.tag(made, "red fox", "snow")
    await library.tag(made[:2], "artist:reddox")
    found = await parts(library, "snow red_fxo")
    first = next(iter(found.values()))
    assert first.unknown
    assert first.text == "red_fxo"
    assert first.count == 6
    assert [t.name for t in first.alike][:1] == ["red fox"]
    assert [t.name for t in (await parts(library, "artist:redox"))["artist:redox"].alike] == ["reddox"]


async def test_viewers_are_not_told_of_tags_on_hidden_pictures(library: Library) -> None:
    (hidden,) = await library.add(1, private=True)
    await library.tag([hidden], "secret fox")
    assert (await parts(library, "secret_fux", VIEWER))["secret_fux"].alike == []
    assert (await parts(library, "secret_fux"))["secret_fux"].alike
    async with library.db.unit_of_work() as uow:
        assert await completion.complete(uow.sql, "sec", 3, VIEWER) == []
        assert await completion.complete(uow.sql, "sec", 3, ADMIN)


@pytest.mark.parametrize(
    ("text", "inserts", "start", "end"),
    [
        ("fo", ["fox", "fog", "fo*", "folder:"], 0, 2),
        ("snow fo", ["fox", "fog", "fo*", "folder:"], 5, 7),
        ("-fo", ["fox", "fog", "fo*", "folder:"], 1, 3),
        ("(fo", ["fox", "fog", "fo*", "folder:"], 1, 3),
        ('"red', ['"red fox"'], 0, 4),
        ("artist:", [], 0, 7),
        ("artist:an", ["artist:anna"], 0, 9),
        ('artist:"an', ["artist:anna"], 0, 10),
        ("an", ["anna"], 0, 2),
        ("rating:>", ["rating:>=4", "rating:>=3"], 0, 8),
        ("is:fav", ["is:favourite"], 0, 6),
        ("sort:r", ["sort:rating", "sort:random"], 0, 6),
        ("type:v", ["type:video", "type:volume"], 0, 6),
        ("rat", ["rating:", "ratio:"], 0, 3),
        ("re:z", ["re:zero"], 0, 4),
        ("", [], 0, 0),
        ("fox ", [], 4, 4),
    ],
)
async def test_what_is_begun_is_completed(
    library: Library, text: str, inserts: list[str], start: int, end: int
) -> None:
    made = await library.add(6)
    await library.tag(made, "fox")
    await library.tag(made[:2], "fog", "red fox", "artist:anna", "re:zero")
    async with library.db.unit_of_work() as uow:
        found = await completion.complete(uow.sql, text, len(text), ADMIN)
    assert [s.insert for s in found] == inserts
    assert all((s.start, s.end) == (start, end) for s in found)


async def test_a_suggestion_replaces_the_word_around_the_caret(library: Library) -> None:
    made = await library.add(2)
    await library.tag(made, "fox")
    async with library.db.unit_of_work() as uow:
        (first, *_) = await completion.complete(uow.sql, "snow fxx wolf", 6, ADMIN)
    assert (first.insert, first.start, first.end, first.count) == ("fox", 5, 8, 0)


async def test_a_name_that_is_two_tags_is_completed_with_its_kind(library: Library) -> None:
    made = await library.add(2)
    await library.tag(made, "artist:kestrel", "kestrel")
    async with library.db.unit_of_work() as uow:
        found = await completion.complete(uow.sql, "kes", 3, ADMIN)
    assert {s.insert for s in found} == {"artist:kestrel", "general:kestrel", "kes*"}
