"""The film of a picture plays over it, on its page and in the viewer, and is gone afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser

from tests.browser.conftest import Site, set_up, visit
from tests.browser.drawing import ingest, working
from tests.browser.test_seen import imported
from tests.browser.test_viewer import shot
from tests.ingest.conftest import Ingest, folder
from tests.media import living, make


__all__ = ["folder", "ingest", "working"]
PLAYS = "document.querySelector('.motion video:not([hidden])')?.currentTime > 0.1"
OVER = "!document.querySelector('.motion')"


@pytest.mark.usefixtures("working")
async def test_the_film_of_a_picture_is_played_over_it(
    browser: Browser, site: Site, ingest: Ingest, folder: Path
) -> None:
    files = {
        "phone.jpg": living.google(make.film(count=25, size=(320, 180))),
        "strange.jpg": living.google_before(make.film("mov", codec="mpeg4", count=25, size=(320, 180))),
    }
    found = await imported(ingest, folder, files)
    made = await visit(browser, site)
    await set_up(made, ingest.db)
    for name, number in found.items():
        await made.page.goto(f"{site.url}/asset/{number}")
        await made.page.click("[data-motion]")
        await made.until(PLAYS)
        await shot(made, f"motion-{name}")
        await made.until(OVER)
    assert await made.troubles() == []


@pytest.mark.usefixtures("working")
async def test_in_the_viewer_it_is_stopped_by_going_on(
    browser: Browser, site: Site, ingest: Ingest, folder: Path
) -> None:
    files = {
        "phone.jpg": living.google(make.film(count=100, size=(320, 180))),
        "plain.jpg": living.photo(seed=50),
    }
    found = await imported(ingest, folder, files)
    made = await visit(browser, site)
    await set_up(made, ingest.db)
    await made.page.click(f"#a{found['phone.jpg']}")
    film = made.page.locator("#viewer [data-motion]")
    await film.click()
    await made.until(PLAYS)
    await shot(made, "motion-viewer")
    await film.click()
    await made.until(OVER)
    await film.click()
    await made.until(PLAYS)
    await made.page.locator("#viewer .step:enabled").first.click()
    await made.until("document.querySelector('#viewer [data-motion]').hidden")
    await made.until(OVER)
    assert await made.troubles() == []
