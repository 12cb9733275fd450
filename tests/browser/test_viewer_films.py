"""Films that have to be prepared: what one is told, and that nobody works for an empty chair."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.async_api import Browser

from tests.browser.conftest import Site, set_up, visit
from tests.browser.test_viewer import shot
from tests.ingest.conftest import Ingest, folder, ingest
from tests.library.films import film
from tests.media import make
from tests.waiting import until


__all__ = ["folder", "ingest"]
SAYS = "document.querySelector('.film-says')?.textContent ?? ''"
MAKING = """UPDATE conversion SET status = 'processing', claim = gen_random_uuid(), share = 0.37, made_s = 2,
took_s = 30 RETURNING id"""


async def wanted_until(ingest: Ingest) -> datetime:
    (row,) = await ingest.rows("SELECT wanted_until FROM conversion")
    assert isinstance(row["wanted_until"], datetime)
    return row["wanted_until"]


async def is_renewed(ingest: Ingest) -> bool:
    """Somebody looks: more is left of the wish than one who leaves leaves behind."""
    return await wanted_until(ingest) - datetime.now(UTC) > timedelta(seconds=8)


async def ended(ingest: Ingest, before: datetime) -> None:
    """Until the wish was cut short, which only happens when somebody says that they leave."""

    async def shorter() -> bool:
        return await wanted_until(ingest) < before

    await until(shorter, "the wish ended")


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
    await until(lambda: is_renewed(ingest), "the wish is renewed")

    before = await wanted_until(ingest)
    await made.page.goto(f"{site.url}/")
    await ended(ingest, before)
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

    await until(lambda: is_renewed(ingest), "the wish is renewed")
    before = await wanted_until(ingest)
    await made.page.keyboard.press(away)
    await made.until(f"location.pathname !== '/asset/{number}'")
    await ended(ingest, before)
    await made.page.keyboard.press(back)
    await made.until(f"({SAYS}).startsWith('Preparing this video, 37 %')")
    await until(lambda: is_renewed(ingest), "the wish is renewed")
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
