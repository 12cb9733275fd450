"""The search box in a real browser: chips and text, suggestions, and the keys of both."""

from __future__ import annotations

from playwright.async_api import Browser, Route

from appliance.core.db import Database
from appliance.tagging import services as tagging
from tests.browser.conftest import Site, Visit, set_up, visit
from tests.seed import seed
from tests.waiting import until


BOX = "#search input[name=q]"
OPTIONS = "document.querySelectorAll('#found [role=option]').length"


async def opened(browser: Browser, site: Site, db: Database) -> tuple[Visit, list[int]]:
    ids = await seed(db, site.settings.home, 60, stored=60)
    async with db.unit_of_work() as uow:
        for name, kind, every in (
            ("red fox", "general", 2),
            ("red panda", "character", 3),
            ("snow", "meta", 4),
        ):
            tag = await tagging.make(uow, name, kind)
            await tagging.assign(uow, ids[::every], [tag])
        await tagging.fold(uow.sql)
    made = await visit(browser, site)
    await set_up(made, db)
    return made, ids


async def value(made: Visit) -> str:
    return str(await made.page.input_value(BOX))


async def q(made: Visit) -> str:
    return str(await made.page.evaluate("new URLSearchParams(location.search).get('q') ?? ''"))


async def test_suggestions_come_while_one_writes_and_enter_searches(
    browser: Browser, site: Site, db: Database
) -> None:
    made, ids = await opened(browser, site, db)
    await made.page.keyboard.press("/")
    await made.until("document.activeElement.name === 'q'")
    await made.page.keyboard.type("red")
    await made.until(f"{OPTIONS} >= 2")
    assert await made.page.get_attribute(BOX, "aria-expanded") == "true"
    await made.page.keyboard.press("ArrowDown")
    active = await made.page.get_attribute(BOX, "aria-activedescendant")
    assert await made.page.evaluate(f"document.getElementById('{active}').ariaSelected") == "true"
    await made.page.keyboard.press("Enter")
    await made.until("location.search.includes('q=')")
    await made.until("document.querySelectorAll('.tile').length === 30")
    assert "fox" in await q(made)
    assert await made.page.evaluate("document.querySelector('.chip').innerText.trim()") == "red fox"
    assert len(ids) == 60
    assert await made.troubles() == []


async def test_several_are_taken_from_one_list(browser: Browser, site: Site, db: Database) -> None:
    made, _ = await opened(browser, site, db)
    await made.page.click(BOX)
    await made.page.keyboard.type("red")
    await made.until(f"{OPTIONS} >= 2")
    await made.page.keyboard.press("Control+Enter")
    await made.page.click("#found [role=option] >> nth=1", modifiers=["Control"])
    assert await made.page.is_visible("#found")
    assert await made.page.evaluate("document.querySelectorAll('#found .taken').length") == 2
    assert await made.page.evaluate("location.search") == ""
    await made.page.keyboard.type("sn")
    await made.until("document.querySelector('#found [role=option] b')?.innerText === 'snow'")
    await made.page.keyboard.press("Control+Enter")
    written = await value(made)
    assert "fox" in written
    assert "panda" in written
    assert written.endswith("snow ")
    await made.page.keyboard.press("Escape")
    assert await made.page.evaluate("document.getElementById('found').hidden")
    await made.page.keyboard.press("Enter")
    await made.until("location.search.includes('snow')")
    # Every second, third and fourth picture of sixty have all three.
    await made.until("document.querySelectorAll('.tile').length === 5")
    assert await made.troubles() == []


async def test_a_key_is_finished_by_its_value(browser: Browser, site: Site, db: Database) -> None:
    made, _ = await opened(browser, site, db)
    await made.page.click(BOX)
    await made.page.keyboard.type("ratin")
    await made.until("document.querySelector('#found [role=option] b')?.innerText.startsWith('rating')")
    await made.page.keyboard.press("ArrowDown")
    await made.page.keyboard.press("Enter")
    await made.until("document.querySelector('#found [role=option] b')?.innerText === 'rating:5'")
    assert await value(made) == "rating:"
    assert await made.page.evaluate("location.search") == ""


async def test_chips_are_shown_at_rest_and_text_while_writing(
    browser: Browser, site: Site, db: Database
) -> None:
    made, _ = await opened(browser, site, db)
    await made.page.goto(f"{site.url}/?q=red_fox%20-snow")
    assert await made.page.is_visible(".terms")
    assert (
        await made.page.evaluate(f"getComputedStyle(document.querySelector('{BOX}')).color")
        == "rgba(0, 0, 0, 0)"
    )
    await made.page.focus(BOX)
    assert not await made.page.is_visible(".terms")
    assert (await value(made)).strip() == "red_fox -snow"
    await made.page.keyboard.press("Escape")
    await made.page.keyboard.press("Escape")
    await made.until("document.activeElement.name !== 'q'")
    assert await made.page.is_visible(".terms")
    await made.page.click("[aria-label='Remove -snow']")
    await made.until("document.querySelectorAll('.terms .chip').length === 1")
    assert await q(made) in {"red_fox", '"red fox"'}
    await made.page.click(".terms .chip a")
    await made.until("location.search === ''")
    assert await made.troubles() == []


async def test_an_older_answer_never_replaces_a_newer_one(browser: Browser, site: Site, db: Database) -> None:
    made, _ = await opened(browser, site, db)
    late: list[Route] = []

    async def hold(route: Route) -> None:
        if "q=r&" in route.request.url:
            late.append(route)
        else:
            await route.continue_()

    await made.page.route("**/search/complete?*", hold)
    await made.page.click(BOX)
    await made.page.keyboard.type("r")
    await until(lambda: late, "the first letter was asked about")
    await made.page.keyboard.press("Backspace")
    await made.page.keyboard.type("snow")
    await made.until("document.querySelector('#found [role=option] b')?.innerText === 'snow'")
    await made.page.unroute("**/search/complete?*")
    assert await made.page.evaluate("document.querySelector('#found [role=option] b').innerText") == "snow"


async def test_a_refused_search_can_be_mended_where_it_stands(
    browser: Browser, site: Site, db: Database
) -> None:
    made, _ = await opened(browser, site, db)
    await made.page.goto(f"{site.url}/?q=red_fox%20rating:9")
    assert await made.page.inner_text("mark") == "rating:9"
    assert await value(made) == "red_fox rating:9"
    await made.page.fill(BOX, "red_fox rating:0")
    await made.page.keyboard.press("Enter")
    await made.until("document.querySelectorAll('.tile').length === 30")
