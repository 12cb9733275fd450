"""Films that have to be prepared: what one is told, and that nobody works for an empty chair."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Browser

from tests.browser.conftest import Site, set_up, visit
from tests.browser.test_viewer import shot
from tests.ingest.conftest import Ingest, folder, ingest
from tests.library.films import film
from tests.media import make


__all__ = ["folder", "ingest"]
SAYS = "document.querySelector('.film-says')?.textContent ?? ''"
MAKING = """UPDATE conversion SET status = 'processing', claim = gen_random_uuid(), share = 0.37, made_s = 2,
took_s = 30 RETURNING id"""


async def left(ingest: Ingest) -> float:
    (row,) = await ingest.rows(
        "SELECT extract(epoch FROM wanted_until - now())::float AS left FROM conversion"
    )
    return float(str(row["left"]))


async def test_the_page_says_how_far_a_film_is_and_leaving_it_ends_the_wish(
    browser: Browser, site: Site, ingest: Ingest, folder: Path
) -> None:
    number = await film(ingest, folder, "a.avi", make.film("avi", codec="mpeg4", size=(320, 180)))
    made = await visit(browser, site)
    await set_up(made, ingest.db, f"/asset/{number}")
    await made.until(f"({SAYS}).includes('in a moment')")
    await ingest.rows(MAKING)
    await made.until(f"({SAYS}).startsWith('Preparing this video, 37 %')")
    for width, height in ((1440, 900), (390, 844)):
        await made.page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            await made.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            await shot(made, f"film-{width}-{scheme}")
            assert await made.page.evaluate("document.documentElement.scrollWidth") <= width
    assert await left(ingest) > 8

    await made.page.goto(f"{site.url}/")
    await made.page.wait_for_timeout(300)
    assert await left(ingest) < 5
    assert await made.troubles() == []


async def test_stepping_on_in_the_viewer_ends_the_wish_and_stepping_back_renews_it(
    browser: Browser, site: Site, ingest: Ingest, folder: Path
) -> None:
    await film(ingest, folder, "b.mp4", make.film("mp4", size=(320, 180)))
    number = await film(ingest, folder, "a.avi", make.film("avi", codec="mpeg4", size=(320, 180)))
    made = await visit(browser, site)
    await set_up(made, ingest.db)
    await made.page.click(f"#a{number}")
    await made.until(f"({SAYS}).includes('in a moment')")
    await ingest.rows(MAKING)
    await made.until(f"({SAYS}).startsWith('Preparing this video, 37 %')")
    await shot(made, "viewer-film-preparing")
    away, back = ("ArrowRight", "ArrowLeft")
    if await made.page.evaluate("document.querySelector('[data-does=next]').disabled"):
        away, back = back, away

    await made.page.keyboard.press(away)
    await made.until(f"location.pathname !== '/asset/{number}'")
    await made.page.wait_for_timeout(300)
    assert await left(ingest) < 5
    await made.page.keyboard.press(back)
    await made.until(f"({SAYS}).startsWith('Preparing this video, 37 %')")
    assert await left(ingest) > 8
    assert await made.troubles() == []


async def test_a_film_that_failed_says_why_and_can_be_tried_again(
    browser: Browser, site: Site, ingest: Ingest, folder: Path
) -> None:
    number = await film(ingest, folder, "a.avi", make.film("avi", codec="mpeg4", size=(320, 180)))
    made = await visit(browser, site)
    await set_up(made, ingest.db, f"/asset/{number}")
    await made.until(f"({SAYS}).includes('in a moment')")
    await ingest.rows(
        "UPDATE conversion SET status = 'failed', reason = 'corrupt', detail = 'no frame' RETURNING id"
    )
    await made.until(f"({SAYS}).includes('damaged')")
    await shot(made, "film-failed")
    await made.page.click(".film-says button")
    await made.until(f"({SAYS}).includes('in a moment')")
    (row,) = await ingest.rows("SELECT status FROM conversion")
    assert row["status"] == "pending"
    assert await made.troubles() == []
