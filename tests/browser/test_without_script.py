"""Without scripts: sign in, browse, view, search, folders and months."""

from __future__ import annotations

from playwright.async_api import Browser

from appliance.core.db import Database
from appliance.tagging import services as tagging
from tests.browser.conftest import NAME, PASSWORD, Site, set_up, visit
from tests.seed import seed


async def test_everything_that_reads_works_without_scripts(
    browser: Browser, site: Site, db: Database
) -> None:
    ids = await seed(db, site.settings.home, 300, stored=300)
    async with db.unit_of_work() as uow:
        await tagging.assign(uow, ids[::3], [await tagging.make(uow, "red fox", "general")])
        await uow.sql.execute(
            "UPDATE asset_file SET path = convert_to('trips/' || asset_id, 'UTF8')"
            " WHERE asset_id = ANY($1::bigint[])",
            ids[:7],
        )
    scripted = await visit(browser, site)
    await set_up(scripted, db)
    await scripted.context.close()
    made = await visit(browser, site, java_script_enabled=False)
    page = made.page
    await page.goto(site.url)
    await page.fill("#name", NAME)
    await page.fill("#password", PASSWORD)
    await made.follow("button[type=submit]")
    assert await page.locator(".tile").count() > 30
    assert await page.locator(".pick:visible").count() == 0

    await made.follow(".pager[data-way=before] a")
    assert "before=" in page.url
    assert await page.locator(".tile").count() > 30
    first = await page.locator(".tile > a").first.get_attribute("href")
    await made.follow(".tile > a >> nth=0")
    assert page.url.endswith(str(first))
    await page.go_back()

    await page.fill("#q", "red_fox")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**q=red_fox*")
    assert await page.locator(".toolbar b").first.inner_text() == "100"
    assert await page.input_value("#q") == "red_fox"
    assert await page.locator(".terms:visible").count() == 0
    await made.follow("a.unscripted")
    assert "/months" in page.url
    await made.follow("nav.months-page a >> nth=-1")
    assert "at=" in page.url
    assert "q=red_fox" in page.url

    await page.fill("#q", "rating:9")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**rating*")
    assert await page.inner_text("mark") == "rating:9"

    await page.goto(f"{site.url}/folders")
    await page.click("text=Folders inside")
    await made.follow("text=trips")
    assert "folder%3A" in page.url
    assert await page.locator(".tile").count() == 7
