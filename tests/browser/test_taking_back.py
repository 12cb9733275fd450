"""Edits of one picture and marks of the grid in a real browser: said in a line, and taken back there."""

from __future__ import annotations

import contextlib

from playwright.async_api import APIResponse, Browser, Error, Route

from appliance.core.db import Database
from tests.browser.conftest import Site
from tests.browser.test_editing import asset
from tests.browser.test_editing import opened as opened_asset
from tests.browser.test_selection import opened as opened_grid
from tests.browser.test_selection import pick, toast, value
from tests.waiting import until


async def test_a_turn_is_taken_back_by_its_line(browser: Browser, site: Site, db: Database) -> None:
    made, one = await opened_asset(browser, site, db)
    before = await asset(db, one)
    await made.page.keyboard.press("r")
    await toast(made, "Turned right")
    assert (await asset(db, one)).turn == 90
    await made.page.click(".toast >> text=Undo")
    await toast(made, "Undone for 1")
    assert await asset(db, one) == before


async def test_quick_turns_all_count_and_leave_what_is_half_written(
    browser: Browser, site: Site, db: Database
) -> None:
    made, one = await opened_asset(browser, site, db)
    before = await asset(db, one)
    await made.page.click("#asset-words summary")
    await made.page.fill("#asset-note", "half writ")
    await made.page.evaluate("document.activeElement.blur()")
    # The first answer about the size is delivered when everything else is over: it is not the last word.
    held: list[tuple[Route, APIResponse]] = []

    async def hold(route: Route) -> None:
        if held:
            await route.continue_()
        else:
            held.append((route, await route.fetch()))

    await made.page.route("**/panel", hold)
    await made.page.keyboard.press("r")
    await until(lambda: held, "the size was asked for")
    for _ in range(3):
        await made.page.keyboard.press("r")
    await made.until("document.getElementById('operation-line-4') !== null")
    with contextlib.suppress(Error):
        await held[0][0].fulfill(response=held[0][1])
    assert await value(db, "SELECT count(*) FROM operation WHERE kind = 'turn' AND changed = 1") == 4
    assert await asset(db, one) == before
    stands = f"{before.width} \N{MULTIPLICATION SIGN} {before.height}"
    await made.until(f"document.getElementById('asset-size').textContent === '{stands}'")
    await made.rest()
    assert await made.page.inner_text("#asset-size") == stands
    assert await made.page.input_value("#asset-note") == "half writ"
    assert await made.troubles() == []


async def test_a_turn_over_the_gallery_is_taken_back_by_a_key(
    browser: Browser, site: Site, db: Database
) -> None:
    made, ids = await opened_grid(browser, site, db, 12)
    before = await asset(db, ids[1])
    await made.page.click(f"#a{ids[1]}")
    await made.until("document.getElementById('asset-marks') !== null")
    await made.page.evaluate("() => { document.getElementById('asset-marks').first = true; }")
    await made.page.keyboard.press("r")
    await toast(made, "Turned right")
    assert (await asset(db, ids[1])).turn == 90
    await made.page.keyboard.press("r")
    await made.until("document.getElementById('operation-line-2') !== null")
    await made.until("document.getElementById('operation-line-1') === null")
    for number, turn in ((3, 90), (4, 0)):
        await made.page.keyboard.press("z")
        await made.until(f"document.getElementById('operation-line-{number}') !== null")
        assert (await asset(db, ids[1])).turn == turn
    assert await asset(db, ids[1]) == before
    # Never put in anew by the picture that is drawn anew: the answer to a press would have nowhere to go.
    assert await made.page.evaluate("document.getElementById('asset-marks').first")


async def test_a_title_is_taken_back_where_it_stands(browser: Browser, site: Site, db: Database) -> None:
    made, one = await opened_asset(browser, site, db)
    await made.page.click("#asset-words summary")
    await made.page.fill("#asset-title", "A day")
    await made.page.click("#asset-words button[type=submit]")
    await made.until("document.querySelector('.asset-title')?.textContent === 'A day'")
    await made.page.click(".toast >> text=Undo")
    await made.until("!document.querySelector('.asset-title')")
    assert (await asset(db, one)).title is None
    assert await made.troubles() == []


async def test_the_undo_of_something_else_leaves_a_half_written_note(
    browser: Browser, site: Site, db: Database
) -> None:
    made, _ = await opened_asset(browser, site, db)
    await made.page.click("[data-mark=archive]")
    await toast(made, "Archived")
    await made.page.click("#asset-words summary")
    await made.page.fill("#asset-note", "half writ")
    await made.page.click(".toast >> text=Undo")
    await made.until("document.querySelector('[data-mark=archive]').ariaPressed === 'false'")
    assert await made.page.input_value("#asset-note") == "half writ"
    assert await made.troubles() == []


async def test_one_key_makes_favourites_and_takes_that_away(
    browser: Browser, site: Site, db: Database
) -> None:
    made, ids = await opened_grid(browser, site, db, 12)
    favourites = "SELECT array_agg(id ORDER BY id) FROM asset WHERE favourite"
    await made.page.focus(f"#a{ids[0]}")
    await made.page.keyboard.press("f")
    await toast(made, "Made 1 favourite")
    await pick(made, ids[0])
    await pick(made, ids[1])
    await made.page.keyboard.press("f")
    await made.until("document.querySelectorAll('.toast').length === 2")
    assert await value(db, favourites) == sorted(ids[:2])
    await made.page.keyboard.press("f")
    await toast(made, "Took 2 out of the favourites")
    assert await value(db, favourites) is None
    assert await made.troubles() == []
