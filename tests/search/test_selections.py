"""A selection holds exactly what its words, stretches and picks say, for those who may see it."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from appliance.core.errors import Invalid
from appliance.search import selections, services
from appliance.search.selections import Selection
from appliance.search.services import Scope
from tests.search.conftest import ADMIN, VIEWER, Library


async def ids(library: Library, selection: Selection, scope: Scope = ADMIN) -> list[int]:
    async with library.db.unit_of_work() as uow:
        query, values = await selections.ids_sql(uow.sql, selection, scope)
        found = sorted(r["id"] for r in await uow.sql.fetch(query, *values))
        assert await selections.count(uow.sql, selection, scope) == len(found)
        return found


def test_the_form_field_is_read() -> None:
    text = json.dumps({"q": "fox", "all": False, "ranges": [["a_1", "b_2"]], "ids": [1, "2"], "without": [3]})
    assert selections.read(text) == Selection("fox", False, (("a_1", "b_2"),), (1, 2), (3,))
    assert selections.read("{}").empty
    assert not selections.read('{"all": true}').empty


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        '{"q": 5}',
        '{"ids": ["x"]}',
        '{"ids": [-1]}',
        '{"ids": [1.5]}',
        '{"ids": [true]}',
        '{"ids": 7}',
        '{"ranges": [["a"]]}',
        '{"ranges": [["a", 5]]}',
        '{"ids": [9223372036854775808]}',
        "[" * 100_000,
        json.dumps({"ranges": [["a_1", "b_2"]] * 201}),
        " " * 4_000_001,
    ],
)
def test_what_no_gallery_sends_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="selection"):
        selections.read(text)


@pytest.mark.parametrize(
    "sort", ["", "-sort:date", "sort:added", "sort:size", "sort:random:9", "-sort:random:9"]
)
async def test_a_stretch_over_pages_that_were_never_loaded_is_what_the_order_says(
    library: Library, sort: str
) -> None:
    made = await library.add(400, apart=timedelta(0), size=[n // 2 for n in range(400)])
    await library.tag(made[::2], "fox")
    q = f"fox {sort}".strip()
    order = await library.find(q)
    plan = await library.plan(q)
    async with library.db.unit_of_work() as uow:
        first, last = [await services.place_of(uow.sql, plan, order[n]) for n in (20, 180)]
    assert first
    assert last
    both = (first.text(), last.text())
    assert await ids(library, Selection(q, ranges=(both,))) == sorted(order[20:181])
    assert await ids(library, Selection(q, ranges=(both[::-1],))) == sorted(order[20:181])
    mixed = Selection(q, ranges=(both, (both[1], both[1])), ids=(order[0], order[30]), without=(order[40],))
    assert await ids(library, mixed) == sorted({order[0], *order[20:181]} - {order[40]})


async def test_a_whole_search_is_selected_without_what_was_taken_out(library: Library) -> None:
    made = await library.add(50)
    await library.tag(made[:30], "fox")
    assert await ids(library, Selection("fox", everything=True)) == sorted(made[:30])
    assert await ids(library, Selection("fox", everything=True, without=tuple(made[:5]))) == sorted(
        made[5:30]
    )
    assert await ids(library, Selection("", everything=True)) == sorted(made)
    assert await ids(library, Selection("nosuch", everything=True, ids=(made[0],))) == made[:1]
    assert await ids(library, Selection()) == []
    assert await ids(library, Selection("fox", ids=(made[40], made[40], 999_999))) == [made[40]]


async def test_a_viewer_selects_only_what_the_timeline_shows(library: Library) -> None:
    shown, private, trashed = await library.add(
        3, state=["kept", "kept", "trashed"], private=[False, True, False]
    )
    picked = Selection(ids=(shown, private, trashed))
    assert await ids(library, picked, VIEWER) == [shown]
    assert await ids(library, picked, ADMIN) == [shown, private, trashed]
    assert await ids(library, Selection("is:trashed", everything=True)) == [trashed]
    assert await ids(library, Selection("is:trashed or is:kept", everything=True)) == [shown, trashed]
    with pytest.raises(Invalid, match="Only administrators"):
        await ids(library, Selection("is:trashed", everything=True), VIEWER)


async def test_a_stretch_of_another_order_is_refused(library: Library) -> None:
    await library.add(2)
    with pytest.raises(Invalid):
        await ids(
            library,
            Selection("sort:size", ranges=(("20261123T101500.000000_7", "20261123T101500.000000_8"),)),
        )
    with pytest.raises(Invalid):
        await ids(library, Selection("nosuch", ranges=(("x", "y"),)))
