"""Every page in a real browser: nothing blocked, nothing logged, and it works without scripts too."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, async_playwright

from appliance.core.db import Database
from tests.browser.conftest import ARGS, CHROMIUM, NAME, PASSWORD, Site, by_link, set_up, visit
from tests.seed import seed


PAGES = ("/", "/?at=2026-10", "/admin/activity", "/asset/1", "/asset/1?pane=files", "/asset/2")
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "user_agent": "Mozilla/5.0 (Linux) Mobile",
    "has_touch": True,
}


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}, PHONE], ids=["desktop", "phone"])
async def test_no_page_breaks_the_policy_or_logs_an_error(
    browser: Browser, site: Site, db: Database, options: dict[str, object]
) -> None:
    await seed(db, site.settings.home, 200, stored=200)
    made = await visit(browser, site, **options)
    await by_link(made, db)
    for path in PAGES:
        await made.page.goto(site.url + path)
        await made.page.wait_for_timeout(300)
        assert await made.troubles() == [], path
        wide = await made.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{path} is wider than the window by {wide}"
        assert await made.page.evaluate("document.querySelectorAll('h1').length") == 1


async def test_first_page_costs_few_requests(browser: Browser, site: Site, db: Database) -> None:
    await seed(db, site.settings.home, 150, stored=150)
    made = await visit(browser, site)
    await set_up(made, db)
    asked: list[str] = []
    fresh = await browser.new_context(storage_state=await made.context.storage_state())
    page = await fresh.new_page()
    page.on("request", lambda r: asked.append(r.url))
    await page.goto(f"{site.url}/")
    await page.wait_for_timeout(300)
    others = [u for u in asked if "/media/" not in u and u != f"{site.url}/"]
    assert len(others) <= 5, others


async def test_on_plain_http_in_the_home_network_forms_work(site: Site, db: Database) -> None:
    """Browsers send no Sec-Fetch headers there: only a true Origin tells our form from a stranger's."""
    async with async_playwright() as playwright:
        rules = f"--host-resolver-rules=MAP nas.lan 127.0.0.1:{site.url.rpartition(':')[2]}"
        launched = await playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGS, rules])
        made = await visit(launched, Site("http://nas.lan", site.settings))
        await by_link(made, db)
        assert await made.page.evaluate("isSecureContext") is False
        await made.page.click("button[aria-label='Account and theme']")
        await made.page.click("text=Sign out")
        await made.page.wait_for_url("http://nas.lan/login")
        assert await made.troubles() == []
        await launched.close()


async def test_without_scripts_one_can_sign_in_browse_look_and_sign_out(
    browser: Browser, site: Site, db: Database
) -> None:
    await seed(db, site.settings.home, 400, stored=400)
    await set_up(await visit(browser, site), db)
    made = await visit(browser, site, java_script_enabled=False)
    page = made.page
    await page.goto(f"{site.url}/admin/activity")
    await page.fill("#name", NAME)
    await page.fill("#password", PASSWORD)
    await made.follow("button[type=submit]")
    assert page.url == f"{site.url}/admin/activity"
    await made.follow("nav.rail a[title=Gallery]")
    first = await page.locator(".tile > a").first.get_attribute("id")
    await made.follow(".pager a:has-text('Older')")
    assert await page.locator(".tile > a").first.get_attribute("id") != first
    await made.follow(".tile > a >> nth=3")
    assert "/asset/" in page.url
    await made.follow("a[aria-label='Next']")
    await made.follow("a[aria-label='Back to the gallery']")
    await made.follow("nav[aria-label='Picture size'] a:has-text('L')")
    assert await page.locator("nav[aria-label='Picture size'] a[aria-current]").inner_text() == "L"
    await page.click("button[aria-label='Account and theme']")
    await made.follow("a:has-text('Dark')")
    assert await page.locator("html").get_attribute("data-theme") == "dark"
    await page.click("button[aria-label='Account and theme']")
    await made.follow("button:has-text('Sign out')")
    assert page.url.endswith("/login")


async def test_the_theme_changes_in_place_and_lasts(browser: Browser, site: Site, db: Database) -> None:
    made = await visit(browser, site)
    await set_up(made, db)
    await made.page.click("button[aria-label='Account and theme']")
    await made.page.click("text=Dark")
    await made.until("document.documentElement.dataset.theme === 'dark'")
    await made.page.reload()
    assert await made.page.locator("html").get_attribute("data-theme") == "dark"
    assert await made.troubles() == []
