"""Editing with hands and keys in a real browser: tags, marks, words, merging; the same without scripts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from playwright.async_api import Browser, Route

from appliance.core.db import Database
from appliance.library import queries
from appliance.tagging import services as tagging
from tests.browser.conftest import NAME, PASSWORD, Site, Visit, set_up, visit
from tests.browser.drawing import ingest, working
from tests.seed import seed
from tests.tagging.conftest import tag


__all__ = ["ingest", "working"]


async def tags_of(db: Database, asset_id: int) -> list[tuple[str, str | None]]:
    async with db.unit_of_work() as uow:
        return [(t.tag.name, t.tag.fandom) for t in await tagging.of_asset(uow.sql, asset_id)]


async def asset(db: Database, asset_id: int) -> Any:
    async with db.unit_of_work() as uow:
        return await queries.asset(uow.sql, asset_id)


async def opened(browser: Browser, site: Site, db: Database) -> tuple[Visit, int]:
    ids = await seed(db, site.settings.home, 3, stored=3)
    for name in ("snow", "snowfield", "mountain"):
        await tag(db, name)
    made = await visit(browser, site)
    await set_up(made, db, f"/asset/{ids[1]}")
    # A key that comes before that sends the form as without scripts: done as well, but told by a new page.
    await made.until("document.querySelector('#asset-marks[data-htmx-powered]') !== null")
    return made, ids[1]


async def slowly(route: Route) -> None:
    answer = await route.fetch()
    await asyncio.sleep(0.4)
    await route.fulfill(response=answer)


async def test_a_tag_is_completed_by_keys_and_the_field_waits_for_the_next(
    browser: Browser, site: Site, db: Database
) -> None:
    made, one = await opened(browser, site, db)
    await made.page.keyboard.press("t")
    await made.page.keyboard.type("snow")
    await made.until("document.querySelectorAll('#asset-tags [role=option]').length === 2")
    await made.page.keyboard.press("ArrowDown")
    await made.page.keyboard.press("ArrowDown")
    marked = (
        "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.dataset.name"
    )
    assert await made.page.evaluate(marked) == "snowfield"
    await made.page.keyboard.press("Enter")
    await made.until("document.querySelector('.kinds .chip')?.textContent.includes('snowfield')")
    await made.until("document.activeElement.id === 'tag-name'")
    await made.page.keyboard.type("mountain")
    await made.page.keyboard.press("Enter")
    await made.until("document.querySelectorAll('.kinds .chip').length === 2")
    assert await tags_of(db, one) == [("mountain", None), ("snowfield", None)]
    assert await made.troubles() == []


async def test_tags_typed_faster_than_the_server_answers_are_all_added(
    browser: Browser, site: Site, db: Database
) -> None:
    made, one = await opened(browser, site, db)
    await made.page.route("**/tags", slowly)
    await made.page.focus("#tag-name")
    for name in ("snow", "mountain"):
        await made.page.keyboard.press("Control+A")
        await made.page.keyboard.type(name)
        await made.page.keyboard.press("Enter")
    await made.until("document.querySelectorAll('.kinds .chip').length === 2")
    assert await tags_of(db, one) == [("mountain", None), ("snow", None)]
    assert await made.troubles() == []


async def test_a_new_character_of_a_new_fandom_is_made_in_place(
    browser: Browser, site: Site, db: Database
) -> None:
    made, one = await opened(browser, site, db)
    await made.page.fill("#tag-name", "Rin")
    await made.page.keyboard.press("Enter")
    await made.until("document.activeElement.id === 'tag-kind'")
    assert not await made.page.is_visible("#tag-fandom")
    await made.page.select_option("#tag-kind", "character")
    await made.page.fill("#tag-fandom", "Tidepool")
    await made.until("document.querySelector('[name=make_fandom]')?.checked")
    await made.page.click("button[name=make]")
    await made.until("document.querySelector('.chip.k-character') !== null")
    assert await tags_of(db, one) == [("Rin", "Tidepool")]
    assert await made.troubles() == []


async def test_a_removed_tag_comes_back_where_it_was(browser: Browser, site: Site, db: Database) -> None:
    made, one = await opened(browser, site, db)
    await made.page.fill("#tag-name", "snow")
    await made.page.keyboard.press("Enter")
    await made.page.click("[aria-label='Remove snow']")
    await made.until("!document.querySelector('.kinds .chip')")
    await made.page.click(".toast >> text=Undo")
    await made.until("document.querySelector('.kinds .chip')?.textContent.includes('snow')")
    assert await tags_of(db, one) == [("snow", None)]
    assert await made.troubles() == []


async def test_keys_rate_favour_and_take_back(browser: Browser, site: Site, db: Database) -> None:
    made, one = await opened(browser, site, db)
    # Faster than the answers come.
    await made.page.route("**/marks", slowly)
    for key in "2f4":
        await made.page.keyboard.press(key)
    await made.until("document.querySelector('#asset-marks .stars').ariaLabel === 'Rating, 4 of 5'")
    await made.until("document.querySelector('[name=favourite]').value === '0'")
    seen = await asset(db, one)
    assert (seen.rating, seen.favourite) == (4, True)
    await made.page.keyboard.press("0")
    await made.until("document.querySelector('#asset-marks .stars').ariaLabel === 'Rating, 0 of 5'")
    await made.page.keyboard.press("Delete")
    await made.until("document.querySelector('#asset-marks').textContent.includes('In the trash')")
    await made.page.click(".toast >> text=Undo")
    await made.until("!document.querySelector('#asset-marks').textContent.includes('In the trash')")
    seen = await asset(db, one)
    assert (seen.rating, seen.state) == (0, "kept")
    assert await made.troubles() == []


@pytest.mark.usefixtures("working")
async def test_turning_shows_the_picture_the_other_way(browser: Browser, site: Site, db: Database) -> None:
    made, one = await opened(browser, site, db)
    before = await asset(db, one)
    await made.page.keyboard.press("r")
    shape = f"document.querySelector('#picture img')?.getAttribute('width') === '{before.height}'"
    await made.until(shape)
    assert (await asset(db, one)).turn == 90


async def test_date_title_and_note_are_changed_in_the_panel(
    browser: Browser, site: Site, db: Database
) -> None:
    made, one = await opened(browser, site, db)
    await made.page.click("#asset-words summary")
    await made.page.fill("#asset-title", "A <b>day</b>")
    await made.page.fill("#asset-note", "one\ntwo")
    await made.page.click("#asset-words button[type=submit]")
    await made.until("document.querySelector('.asset-title')?.textContent === 'A <b>day</b>'")
    await made.page.click("#asset-date summary")
    await made.page.fill("[name=day]", "2001-02-03")
    await made.page.click("#asset-date button[type=submit]")
    await made.until("document.querySelector('#asset-date').textContent.includes('3 Feb 2001')")
    seen = await asset(db, one)
    assert (seen.title, seen.note, seen.date_source) == ("A <b>day</b>", "one\ntwo", "human")
    await made.page.click("#asset-date summary")
    await made.page.click("button[formaction$=own]")
    await made.until("!document.querySelector('#asset-date').textContent.includes('by hand')")
    assert (await asset(db, one)).date_source == "exif"
    assert await made.troubles() == []


async def test_a_merge_is_counted_in_its_dialog_and_done(browser: Browser, site: Site, db: Database) -> None:
    made, one = await opened(browser, site, db)
    async with db.unit_of_work() as uow:
        snow = (await tagging.resolve(uow.sql, "snow"))[0]
        field = (await tagging.resolve(uow.sql, "snowfield"))[0]
        await tagging.assign(uow, [one], [snow])
    await made.page.goto(f"{site.url}/tags/{snow}")
    await made.page.click("[data-dialog=merge]")
    await made.page.fill("#into", "snowf")
    await made.until("document.querySelectorAll('#merge [role=option]').length === 1")
    await made.page.keyboard.press("ArrowDown")
    await made.page.keyboard.press("Enter")
    await made.page.click("text=Merge 1 asset")
    await made.page.wait_for_url(f"{site.url}/tags/{field}")
    assert await tags_of(db, one) == [("snowfield", None)]
    assert await made.troubles() == []


async def test_tags_and_marks_work_without_scripts(browser: Browser, site: Site, db: Database) -> None:
    made, one = await opened(browser, site, db)
    plain = await browser.new_context(java_script_enabled=False)
    page = await plain.new_page()
    await page.goto(f"{site.url}/login?next=/asset/{one}")
    await page.fill("#name", NAME)
    await page.fill("#password", PASSWORD)
    await page.click("button[type=submit]")
    await page.fill("#tag-name", "Rin")
    await page.click("text=Add >> visible=true")
    await page.select_option("#tag-kind", "character")
    await page.fill("#tag-fandom", "Tidepool")
    await page.click("text=Create and add")
    await page.click("text=Create and add")
    await page.wait_for_url(f"{site.url}/asset/{one}")
    await page.click("[data-star='3']")
    await page.wait_for_url(f"{site.url}/asset/{one}")
    await page.click("[aria-label='Remove Rin']")
    await page.wait_for_url(f"{site.url}/asset/{one}")
    assert await tags_of(db, one) == []
    assert (await asset(db, one)).rating == 3
    await plain.close()
    assert await made.troubles() == []


async def test_a_question_can_be_left_unanswered(browser: Browser, site: Site, db: Database) -> None:
    made, one = await opened(browser, site, db)
    await made.page.fill("#tag-name", "Rin")
    await made.page.keyboard.press("Enter")
    await made.page.click("#asset-tags >> text=Cancel")
    await made.until("document.querySelector('#tag-name') !== null && !document.querySelector('.make')")
    assert await tags_of(db, one) == []
    assert await made.troubles() == []


async def test_editing_works_in_the_viewer_over_the_gallery(
    browser: Browser, site: Site, db: Database
) -> None:
    made, one = await opened(browser, site, db)
    await made.page.goto(f"{site.url}/")
    await made.page.click(f"#a{one}")
    await made.until("document.querySelector('#asset-marks') !== null")
    await made.page.keyboard.press("3")
    await made.until("document.querySelector('#asset-marks .stars').ariaLabel === 'Rating, 3 of 5'")
    await made.page.keyboard.press("t")
    await made.page.keyboard.type("snow")
    await made.page.keyboard.press("Enter")
    await made.until("document.querySelector('.kinds .chip')?.textContent.includes('snow')")
    assert await tags_of(db, one) == [("snow", None)]
    assert (await asset(db, one)).rating == 3


async def test_a_name_that_is_taken_leads_to_the_merge(browser: Browser, site: Site, db: Database) -> None:
    made, _ = await opened(browser, site, db)
    async with db.unit_of_work() as uow:
        snow = (await tagging.resolve(uow.sql, "snow"))[0]
    await made.page.goto(f"{site.url}/tags/{snow}")
    await made.page.fill("#tag-name", "Snowfield")
    await made.page.click("text=Rename")
    await made.page.click("text=Merge snow into snowfield")
    await made.until("document.querySelector('#overlap .btn.main')?.textContent === 'Merge 0 assets'")
    # A refusal with its way out is an answer, which the console calls an error.
    assert [t for t in await made.troubles() if "409" not in t] == []
