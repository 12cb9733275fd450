"""The policy of the pages: what people and browsers do by themselves never runs against it."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Browser

from appliance.core.db import Database
from tests.browser.conftest import Site, Visit, set_up, visit
from tests.ingest.conftest import Ingest, folder, ingest
from tests.library.films import film
from tests.media import make
from tests.seed import seed


__all__ = ["folder", "ingest"]


async def pull_at_the_note(made: Visit) -> None:
    """Make the field larger at its corner: the browser writes that as a style of its own."""
    await made.page.click("#asset-words summary")
    box = await made.page.locator("#asset-note").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] - 4, box["y"] + box["height"] - 4
    await made.page.mouse.move(x, y)
    await made.page.mouse.down()
    await made.page.mouse.move(x, y + 60, steps=4)
    await made.page.mouse.up()


async def test_a_part_that_was_resized_is_drawn_anew_without_a_report(
    browser: Browser, site: Site, db: Database
) -> None:
    ids = await seed(db, site.settings.home, 3, stored=3)
    made = await visit(browser, site)
    await set_up(made, db, f"/asset/{ids[0]}")
    await pull_at_the_note(made)
    assert await made.page.get_attribute("#asset-note", "style")
    await made.page.evaluate("document.getElementById('asset-words').dataset.old = ''")

    await made.page.evaluate("document.body.dispatchEvent(new Event('asset:reworded'))")

    await made.until("document.querySelector('#asset-words:not([data-old]) #asset-note') !== null")
    assert await made.troubles() == []
    await made.context.close()


async def test_film_in_a_window_of_its_own_plays(
    browser: Browser, site: Site, ingest: Ingest, folder: Path
) -> None:
    number = await film(ingest, folder, "a.mp4", make.film("mp4", size=(320, 180)))
    made = await visit(browser, site)
    await set_up(made, ingest.db, f"/media/{number}/original")

    await made.until("document.querySelector('video')?.videoWidth === 320")

    assert await made.troubles() == []
    await made.context.close()
