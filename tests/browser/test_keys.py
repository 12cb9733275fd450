"""Keys: one table, a sheet drawn from it, and nothing taken from the browser that it needs itself."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Browser

from appliance.core.db import Database
from tests.browser.conftest import Site, Visit, as_viewer, set_up, visit
from tests.seed import seed


async def opened(browser: Browser, site: Site, db: Database, path: str = "/settings") -> Visit:
    made = await visit(browser, site)
    await set_up(made, db, path)
    return made


async def place(made: Visit) -> str:
    return str(await made.page.evaluate("location.pathname"))


async def test_the_sheet_lists_what_is_bound_here_and_gives_the_focus_back(
    browser: Browser, site: Site, db: Database
) -> None:
    made = await opened(browser, site, db)
    await made.page.focus(".side a[aria-current]")
    await made.page.keyboard.press("?")
    sheet = made.page.locator("dialog#keysheet")
    assert await sheet.is_visible()
    groups = await sheet.locator("h3").all_inner_texts()
    assert groups == ["Everywhere"]
    lines: Any = await sheet.locator("dl > div").all_inner_texts()
    assert any("Go to the gallery" in line for line in lines)
    assert not any("Rate" in line for line in lines)
    await made.page.keyboard.press("Escape")
    assert not await sheet.is_visible()
    assert await made.page.evaluate("document.activeElement.getAttribute('aria-current')") == "page"
    assert await made.troubles() == []


async def test_the_sheet_of_the_gallery_has_its_own_keys_too(
    browser: Browser, site: Site, db: Database
) -> None:
    await seed(db, site.settings.home, 20, stored=20)
    made = await opened(browser, site, db, "/")
    await made.page.click("button[aria-label='Account and theme']")
    await made.page.click("a[data-key-sheet]")
    sheet = made.page.locator("dialog#keysheet")
    assert await sheet.is_visible()
    assert "Gallery" in await sheet.locator("h3").all_inner_texts()
    await made.page.keyboard.press("?")
    assert not await sheet.is_visible()


async def test_two_keys_in_a_row_lead_elsewhere_and_one_alone_does_nothing(
    browser: Browser, site: Site, db: Database
) -> None:
    made = await opened(browser, site, db, "/settings/about")
    await made.page.keyboard.press("a")
    assert await place(made) == "/settings/about"
    await made.page.keyboard.press("g")
    await made.page.keyboard.press("a")
    await made.until("location.pathname === '/admin/activity'")
    await made.page.keyboard.press("g")
    await made.page.wait_for_timeout(1200)  # the sequence has a time limit of a second
    await made.page.keyboard.press("s")
    assert await place(made) == "/admin/activity"


async def test_a_viewer_has_no_keys_to_places_that_are_closed(
    browser: Browser, site: Site, db: Database
) -> None:
    made = await visit(browser, site)
    await set_up(made, db)
    await as_viewer(made, db)
    await made.page.goto(f"{site.url}/settings")
    await made.page.keyboard.press("?")
    words = await made.page.locator("dialog#keysheet").inner_text()
    assert "Go to settings" in words
    assert "Go to activity" not in words
    await made.page.keyboard.press("Escape")
    await made.page.keyboard.press("g")
    await made.page.keyboard.press("a")
    await made.page.wait_for_timeout(100)
    assert await place(made) == "/settings"


async def test_letters_in_a_field_are_text_and_after_a_checkbox_are_keys(
    browser: Browser, site: Site, db: Database
) -> None:
    made = await opened(browser, site, db)
    await made.page.focus("#old")
    await made.page.keyboard.type("ga?")
    assert await made.page.input_value("#old") == "ga?"
    assert not await made.page.locator("dialog#keysheet").count()
    await made.page.goto(f"{site.url}/settings/keyboard")
    await made.page.locator("input[name=keys]").click()
    await made.page.keyboard.press("?")
    assert await made.page.locator("dialog#keysheet").is_visible()


async def test_single_keys_can_be_switched_off(browser: Browser, site: Site, db: Database) -> None:
    made = await opened(browser, site, db, "/settings/keyboard")
    assert await made.page.locator("[data-key-table] h3").count() >= 4
    await made.page.locator("input[name=keys]").uncheck()
    await made.page.click("text=Save keyboard")
    await made.until("location.search.includes('said=kept')")
    await made.page.keyboard.press("?")
    await made.page.keyboard.press("g")
    await made.page.keyboard.press("a")
    await made.page.wait_for_timeout(100)
    assert await place(made) == "/settings/keyboard"
    assert not await made.page.locator("dialog#keysheet").count()
    await made.page.locator("input[name=keys]").check()
    await made.page.click("text=Save keyboard")
    await made.until("document.readyState === 'complete' && document.cookie.includes('keys=on')")
    await made.page.keyboard.press("?")
    assert await made.page.locator("dialog#keysheet").is_visible()


@pytest.mark.parametrize("key", ["PageDown", "PageUp", "Home", "End"])
async def test_keys_that_scroll_stay_the_browsers(
    browser: Browser, site: Site, db: Database, key: str
) -> None:
    await seed(db, site.settings.home, 300, stored=30)
    made = await opened(browser, site, db, "/")
    table: Any = await made.page.evaluate(
        "Keys.TABLE.filter((row) => row.scope !== 'reader').flatMap((row) => row.keys)"
    )
    assert key not in table
    kept = await made.page.evaluate(
        """(key) => { const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
        document.body.dispatchEvent(event); return !event.defaultPrevented; }""",
        key,
    )
    assert kept


async def test_no_key_has_two_meanings_in_one_place(browser: Browser, site: Site, db: Database) -> None:
    made = await opened(browser, site, db)
    rows: Any = await made.page.evaluate("Keys.TABLE.map(({ scope, keys }) => [scope, keys])")
    taken = [(scope, key) for scope, keys in rows for key in keys]
    assert len(taken) == len(set(taken))
