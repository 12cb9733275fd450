"""The reader in a real browser: keys, taps and swipes turn pages, and the place is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser

from appliance.core.db import Database
from tests.browser.conftest import Site, Visit, set_up, visit
from tests.ingest.conftest import Ingest, folder, ingest
from tests.library.books import shelved, unpack
from tests.media.make import corner, saved
from tests.media.zips import zipped
from tests.media_files import jpeg
from tests.waiting import until


__all__ = ["folder", "ingest"]
TALL = (600, 900)


def book(pages: int, **more: bytes) -> bytes:
    """A volume of tall pages."""
    return zipped(
        {f"{n}.jpg": jpeg(n, size=TALL) for n in range(1, pages + 1)}
        | {name.replace("__", "."): body for name, body in more.items()}
    )


async def reading(browser: Browser, site: Site, db: Database, path: str, **options: object) -> Visit:
    made = await visit(browser, site, **options)
    await set_up(made, db, path)
    await at(made, 1)
    return made


async def at(made: Visit, page: int) -> None:
    """Wait until this page is the first that is shown, and is there."""
    await made.until(f"document.querySelector('[data-spread]')?.dataset.first === '{page}'")
    await made.until("[...document.querySelectorAll('.leaf')].every((leaf) => leaf.complete !== false)")


async def kept(ingest: Ingest, page: int) -> None:
    """Wait until the place is kept."""

    async def found() -> bool:
        return await ingest.rows("SELECT page FROM reading_place") == [{"page": page}]

    await until(found, f"page {page} is kept")


async def test_keys_turn_pages_and_the_address_is_the_place(
    browser: Browser, site: Site, db: Database, ingest: Ingest, folder: Path
) -> None:
    volume = await shelved(ingest, folder, book(6))
    made = await reading(browser, site, db, f"/asset/{volume}/read")
    for key, page in (("ArrowRight", 2), (" ", 3), ("ArrowLeft", 2), ("End", 6), ("Home", 1), ("l", 2)):
        await made.page.keyboard.press(key)
        await at(made, page)
    assert "page=2" in made.page.url
    await made.page.reload()
    await at(made, 2)
    assert await made.troubles() == []


async def test_every_press_turns_a_page_however_fast_they_come(
    browser: Browser, site: Site, db: Database, ingest: Ingest, folder: Path
) -> None:
    volume = await shelved(ingest, folder, book(24))
    made = await reading(browser, site, db, f"/asset/{volume}/read")
    press = (
        "(key) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))"
    )
    await made.page.evaluate(f"() => {{ for (let n = 0; n < 20; n += 1) ({press})('ArrowRight'); }}")
    await at(made, 21)
    await made.page.evaluate(f"() => {{ for (let n = 0; n < 30; n += 1) ({press})('ArrowRight'); }}")
    await at(made, 24)
    await made.page.evaluate(f"() => {{ for (let n = 0; n < 4; n += 1) ({press})('ArrowLeft'); }}")
    await at(made, 20)
    await made.page.evaluate(f"() => {{ ({press})('ArrowLeft'); ({press})('Home'); }}")
    await at(made, 1)
    assert await made.troubles() == []


async def test_pages_are_two_by_two_and_from_right_to_left_when_asked(
    browser: Browser, site: Site, db: Database, ingest: Ingest, folder: Path
) -> None:
    volume = await shelved(ingest, folder, book(6))
    made = await reading(browser, site, db, f"/asset/{volume}/read")
    await made.page.keyboard.press("2")
    await made.until("document.querySelector('[data-set=two]').dataset.on === '1'")
    await made.page.keyboard.press("d")
    await made.until("document.querySelector('.spread.rtl')")
    await made.page.keyboard.press("ArrowLeft")
    await at(made, 2)

    places = await made.page.evaluate(
        "[...document.querySelectorAll('.leaf')].map((l) => [l.alt, l.getBoundingClientRect().left])"
    )
    assert [alt for alt, _ in places] == ["Page 2", "Page 3"]
    assert places[0][1] > places[1][1]
    await made.page.keyboard.press("ArrowRight")
    await at(made, 1)
    await made.page.reload()
    await made.until("document.querySelector('.spread.rtl')")
    assert await made.troubles() == []


async def test_sides_of_the_screen_turn_and_the_middle_shows_the_bars(
    browser: Browser, site: Site, db: Database, ingest: Ingest, folder: Path
) -> None:
    volume = await shelved(ingest, folder, book(4))
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    made = await reading(browser, site, db, f"/asset/{volume}/read", **phone)
    await made.page.touchscreen.tap(350, 400)
    await at(made, 2)
    await made.page.touchscreen.tap(20, 400)
    await at(made, 1)
    await made.until("document.body.classList.contains('quiet')")
    await made.page.touchscreen.tap(195, 400)
    await made.until("!document.body.classList.contains('quiet')")
    assert await made.troubles() == []


PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


async def test_phone_has_a_menu_for_size_and_direction(
    browser: Browser, site: Site, db: Database, ingest: Ingest, folder: Path
) -> None:
    volume = await shelved(ingest, folder, book(4))
    made = await reading(browser, site, db, f"/asset/{volume}/read", **PHONE)
    await made.page.tap("[popovertarget=manner]")
    assert await made.page.locator(".together").is_visible() is False
    await made.page.tap("#manner [data-value=real]")
    await made.until("document.body.classList.contains('fit-real')")
    await made.until("document.querySelector('.leaf').clientWidth === 600")
    assert await made.page.locator("#manner").is_visible() is False

    await made.page.tap("[popovertarget=manner]")
    await made.page.tap("#manner [data-set=rtl]")
    await made.until("document.querySelector('.spread.rtl')")
    await made.page.tap("[popovertarget=manner]")
    chosen = "[...document.querySelectorAll('#manner [aria-current]')].map((a) => a.textContent.trim())"
    assert await made.page.evaluate(chosen) == ["Real size", "Right to left"]
    # The touch that closes the menu turns no page; the next one does.
    await made.page.touchscreen.tap(20, 300)
    await made.until("!document.querySelector(':popover-open')")
    await made.page.touchscreen.tap(20, 300)
    await at(made, 2)
    await made.page.reload()
    await made.until("document.querySelector('.fit-real .spread.rtl')")
    assert await made.page.evaluate("document.documentElement.scrollWidth") == 390
    assert await made.troubles() == []


async def test_menu_of_a_phone_is_reached_by_keys_and_offers_two_pages_when_it_lies_on_its_side(
    browser: Browser, site: Site, db: Database, ingest: Ingest, folder: Path
) -> None:
    volume = await shelved(ingest, folder, book(5))
    size = {"width": 667, "height": 375}
    made = await reading(browser, site, db, f"/asset/{volume}/read", viewport=size)
    await made.page.keyboard.press("ArrowRight")
    await at(made, 2)
    await made.page.focus("[popovertarget=manner]")
    await made.page.keyboard.press("Enter")
    await made.until("document.querySelector('#manner:popover-open')")
    await made.page.keyboard.press("Escape")
    await made.until("!document.querySelector(':popover-open')")
    await at(made, 2)
    await made.page.keyboard.press("Enter")
    await made.page.focus("#manner .together")
    await made.page.keyboard.press("Enter")
    await made.until("document.querySelectorAll('.leaf').length === 2")
    assert await made.troubles() == []


async def test_menu_of_a_phone_works_without_scripts(
    browser: Browser, site: Site, db: Database, ingest: Ingest, folder: Path
) -> None:
    volume = await shelved(ingest, folder, book(4))
    first = await visit(browser, site)
    await set_up(first, db)
    state = await first.context.storage_state()
    made = await visit(browser, site, **PHONE, java_script_enabled=False, storage_state=state)
    await made.page.goto(f"{site.url}/asset/{volume}/read?page=2")
    await made.page.tap("[popovertarget=manner]")
    await made.follow("#manner [data-value=width]")
    assert await made.page.locator("body.fit-width").count() == 1
    await made.page.tap("[popovertarget=manner]")
    await made.follow("#manner [data-set=rtl]")
    assert await made.page.locator(".fit-width .spread.rtl").count() == 1
    assert "page=2" in made.page.url


async def test_place_is_kept_and_offered_on_the_page_of_the_volume(
    browser: Browser, site: Site, db: Database, ingest: Ingest, folder: Path
) -> None:
    volume = await shelved(ingest, folder, book(5))
    made = await reading(browser, site, db, f"/asset/{volume}/read")
    await made.page.keyboard.press("ArrowRight")
    await at(made, 2)
    await made.page.keyboard.press("ArrowRight")
    await at(made, 3)
    await kept(ingest, 3)

    await made.page.goto(f"{site.url}/asset/{volume}")
    await made.until("document.querySelector('[data-reads]')?.textContent.includes('page 3 of 5')")
    await made.page.evaluate("document.querySelector('.minis').scrollIntoView()")
    await made.until("document.querySelectorAll('.mini img').length === 5")
    await made.page.keyboard.press("Enter")
    await at(made, 3)
    await made.page.keyboard.press("Escape")
    await made.until(f"location.pathname === '/asset/{volume}'")
    assert await made.troubles() == []


async def test_next_pages_are_there_before_they_are_turned_to(
    browser: Browser, site: Site, db: Database, ingest: Ingest, folder: Path
) -> None:
    volume = await shelved(ingest, folder, book(6))
    made = await reading(browser, site, db, f"/asset/{volume}/read")
    loaded = "performance.getEntriesByType('resource').map((r) => new URL(r.name).pathname)"
    for page in (2, 3, 4):
        await made.until(f"{loaded}.includes('/media/{volume}/page/{page}')")
    await made.context.set_offline(True)
    await made.page.keyboard.press("ArrowRight")
    await at(made, 2)
    await made.until("document.querySelector('.leaf').naturalWidth === 600")


@pytest.mark.parametrize("fit", ["page", "width", "real"])
async def test_no_bar_of_the_window_moves_under_any_size(
    browser: Browser, site: Site, db: Database, ingest: Ingest, folder: Path, fit: str
) -> None:
    volume = await shelved(ingest, folder, book(3))
    made = await reading(browser, site, db, f"/asset/{volume}/read?fit={fit}")
    await made.until("document.querySelector('.leaf').naturalWidth === 600")
    width, wide = await made.page.evaluate(
        "[document.querySelector('.leaf').clientWidth, document.documentElement.scrollWidth]"
    )
    assert width == {"page": 600, "width": 1120, "real": 600}[fit]
    assert wide == 1440


async def test_volume_in_the_gallery_offers_to_be_read(
    browser: Browser, site: Site, db: Database, ingest: Ingest, folder: Path
) -> None:
    volume = await shelved(ingest, folder, book(3))
    made = await visit(browser, site)
    await set_up(made, db, "/")
    await made.until("document.querySelector('.tile .info')?.textContent.includes('3 pages')")
    await made.page.click(f"#a{volume}")
    await made.until("document.querySelector('#viewer [data-reads]')?.hidden === false")
    await made.page.keyboard.press("Enter")
    await made.until(f"location.pathname === '/asset/{volume}/read'")
    await at(made, 1)
    assert await made.troubles() == []


async def test_volume_in_the_gallery_shows_how_far_it_was_read(
    browser: Browser, site: Site, db: Database, ingest: Ingest, folder: Path
) -> None:
    volume = await shelved(ingest, folder, book(8))
    made = await reading(browser, site, db, f"/asset/{volume}/read")
    for page in (2, 3, 4):
        await made.page.keyboard.press("ArrowRight")
        await at(made, page)
    await kept(ingest, 4)
    await made.page.goto(site.url)
    await made.until("document.querySelector('.tile .info')?.textContent.includes('4 / 8')")
    line = await made.page.locator(".tile .read").bounding_box()
    tile = await made.page.locator(".tile").bounding_box()
    assert line is not None
    assert tile is not None
    assert line["width"] == pytest.approx(tile["width"], abs=1)
    assert line["y"] + line["height"] == pytest.approx(tile["y"] + tile["height"], abs=1)
    assert await made.page.evaluate("document.querySelector('.tile .read').position") == 0.5
    assert await made.troubles() == []


async def test_pages_of_a_folder_that_went_away_say_so_in_their_place(
    browser: Browser, site: Site, db: Database, ingest: Ingest, folder: Path
) -> None:
    volume = await shelved(ingest, folder, book(2, **{"3__tif": saved(corner((40, 60)), "TIFF")}))
    folder.rename(folder.with_name("unplugged"))
    made = await reading(browser, site, db, f"/asset/{volume}/read", **PHONE)
    for page in (1, 3):
        await made.page.goto(f"{site.url}/asset/{volume}/read?page={page}")
        await made.until(
            f"document.querySelector('.leaf.unread')?.textContent.includes('{folder.name} cannot be')"
        )
    assert await made.page.evaluate("document.documentElement.scrollWidth") == 390

    folder.with_name("unplugged").rename(folder)
    await ingest.scan(folder)
    await made.page.goto(f"{site.url}/asset/{volume}/read?page=2")
    await made.until("document.querySelector('.leaf').naturalWidth === 600")


async def test_page_that_is_being_made_comes_by_itself(
    browser: Browser, site: Site, db: Database, ingest: Ingest, folder: Path
) -> None:
    content = {"1.jpg": jpeg(1, size=TALL), "2.tif": saved(corner((40, 60)), "TIFF")}
    volume = await shelved(ingest, folder, zipped(content), unpacked=False)
    made = await reading(browser, site, db, f"/asset/{volume}/read")
    await made.page.keyboard.press("ArrowRight")
    await made.until("document.querySelector('.leaf.unread')?.textContent.includes('is being made')")
    await unpack(ingest)
    await made.until("document.querySelector('img.leaf')?.src.includes('/page/2')")
