"""The address is the position: whoever comes back stands before the same picture."""

from __future__ import annotations

from playwright.async_api import Browser

from appliance.core.db import Database
from appliance.tagging import services as tagging
from tests.browser.conftest import Site, Visit, come_in, set_up, visit
from tests.seed import seed


WITHIN = 8.0


async def _scroll(made: Visit, pixels: int) -> None:
    await made.page.mouse.move(700, 500)
    for _ in range(pixels // 600):
        await made.page.mouse.wheel(0, 600)
        await made.page.wait_for_timeout(40)
    await made.until("location.search.startsWith('?at=')")
    await made.rest()


async def _open_one(made: Visit) -> tuple[str, float]:
    """Open a picture from the middle of the screen; which it is, and where it stood."""
    chosen = await made.page.evaluate(
        "[...document.querySelectorAll('.tile > a')].find(a => a.getBoundingClientRect().top > 350).id"
    )
    before = await made.top_of(f"#{chosen}")
    await made.page.click(f"#{chosen}")
    await made.page.wait_for_url(f"{made.site.url}/asset/*")
    return chosen, before


async def _same_place(made: Visit, chosen: str, before: float) -> None:
    await made.until(f"document.getElementById('{chosen}') !== null")
    await made.rest()
    assert abs(await made.top_of(f"#{chosen}") - before) <= WITHIN


async def test_back_lands_on_the_same_tile_also_after_a_reload(
    browser: Browser, site: Site, db: Database
) -> None:
    await seed(db, site.settings.home, 1200, stored=1200)
    made = await visit(browser, site)
    await set_up(made, db)
    await made.page.click("button[aria-label='Account and theme']")
    await made.page.click("text=Sign out")
    await come_in(made)
    await made.page.wait_for_url(f"{site.url}/")

    await _scroll(made, 9000)
    chosen, before = await _open_one(made)
    await made.page.go_back()
    await _same_place(made, chosen, before)

    await made.page.reload()
    await _same_place(made, chosen, before)
    assert await made.troubles() == []


async def test_back_lands_on_the_same_tile_also_when_the_viewer_was_reloaded(
    browser: Browser, site: Site, db: Database
) -> None:
    await seed(db, site.settings.home, 600, stored=600)
    made = await visit(browser, site)
    await set_up(made, db)
    await _scroll(made, 4800)
    chosen, before = await _open_one(made)
    await made.page.reload()
    await made.until("document.body.matches('.viewer')")
    await made.page.go_back()
    await _same_place(made, chosen, before)
    assert await made.troubles() == []


async def test_the_arrow_on_an_asset_leads_back_to_its_place(
    browser: Browser, site: Site, db: Database
) -> None:
    await seed(db, site.settings.home, 600, stored=600)
    made = await visit(browser, site)
    await set_up(made, db)
    await _scroll(made, 4800)
    chosen, before = await _open_one(made)
    await made.page.keyboard.press("Escape")
    await _same_place(made, chosen, before)
    await made.page.click(f"#{chosen}")
    await made.page.wait_for_url(f"{site.url}/asset/*")
    await made.page.keyboard.press("ArrowRight")
    await made.until(f"!location.pathname.endsWith('/{chosen[1:]}')")
    following = (await made.page.evaluate("location.pathname")).rpartition("/")[2]
    await made.page.keyboard.press("Escape")
    await made.until(f"document.getElementById('a{following}') !== null")
    await made.rest()
    assert 0 <= await made.top_of(f"#a{following}") < 900
    assert await made.troubles() == []


async def test_a_search_and_its_place_survive_reload_and_back(
    browser: Browser, site: Site, db: Database
) -> None:
    ids = await seed(db, site.settings.home, 1200, stored=1200)
    async with db.unit_of_work() as uow:
        await tagging.assign(uow, ids[::2], [await tagging.make(uow, "red fox", "general")])
    made = await visit(browser, site)
    await set_up(made, db, "/?q=red_fox")
    await made.page.mouse.move(700, 500)
    for _ in range(12):
        await made.page.mouse.wheel(0, 600)
        await made.page.wait_for_timeout(40)
    await made.until("location.search.includes('at=')")
    await made.rest()
    assert (await made.page.evaluate("location.search")).startswith("?q=red_fox&at=")
    chosen = await made.page.evaluate(
        "[...document.querySelectorAll('.tile > a')].find(a => a.getBoundingClientRect().top > 350).id"
    )
    before = await made.top_of(f"#{chosen}")
    await made.page.reload()
    await _same_place(made, chosen, before)
    await made.page.goto(f"{site.url}/folders")
    await made.page.go_back()
    await _same_place(made, chosen, before)
    shown = await made.page.evaluate(
        "[...document.querySelectorAll('.tile > a')].map(a => Number(a.id.slice(1)))"
    )
    assert set(shown) <= set(ids[::2])
    assert await made.troubles() == []
