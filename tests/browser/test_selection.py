"""Selecting in a real browser: by pick, key, Shift, long press and query; acting, and taking it back."""

from __future__ import annotations

import json
from typing import Any

from playwright.async_api import Browser

from appliance.core.db import Database
from appliance.operations import services
from tests.browser.conftest import Site, Visit, set_up, visit
from tests.browser.test_wall import walk
from tests.operations.conftest import Library
from tests.seed import seed


SELECTED = "document.getElementById('selected').textContent"
MARKED = "[...document.querySelectorAll('.tile:has(.pick:checked) > a')].map((a) => Number(a.id.slice(1)))"


async def opened(
    browser: Browser, site: Site, db: Database, count: int, **options: Any
) -> tuple[Visit, list[int]]:
    ids = await seed(db, site.settings.home, count, stored=count)
    made = await visit(browser, site, **options)
    await set_up(made, db)
    await made.until("document.querySelectorAll('.tile').length > 3")
    return made, ids


async def says(made: Visit, words: str) -> None:
    await made.until(f"{SELECTED} === {json.dumps(words)}")


async def pick(made: Visit, asset_id: int, *, shift: bool = False) -> None:
    await made.page.hover(f"#a{asset_id}")
    await made.page.click(
        f".tile:has(#a{asset_id}) .pick", modifiers=["Shift"] if shift else [], position={"x": 20, "y": 20}
    )


async def value(db: Database, sql: str, *values: object) -> Any:
    async with db.unit_of_work() as uow:
        return await uow.sql.fetchval(sql, *values)


async def toast(made: Visit, words: str) -> None:
    await made.until(f"document.getElementById('toasts').innerText.includes({json.dumps(words)})")


async def test_picks_keys_and_escape(browser: Browser, site: Site, db: Database) -> None:
    made, ids = await opened(browser, site, db, 60)
    assert await made.page.evaluate("document.getElementById('selbar').hidden")
    await pick(made, ids[0])
    await pick(made, ids[2])
    await says(made, "2 selected")
    await made.page.focus(f"#a{ids[3]}")
    await made.page.keyboard.press("x")
    await says(made, "3 selected")
    assert await made.page.evaluate(MARKED) == [ids[0], ids[2], ids[3]]
    await made.page.keyboard.press("x")
    await says(made, "2 selected")
    await made.page.keyboard.press("Escape")
    await made.until("document.getElementById('selbar').hidden")
    assert await made.page.evaluate(MARKED) == []
    assert await made.troubles() == []


async def test_an_action_that_empties_the_page_is_still_told_with_its_undo(
    browser: Browser, site: Site, db: Database
) -> None:
    made, ids = await opened(browser, site, db, 9)
    await made.page.focus(f"#a{ids[0]}")
    await made.page.keyboard.press("Control+a")
    await says(made, "9 selected")
    await made.page.keyboard.press("Delete")
    await made.until("document.querySelector('.first-empty') !== null")
    await toast(made, "trash")
    await made.page.click("#toasts >> text=Undo")
    await made.until("document.querySelectorAll('.tile').length === 9 || document.querySelector('.new a')")
    assert await value(db, "SELECT count(*) FROM asset WHERE state = 'kept'") == 9


async def test_shift_range_over_five_unloaded_pages_equals_the_count(
    browser: Browser, site: Site, db: Database
) -> None:
    made, ids = await opened(browser, site, db, 1_600)
    first = ids[4]
    await pick(made, first)
    # A jump, so that the pages between are never loaded.
    place = await value(
        db,
        "SELECT to_char(effective_at, 'YYYYMMDD\"T\"HH24MISS.US') || '_' || id FROM asset WHERE id = $1",
        ids[1_200],
    )
    await made.page.goto(f"{site.url}/?at={place}#a{ids[1_200]}")
    await made.until(f"document.getElementById('a{ids[1_200]}') !== null")
    assert not await made.page.evaluate(f"document.getElementById('a{ids[700]}') !== null")
    await made.page.click(f"#a{ids[1_200]}", modifiers=["Shift"])

    expected = await value(
        db,
        "SELECT count(*) FROM asset a JOIN asset b ON b.id = $1 JOIN asset c ON c.id = $2"
        " WHERE (a.effective_at, a.id) <= (b.effective_at, b.id)"
        " AND (a.effective_at, a.id) >= (c.effective_at, c.id)",
        first,
        ids[1_200],
    )
    assert expected == 1_197
    await says(made, f"{expected:,} selected")
    await pick(made, ids[1_198])
    await says(made, f"{expected - 1:,} selected")
    marked = await made.page.evaluate(MARKED)
    assert ids[1_200] in marked
    assert ids[1_198] not in marked
    assert ids[1_201] not in marked
    assert await made.troubles() == []


async def test_shift_and_arrows_draw_one_range_that_can_shrink(
    browser: Browser, site: Site, db: Database
) -> None:
    made, ids = await opened(browser, site, db, 60)
    await made.page.focus(f"#a{ids[1]}")
    for _ in range(4):
        await made.page.keyboard.press("Shift+ArrowRight")
    await says(made, "5 selected")
    await made.page.keyboard.press("Shift+ArrowLeft")
    await says(made, "4 selected")
    assert await made.page.evaluate(MARKED) == ids[1:5]
    await made.page.keyboard.press("Shift+ArrowDown")
    await made.until(f"{MARKED}.length > 6")
    assert await made.troubles() == []


async def test_everything_is_the_query_and_undo_is_one_key(
    browser: Browser, site: Site, db: Database
) -> None:
    made, ids = await opened(browser, site, db, 300)
    await made.page.keyboard.press("Control+a")
    await says(made, "300 selected")
    await pick(made, ids[1])
    await says(made, "299 selected")
    await made.page.keyboard.press("4")
    await toast(made, "Rated 299")
    assert await value(db, "SELECT count(*) FROM asset WHERE rating = 4") == 299
    await made.page.keyboard.press("z")
    await toast(made, "Undone for 299")
    assert await value(db, "SELECT count(*) FROM asset WHERE rating = 4") == 0
    assert await made.troubles() == []


async def test_the_undo_of_a_line_takes_it_back(browser: Browser, site: Site, db: Database) -> None:
    made, ids = await opened(browser, site, db, 30)
    await pick(made, ids[0])
    await pick(made, ids[1])
    await made.page.keyboard.press("Delete")
    await toast(made, "Moved 2 to the trash")
    await made.until("document.getElementById('selbar').hidden")
    assert await value(db, "SELECT count(*) FROM asset WHERE state = 'trashed'") == 2
    await made.page.click(".toast button:has-text('Undo')")
    await toast(made, "Undone for 2")
    assert await value(db, "SELECT count(*) FROM asset WHERE state = 'trashed'") == 0
    assert await made.troubles() == []


async def test_without_a_selection_keys_act_on_the_focused_picture(
    browser: Browser, site: Site, db: Database
) -> None:
    made, ids = await opened(browser, site, db, 30)
    await made.page.focus(f"#a{ids[2]}")
    await made.page.keyboard.press("f")
    await toast(made, "Made 1 favourite")
    assert await value(db, "SELECT array_agg(id) FROM asset WHERE favourite") == [ids[2]]
    assert await made.troubles() == []


async def test_the_tag_dialog_shows_all_some_and_none(browser: Browser, site: Site, db: Database) -> None:
    made, ids = await opened(browser, site, db, 30)
    for names, some in (("sea", ids[:2]), ("artist:anna", ids[:1])):
        async with db.unit_of_work() as uow:
            wish = await services.wish(uow, services.Kind.TAG, {"tags": names})
            await services.act(uow, services.Kind.TAG, some, wish, person=None)
    await pick(made, ids[0])
    await pick(made, ids[1])
    await made.page.keyboard.press("t")
    await made.until("document.getElementById('sel-tags').open")
    assert await made.page.evaluate(
        "[...document.querySelectorAll('[data-tag]')].map((b) => [b.checked, b.indeterminate])"
    ) == [
        [True, False],
        [False, True],
    ]
    await made.page.uncheck(".share:has-text('sea') input")
    await made.page.check(".share:has-text('anna') input")
    await made.page.fill("#tag-names", "beach")
    await made.page.keyboard.press("Enter")
    await made.until("!document.getElementById('sel-tags').open")
    await toast(made, "Tagged 2")
    rows = (
        "SELECT array_agg(t.name || x.asset_id ORDER BY t.name, x.asset_id)"
        " FROM asset_tag x JOIN tag t ON t.id = x.tag_id"
    )
    assert await value(db, rows) == [f"anna{ids[0]}", f"anna{ids[1]}", f"beach{ids[0]}", f"beach{ids[1]}"]
    await says(made, "2 selected")
    assert await made.troubles() == []


async def test_dates_are_moved_by_a_dialog(browser: Browser, site: Site, db: Database) -> None:
    made, ids = await opened(browser, site, db, 30)
    before = await value(db, "SELECT effective_at FROM asset WHERE id = $1", ids[0])
    await pick(made, ids[0])
    await made.page.click("[popovertarget=sel-more]")
    await made.page.click("#sel-more [data-act=date]")
    await made.page.fill("#shift-hours", "-3")
    await made.page.click("#sel-date [type=submit]")
    await toast(made, "Changed the date of 1")
    after = await value(db, "SELECT effective_at FROM asset WHERE id = $1", ids[0])
    assert (before - after).total_seconds() == 3 * 3600
    assert await made.troubles() == []


async def test_a_selection_survives_an_asset_and_the_way_back(
    browser: Browser, site: Site, db: Database
) -> None:
    made, ids = await opened(browser, site, db, 60)
    await pick(made, ids[0])
    await made.page.keyboard.press("Shift+ArrowRight")
    await says(made, "2 selected")
    await made.page.goto(f"{site.url}/asset/{ids[5]}")
    await made.page.go_back()
    await says(made, "2 selected")
    assert await made.page.evaluate(MARKED) == ids[:2]


async def test_something_else_than_was_shown_is_said(browser: Browser, site: Site, db: Database) -> None:
    made, ids = await opened(browser, site, db, 40)
    await made.page.keyboard.press("Control+a")
    await says(made, "40 selected")
    async with db.unit_of_work() as uow:
        await services.act(uow, services.Kind.PRIVATE, ids[:3], {}, person=None)
    await made.page.keyboard.press("5")
    await toast(made, "It is 37 now, not 40")
    await says(made, "37 selected")
    await made.page.keyboard.press("5")
    await toast(made, "Rated 37")
    assert await value(db, "SELECT count(*) FROM asset WHERE rating = 5") == 37


async def test_a_long_press_begins_and_a_drag_goes_on(browser: Browser, site: Site, db: Database) -> None:
    made, ids = await opened(
        browser, site, db, 40, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    session = await made.context.new_cdp_session(made.page)

    async def middle(asset_id: int) -> dict[str, float]:
        box = await made.page.locator(f"#a{asset_id}").bounding_box()
        assert box
        return {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}

    async def touch(kind: str, *points: dict[str, float]) -> None:
        await session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    await touch("touchStart", await middle(ids[0]))
    await says(made, "1 selected")
    await touch("touchMove", await middle(ids[3]))
    await says(made, "4 selected")
    await touch("touchEnd")
    assert await made.page.evaluate(MARKED) == ids[:4]
    assert made.page.url.startswith(f"{site.url}/")
    assert "/asset/" not in made.page.url
    await made.page.wait_for_timeout(500)
    await made.page.tap(f"#a{ids[5]}")
    await says(made, "5 selected")
    assert (
        await made.page.evaluate("getComputedStyle(document.querySelector('.rail')).visibility") == "hidden"
    )
    assert await made.troubles() == []


async def test_the_trash_is_emptied_after_the_number_was_typed(
    browser: Browser, site: Site, db: Database
) -> None:
    made, ids = await opened(browser, site, db, 70)
    async with db.unit_of_work() as uow:
        await services.act(uow, services.Kind.TRASH, ids[:60], {}, person=None)
    await made.page.goto(f"{site.url}/?q=is%3Atrashed")
    await made.until("document.querySelector('#trash-bar [data-act=empty]') !== null")
    await made.page.click("#trash-bar [data-act=empty]")
    await made.until("document.getElementById('sel-purge').open")
    await made.page.fill("#typed", "60")
    await made.page.click("#sel-purge [type=submit]")
    await toast(made, "Deleted 60 for good")
    assert await value(db, "SELECT count(*) FROM asset") == 10


async def test_marks_follow_what_is_loaded_later(browser: Browser, site: Site, db: Database) -> None:
    made, ids = await opened(browser, site, db, 500)
    await made.page.keyboard.press("Control+a")
    await says(made, "500 selected")
    await walk(made, 1400, f"document.getElementById('a{ids[300]}') !== null")
    await made.until(f"{MARKED}.includes({ids[300]})")
    assert await made.page.evaluate("document.querySelectorAll('.tile:not(:has(.pick:checked))').length") == 0


async def test_the_history_takes_back_and_shows_it(browser: Browser, site: Site, db: Database) -> None:
    made, ids = await opened(browser, site, db, 20)
    await pick(made, ids[0])
    await made.page.keyboard.press("a")
    await toast(made, "Archived 1")
    await made.page.goto(f"{site.url}/history")
    await made.page.click(".history button:has-text('Undo')")
    await toast(made, "Undone for 1")
    await made.until("document.querySelector('#history').innerText.includes('Undone')")
    assert await value(db, "SELECT count(*) FROM asset WHERE state = 'archived'") == 0
    assert await made.troubles() == []


async def test_many_are_watched_until_they_are_done(browser: Browser, site: Site, db: Database) -> None:
    made, _ids = await opened(browser, site, db, 620)
    await made.page.evaluate(
        "document.body.addEventListener('operation:done', (e) => { window.told = e.detail; })"
    )
    await made.page.keyboard.press("Control+a")
    await says(made, "620 selected")
    await made.page.keyboard.press("3")
    await toast(made, "Rating 620")
    operation = await value(db, "SELECT id FROM operation")
    assert await Library(db).carry_out(operation) == "done"
    await toast(made, "Rated 620")
    await made.until("window.told !== undefined")
    told = await made.page.evaluate("[window.told.kind, window.told.all, window.told.ids]")
    assert told == ["rate", True, None]
    await made.page.click(".toast button:has-text('Undo')")
    await toast(made, "Undoing for 620")
    assert await made.troubles() == []
