"""The line of an action goes when it is undone, whichever way; the key takes back one thing after another."""

from __future__ import annotations

import json

from playwright.async_api import Browser

from appliance.core.db import Database
from tests.browser.conftest import Site, Visit, as_viewer, set_up, visit
from tests.browser.test_selection import opened, toast, value
from tests.operations.conftest import Library
from tests.seed import seed


LINES = (
    "[...document.querySelectorAll('#toasts .toast')].map((line) => line.querySelector('span').textContent)"
)
RATINGS = "SELECT sum(rating) FROM asset"


async def lines(made: Visit, *expected: str) -> None:
    await made.until(f"JSON.stringify({LINES}) === {json.dumps(json.dumps(expected, separators=(',', ':')))}")


async def rate(made: Visit, asset_id: int, stars: str) -> None:
    await made.page.focus(f"#a{asset_id}")
    await made.page.keyboard.press(stars)


async def test_a_line_goes_with_its_own_undo(browser: Browser, site: Site, db: Database) -> None:
    made, ids = await opened(browser, site, db, 12)
    await rate(made, ids[0], "4")
    await lines(made, "Rated 1")
    await made.page.dblclick(".toast >> text=Undo")
    await lines(made, "Undone for 1")
    assert await value(db, RATINGS) == 0
    assert await made.troubles() == []


async def test_two_quick_presses_take_back_two_things_and_their_lines(
    browser: Browser, site: Site, db: Database
) -> None:
    made, ids = await opened(browser, site, db, 12)
    for asset_id, stars in zip(ids[:3], "345", strict=True):
        await rate(made, asset_id, stars)
        await made.until(f"document.querySelectorAll('#toasts .toast').length === {ids.index(asset_id) + 1}")
    await made.page.keyboard.press("z")
    await made.page.keyboard.press("z")
    await lines(made, "Rated 1", "Undone for 1", "Undone for 1")
    assert await value(db, "SELECT array_agg(id) FROM asset WHERE rating > 0") == ids[:1]
    assert not await made.page.locator(".toast.bad").count()
    assert await made.troubles() == []


async def test_an_undo_in_the_history_takes_the_line_with_it_and_may_be_asked_again(
    browser: Browser, site: Site, db: Database
) -> None:
    (one,) = await seed(db, site.settings.home, 1, stored=1)
    library = Library(db)
    first = await library.act("title", [one], title="mine")
    second = await library.act("title", [one], title="yours")
    made = await visit(browser, site)
    await set_up(made, db, "/history")
    await made.page.click(f"#operation-{first.id} button")
    await toast(made, "Nothing was undone")
    await made.until(f"document.querySelector('#operation-{first.id}').innerText.includes('Changed since')")
    await made.page.click(f"#operation-{second.id} button")
    await toast(made, "Undone for 1")
    await made.page.click(f"#operation-{first.id} button")
    await made.until(f"document.querySelector('#operation-{first.id} button') === null")
    assert await value(db, "SELECT title FROM asset") is None
    assert await made.troubles() == []


async def test_stop_leaves_one_line(browser: Browser, site: Site, db: Database) -> None:
    ids = await Library(db).fill(600)
    made = await visit(browser, site)
    await set_up(made, db, "/history")
    asked = await Library(db).act("rate", ids, rating="3")
    await made.page.evaluate(
        "(path) => fetch(path, { headers: { 'HX-Request': 'true', 'HX-Request-Type': 'partial' } })"
        ".then((answer) => answer.text()).then(Operations.show)",
        f"/operations/{asked.id}",
    )
    await made.page.click(".toast >> text=Stop")
    await made.until(f"document.querySelector('#operation-line-{asked.id} form') === null")
    assert await made.page.locator(f"#operation-line-{asked.id}").count() == 1


async def test_the_undo_key_of_a_viewer_does_nothing(browser: Browser, site: Site, db: Database) -> None:
    await seed(db, site.settings.home, 3, stored=3)
    made = await visit(browser, site)
    await set_up(made, db)
    await as_viewer(made, db)
    await made.until("document.querySelector('.tile') !== null")
    sent: list[str] = []
    made.page.on("request", lambda request: sent.append(request.url))
    await made.page.keyboard.press("z")
    assert await made.page.evaluate("Keys.isBound({ scope: 'page', name: 'undo' })") is False
    assert not [url for url in sent if "/operations" in url]
    assert not await made.page.locator(".toast").count()


async def test_a_long_word_and_a_turned_one_stay_in_their_cell(
    browser: Browser, site: Site, db: Database
) -> None:
    (one,) = await Library(db).fill(1)
    await Library(db).act("title", [one], title="x" * 150)
    await Library(db).act("title", [one], title="\u202ebackwards")
    made = await visit(browser, site)
    await set_up(made, db, "/history")
    for width in (390, 1440):
        await made.page.set_viewport_size({"width": width, "height": 900})
        assert await made.page.evaluate("document.documentElement.scrollWidth") == width
    # What stands before and after the words stays in its order.
    places = await made.page.evaluate(
        """() => {
            const words = [...document.querySelectorAll(".history bdi")];
            const bdi = words.find((each) => each.innerText.includes("back"));
            const closing = document.createRange();
            closing.selectNodeContents(bdi.nextSibling);
            return [bdi.getBoundingClientRect().right, closing.getBoundingClientRect().left];
        }"""
    )
    assert places[1] >= places[0] - 1
    assert await made.troubles() == []
