"""The viewer over the gallery: the wall stays where it is, the search is what is walked through."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.async_api import Browser

from appliance.core.db import Database
from tests.browser.conftest import SETTLED, Site, Visit, set_up, visit
from tests.seed import seed


SHOTS = os.environ.get("VITRINE_TEST_SHOTS")
OPEN = "document.getElementById('viewer')?.hidden === false"
SHUT = "document.getElementById('viewer')?.hidden !== false"
SHARP = """(() => {
  const image = document.querySelector(
    '.pswp__item[aria-hidden=false] img.pswp__img:not(.pswp__img--placeholder)');
  return Boolean(image && image.complete && image.naturalWidth > 0 && image.src.includes('/preview'));
})()"""


async def shot(made: Visit, name: str) -> None:
    """A picture of the page for people to look at, where a folder is named for them."""
    if SHOTS:
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        await made.page.screenshot(path=f"{SHOTS}/{name}.png")


async def opened(browser: Browser, site: Site, db: Database, count: int = 300) -> tuple[Visit, list[int]]:
    ids = await seed(db, site.settings.home, count, stored=count)
    made = await visit(browser, site)
    await set_up(made, db)
    return made, ids


async def press(made: Visit, number: int) -> None:
    await made.page.click(f"#a{number}")
    await made.until(OPEN)
    await made.until(SHARP)


async def test_a_picture_opens_over_the_wall_and_closing_leaves_it_as_it_was(
    browser: Browser, site: Site, db: Database
) -> None:
    made, _ = await opened(browser, site, db)
    await made.page.evaluate("document.getElementById('wall').dataset.same = 'yes'; scrollBy(0, 700)")
    await made.rest()
    chosen = await made.page.evaluate(
        "[...document.querySelectorAll('.tile > a')].find(a => a.getBoundingClientRect().top > 350).id"
    )
    before = await made.page.evaluate("scrollY")

    await press(made, int(chosen[1:]))
    await shot(made, "viewer")
    assert made.page.url == f"{site.url}/asset/{chosen[1:]}"
    await made.page.keyboard.press("Escape")
    await made.until(SHUT)
    await made.rest()

    assert made.page.url.startswith(f"{site.url}/?at=") or made.page.url.startswith(f"{site.url}/#")
    assert await made.page.evaluate("document.getElementById('wall').dataset.same") == "yes"
    assert await made.page.evaluate("scrollY") == before
    assert await made.page.evaluate("document.activeElement.id") == chosen
    assert await made.troubles() == []


async def test_arrows_walk_through_the_search_beyond_the_pages_that_are_loaded(
    browser: Browser, site: Site, db: Database
) -> None:
    made, ids = await opened(browser, site, db)
    await press(made, ids[0])
    for number in ids[1:140]:
        await made.page.keyboard.press("ArrowRight")
        await made.until(f"location.pathname === '/asset/{number}'")
    await made.until(SHARP)
    await made.page.keyboard.press("ArrowLeft")
    await made.until(f"location.pathname === '/asset/{ids[138]}'")

    # One entry of the history for the whole walk.
    await made.page.go_back()
    await made.until(f"document.activeElement?.id === 'a{ids[138]}'")
    assert await made.top_of(f"#a{ids[138]}") < 900
    assert await made.troubles() == []


async def test_the_first_picture_has_nothing_before_it_also_when_it_was_reached_from_afar(
    browser: Browser, site: Site, db: Database
) -> None:
    made, ids = await opened(browser, site, db)
    async with db.unit_of_work() as uow:
        moment = await uow.sql.fetchval("SELECT effective_at FROM asset WHERE id = $1", ids[80])
    await made.page.goto(f"{site.url}/?at={moment:%Y%m%dT%H%M%S}.000000_{ids[80]}#a{ids[80]}")
    await press(made, ids[80])
    for number in reversed(ids[:80]):
        await made.page.keyboard.press("ArrowLeft")
        await made.until(f"location.pathname === '/asset/{number}'")
    await made.until("document.querySelector('[data-does=previous]').disabled")
    await made.page.keyboard.press("ArrowLeft")
    await made.page.wait_for_timeout(150)
    assert made.page.url.endswith(f"/asset/{ids[0]}")
    await made.page.keyboard.press("ArrowRight")
    await made.until(f"location.pathname === '/asset/{ids[1]}'")
    assert await made.troubles() == []


async def test_the_next_picture_is_there_before_it_is_asked_for(
    browser: Browser, site: Site, db: Database
) -> None:
    made, ids = await opened(browser, site, db, 60)
    await press(made, ids[5])
    loaded = "performance.getEntriesByType('resource').some((e) => e.responseEnd && e.name.includes('{}'))"
    await made.until(loaded.format(f"/media/{ids[6]}/preview"))
    await made.page.route("**/media/**", lambda route: route.abort())
    await made.page.click("[data-does=next]")
    await made.until(f"location.pathname === '/asset/{ids[6]}' && {SHARP}")


async def test_forward_opens_it_again_and_a_reload_is_the_page_of_the_asset(
    browser: Browser, site: Site, db: Database
) -> None:
    made, ids = await opened(browser, site, db, 60)
    await press(made, ids[3])
    await made.page.go_back()
    await made.until(SHUT)
    await made.page.go_forward()
    await made.until(OPEN)
    await made.until(SHARP)
    await made.page.reload()
    await made.until(
        "document.body.classList.contains('viewer') && document.querySelector('#picture img') !== null"
    )
    assert made.page.url.endswith(f"/asset/{ids[3]}")
    assert await made.troubles() == []


async def test_the_panel_tells_about_the_picture_and_can_be_put_away(
    browser: Browser, site: Site, db: Database
) -> None:
    made, ids = await opened(browser, site, db, 60)
    await press(made, ids[3])
    await made.until("document.querySelector('#viewer .panel .facts') !== null")
    wide = await made.page.evaluate("document.querySelector('.pswp').clientWidth")
    await made.page.keyboard.press("i")
    await made.until("document.querySelector('#viewer .panel').hidden")
    assert await made.page.evaluate("document.querySelector('.pswp').clientWidth") > wide
    await made.page.keyboard.press("i")
    await made.page.click("#viewer [data-pane=files]")
    await made.until("document.querySelector('#viewer .panel').textContent.includes('SHA-256')")
    assert await made.troubles() == []


async def test_zooming_in_loads_the_original(browser: Browser, site: Site, db: Database) -> None:
    made, ids = await opened(browser, site, db, 30)
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET width = width * 6, height = height * 6")
    await press(made, ids[3])
    await made.page.keyboard.press("Shift+Z")
    await made.until(
        "document.querySelector('.pswp__item[aria-hidden=false] img.pswp__img:not(.pswp__img--placeholder)')"
        f".src.endsWith('/media/{ids[3]}/original')"
    )
    assert await made.troubles() == []


async def test_it_fits_on_screens_of_any_width(browser: Browser, site: Site, db: Database) -> None:
    made, _ = await opened(browser, site, db, 60)
    first = await made.page.evaluate("document.querySelector('.tile > a').id")
    await press(made, int(first[1:]))
    for width, height in ((1440, 900), (390, 844)):
        await made.page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            await made.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            await made.until(SETTLED)
            await shot(made, f"viewer-{width}-{scheme}")
            assert await made.page.evaluate("document.documentElement.scrollWidth") <= width
    assert await made.troubles() == []


async def test_a_finger_turns_the_page_opens_the_panel_and_pulls_the_viewer_away(
    browser: Browser, site: Site, db: Database
) -> None:
    ids = await seed(db, site.settings.home, 60, stored=60)
    made = await visit(browser, site, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    await set_up(made, db)
    await made.page.tap(f"#a{ids[0]}")
    await made.until(OPEN)
    await made.until(SHARP)
    await made.page.tap("[data-does=panel]")
    await made.until("document.querySelector('#viewer .panel .facts') !== null")
    await shot(made, "viewer-panel-390")
    await made.page.tap("[data-does=panel]")

    await drag(made, (300, 500), (60, 500))
    await made.until(f"location.pathname === '/asset/{ids[1]}'")
    await drag(made, (60, 500), (300, 500))
    await made.until(f"location.pathname === '/asset/{ids[0]}'")
    await made.until(SHARP)
    await made.page.wait_for_timeout(400)
    await drag(made, (200, 400), (200, 780))
    await made.until(SHUT)
    assert made.page.url.startswith(f"{site.url}/?at=") or made.page.url.startswith(f"{site.url}/#")
    assert await made.troubles() == []


async def drag(made: Visit, start: tuple[int, int], end: tuple[int, int]) -> None:
    """One finger, from here to there."""
    touch = await made.context.new_cdp_session(made.page)

    async def put(kind: str, *points: tuple[float, float]) -> None:
        await touch.send(
            "Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]}
        )

    await put("touchStart", start)
    for n in range(1, 11):
        await put(
            "touchMove", (start[0] + (end[0] - start[0]) * n / 10, start[1] + (end[1] - start[1]) * n / 10)
        )
        await made.page.wait_for_timeout(16)
    await put("touchEnd")
    await touch.detach()


async def test_x_selects_and_trash_goes_on_to_the_next(browser: Browser, site: Site, db: Database) -> None:
    made, ids = await opened(browser, site, db, 40)
    await press(made, ids[3])
    await made.page.keyboard.press("x")
    await made.until("!document.querySelector('[data-picked]').hidden")
    await made.page.keyboard.press("x")
    await made.until("document.querySelector('[data-picked]').hidden")

    await made.until("document.querySelector('#viewer [data-mark=trash]') !== null")
    await made.page.keyboard.press("Delete")
    await made.until(f"location.pathname === '/asset/{ids[4]}'")
    async with db.unit_of_work() as uow:
        assert await uow.sql.fetchval("SELECT state FROM asset WHERE id = $1", ids[3]) == "trashed"
    # The line with the undo lies above the viewer, within reach.
    top = "document.querySelector('#toasts .toast').getBoundingClientRect()"
    found = f"document.elementFromPoint({top}.left + 12, {top}.top + 12).closest('#toasts') !== null"
    assert await made.page.evaluate(found)
    await made.page.keyboard.press("Escape")
    await made.until(SHUT)
    await made.until(f"document.getElementById('a{ids[3]}') === null")
    await made.until(f"document.activeElement.id === 'a{ids[4]}'")
    assert await made.troubles() == []


async def test_a_turned_picture_is_drawn_anew_where_it_is(browser: Browser, site: Site, db: Database) -> None:
    made, ids = await opened(browser, site, db, 20)
    await press(made, ids[3])
    await made.until("document.querySelector('#viewer [data-mark=right]') !== null")
    async with db.unit_of_work() as uow:
        before = await uow.sql.fetchrow("SELECT width, height FROM asset WHERE id = $1", ids[3])
    await made.page.keyboard.press("r")
    await made.until(
        "document.querySelector('.pswp__item[aria-hidden=false] img.pswp__img:not(.pswp__img--placeholder)')"
        ".getAttribute('src').includes('v=2')"
    )
    async with db.unit_of_work() as uow:
        after = await uow.sql.fetchrow("SELECT width, height FROM asset WHERE id = $1", ids[3])
    assert (after["width"], after["height"]) == (before["height"], before["width"])
    assert made.page.url.endswith(f"/asset/{ids[3]}")
