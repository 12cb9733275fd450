"""The union of all pages is the search, exactly once, up and down, whatever happens in between."""

from __future__ import annotations

from datetime import timedelta

import pytest

from appliance.core.errors import Invalid
from appliance.core.keyset import Position
from appliance.library.timeline import Tile
from appliance.search import services
from tests.search.conftest import ADMIN, Library, wall


MOMENT = wall(2026, 6, 1)
SORTS = [
    "",
    "-sort:date",
    "sort:added",
    "-sort:added",
    "sort:rating",
    "-sort:rating",
    "sort:size",
    "sort:duration",
    "-sort:duration",
    "sort:random:0",
    "sort:random:1234567890",
    "-sort:random:77",
]
FILTERS = [
    "",
    "fox",
    "fox snow",
    "fox -snow",
    "-snow",
    "fox or rare",
    "rare",
    "f*",
    "rating:>=3",
    "(fox or snow) -rare",
]


async def filled(library: Library, undated: int = 300) -> None:
    """Half with dates of their own, the others without any: one instant of import for all of them."""
    rng = library.random
    dated = await library.add(
        200,
        latest=MOMENT + timedelta(days=40),
        rating=[rng.randrange(6) for _ in range(200)],
        duration_ms=[rng.choice([None, rng.randrange(9000)]) for _ in range(200)],
    )
    same = await library.add(
        undated,
        latest=MOMENT,
        apart=timedelta(0),
        date_source="import",
        size=[n // 3 for n in range(undated)],
    )
    every = dated + same
    rng.shuffle(every)
    await library.tag(every[: len(every) // 2], "fox")
    await library.tag(every[len(every) // 3 :], "snow")
    await library.tag(every[:9], "rare", "far")


async def walk(library: Library, q: str, *, down: bool, size: int = 71) -> list[Tile]:
    """All pages one after the other, each in a transaction of its own."""
    seen: list[Tile] = []
    plan = await library.plan(q)
    place = plan.order.first() if down else plan.order.last()
    while True:
        async with library.db.unit_of_work() as uow:
            plan = await services.plan(uow.sql, services.parse(q), ADMIN)
            read = services.older if down else services.newer
            page = await read(uow.sql, plan, plan.place(place.text()), size, inclusive=not seen)
        if not page:
            return seen
        assert len(page) <= size
        seen += page
        place = page[-1].position


@pytest.mark.parametrize("q", FILTERS)
async def test_all_pages_together_are_the_search_once_in_both_directions(library: Library, q: str) -> None:
    await filled(library)
    wanted = sorted(await library.find(q))
    assert wanted or q == "nothing"
    for sort in SORTS:
        text = f"{q} {sort}".strip()
        down = [t.id for t in await walk(library, text, down=True)]
        up = [t.id for t in await walk(library, text, down=False)]
        assert sorted(down) == wanted, text
        assert up == down[::-1], text
        if sort.startswith("sort:"):
            back = [t.id for t in await walk(library, text.replace("sort:", "-sort:"), down=True)]
            assert back == up, text


@pytest.mark.parametrize("sort", ["", "sort:added", "sort:size", "sort:random:5"])
async def test_pages_hold_while_assets_come_and_go(library: Library, sort: str) -> None:
    """What was there all the time is shown exactly once, what is there never twice."""
    await filled(library, undated=1000)
    q = f"fox {sort}".strip()
    before = await library.find(q)
    doomed = set(library.random.sample(before, 60))
    seen: list[int] = []
    place: Position | None = None
    while True:
        async with library.db.unit_of_work() as uow:
            plan = await services.plan(uow.sql, services.parse(q), ADMIN)
            start = place or plan.order.first()
            page = await services.older(uow.sql, plan, start, 40, inclusive=place is None)
            gone = list(doomed)[:5]
            doomed -= set(gone)
            await uow.sql.execute("DELETE FROM asset WHERE id = ANY($1::bigint[])", gone)
        if not page:
            break
        seen += [t.id for t in page]
        place = page[-1].position
        if len(seen) < 400:
            (fresh,) = await library.add(1, latest=MOMENT, size=7)
            await library.tag([fresh], "fox")
    stayed = [i for i in before if i in set(await library.find(q))]
    assert len(seen) == len(set(seen))
    assert [i for i in seen if i in set(stayed)] == stayed


@pytest.mark.parametrize("sort", SORTS)
async def test_a_stretch_and_its_neighbours_are_those_of_the_order(library: Library, sort: str) -> None:
    await filled(library)
    q = f"snow {sort}".strip()
    every = await walk(library, q, down=True, size=200)
    async with library.db.unit_of_work() as uow:
        plan = await services.plan(uow.sql, services.parse(q), ADMIN)
        middle = every[50:91]
        found = await services.between(uow.sql, plan, middle[0].position, middle[-1].position, 1000)
        assert [t.id for t in found] == [t.id for t in middle]
        assert len(await services.between(uow.sql, plan, middle[0].position, middle[-1].position, 7)) == 7
        beside = await services.neighbours(uow.sql, plan, every[60].position)
        assert beside.newer
        assert beside.older
        assert (beside.newer.id, beside.older.id) == (every[59].id, every[61].id)
        assert beside.older.position == every[61].position
        ends = await services.neighbours(uow.sql, plan, every[0].position)
        assert ends.newer is None
        assert await services.place_of(uow.sql, plan, every[60].id) == every[60].position


async def test_what_the_search_does_not_find_has_no_place_in_it(library: Library) -> None:
    fox, other, trashed = await library.add(3, state=["kept", "kept", "trashed"])
    await library.tag([fox, trashed], "fox")
    plan = await library.plan("fox")
    async with library.db.unit_of_work() as uow:
        assert await services.place_of(uow.sql, plan, fox)
        assert await services.place_of(uow.sql, plan, other) is None
        assert await services.place_of(uow.sql, plan, trashed) is None


@pytest.mark.parametrize(
    ("q", "place"), [("", "5_7"), ("sort:size", "20261123T101500.000000_7"), ("", "x"), ("sort:random", "_")]
)
async def test_a_place_of_another_order_is_refused(library: Library, q: str, place: str) -> None:
    plan = await library.plan(q)
    with pytest.raises(Invalid):
        plan.place(place)


@pytest.mark.parametrize("q", ["sort:random:5", "sort:size", "sort:rating", "sort:added", "-sort:random:5"])
async def test_any_number_in_an_address_is_a_place_and_breaks_nothing(library: Library, q: str) -> None:
    made = await library.add(5)
    plan = await library.plan(q)
    async with library.db.unit_of_work() as uow:
        for token in ("0_0", f"{2**63 - 1}_{2**63 - 1}", f"{2**31}_3"):
            place = plan.place(token)
            around = [
                *await services.older(uow.sql, plan, place, 9),
                *await services.newer(uow.sql, plan, place, 9),
            ]
            assert {t.id for t in around} <= set(made)


async def test_new_ones_are_counted_as_far_as_the_search_finds_them(library: Library) -> None:
    old = await library.add(3)
    fresh = await library.add(5)
    await library.tag([*old, *fresh[:2]], "fox")
    async with library.db.unit_of_work() as uow:
        everything = await services.plan(uow.sql, services.parse(""), ADMIN)
        foxes = await services.plan(uow.sql, services.parse("fox"), ADMIN)
        assert await services.newest_id(uow.sql) == fresh[-1]
        assert await services.arrived(uow.sql, everything, old[-1]) == 5
        assert await services.arrived(uow.sql, foxes, old[-1]) == 2
        assert await services.arrived(uow.sql, foxes, old[-1], cap=1) == 1


async def test_seeds_that_follow_each_other_begin_far_apart(library: Library) -> None:
    made = await library.add(300)
    begins = [(await library.find(f"sort:random:{seed}"))[0] for seed in range(12)]
    assert len(set(begins)) >= 11
    assert sorted(await library.find("sort:random:1")) == made
    assert await library.find("sort:random:4") == await library.find("sort:random:4")
