"""axe-core looks at every page, in both themes and both widths, and finds nothing."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from appliance.accounts.models import Role
from appliance.core.db import Database
from tests.browser.conftest import MOVING, PASSWORD, Site, set_up, visit
from tests.ingest.conftest import Ingest, folder, ingest
from tests.library.books import shelved
from tests.media.zips import comic
from tests.media_files import jpeg
from tests.people import a_person
from tests.seed import seed


__all__ = ["folder", "ingest"]

VENDOR = Path(__file__).parent / "vendor"
AXE = (VENDOR / "axe.min.js").read_text("utf-8")
# Of what axe would fetch a second time, style sheets are for rules that are switched off.
OPTIONS = "resultTypes: ['violations'], preload: { assets: ['media'] }"
PAGES = (
    "/",
    "/?q=nothing-has-this-tag",
    "/?q=rating%3Ax",
    "/folders",
    "/asset/1",
    "/asset/1?pane=files",
    "/import",
    "/history",
    "/admin/activity",
    "/admin/integrity",
    "/settings",
    "/settings/sessions",
    "/settings/appearance",
    "/settings/keyboard",
    "/settings/people",
    "/settings/people/2",
    "/settings/people/2/remove",
    "/settings/log",
    "/settings/app",
    "/settings/about",
    "/tags",
    "/upload",
    "/import/failures",
    "/import/history",
    "/search/help",
    "/more",
    "/nowhere",
)
SIZES = {"1440": (1440, 900), "390": (390, 844)}
# The thin bars of the scrubber are smaller than a finger; the month menu holds the same links at full size.
ALLOWED = {"target-size": re.compile(r"\.scrub")}


def test_axe_is_the_recorded_one() -> None:
    sha = hashlib.sha256((VENDOR / "axe.min.js").read_bytes()).hexdigest()
    assert sha in (VENDOR / "VENDORED.md").read_text("utf-8")


async def violations(page: Page, *, colours: bool = False) -> list[str]:
    """What axe finds; `colours` alone are what a theme can change."""
    # Evaluated from outside: a script element would be blocked by the policy, as it must be.
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE)
    await page.evaluate(f"Promise.allSettled({MOVING}.map((one) => one.finished))")
    only = ", runOnly: ['color-contrast']" if colours else ""
    found: Any = await page.evaluate(f"axe.run(document, {{ {OPTIONS}{only} }})")
    return [
        f"{problem['id']} {node['target']} {node['html'][:120]} {node['failureSummary'][:300]}"
        for problem in found["violations"]
        for node in problem["nodes"]
        if not (problem["id"] in ALLOWED and ALLOWED[problem["id"]].search(str(node["target"])))
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
async def test_no_page_has_a_barrier(
    browser: Browser, site: Site, db: Database, size: str, theme: Any
) -> None:
    await seed(db, site.settings.home, 150, stored=150)
    width, height = SIZES[size]
    dark = theme == "dark"
    made = await visit(browser, site, viewport={"width": width, "height": height}, color_scheme=theme)
    await made.context.add_init_script(AXE)
    await set_up(made, db)
    async with db.unit_of_work() as uow:
        await a_person(uow, "bo", PASSWORD, role=Role.VIEWER)
    found: dict[str, list[str]] = {}
    for path in PAGES:
        await made.page.goto(site.url + path)
        found[path] = await violations(made.page, colours=dark)
    await made.page.goto(f"{site.url}/")
    await made.page.keyboard.press("?")
    found["the sheet of keys"] = await violations(made.page, colours=dark)
    await made.page.keyboard.press("Escape")
    await made.page.click("button[aria-label='Account and theme']")
    found["the menu"] = await violations(made.page, colours=dark)
    problems = [f"{path}: {line}" for path, lines in found.items() for line in lines]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_the_doors_have_no_barrier(browser: Browser, site: Site, db: Database, theme: Any) -> None:
    made = await visit(browser, site, color_scheme=theme)
    await made.page.goto(f"{site.url}/login")
    assert await violations(made.page) == []
    await set_up(made, db)
    await made.context.clear_cookies()
    await made.page.goto(f"{site.url}/login")
    await made.page.fill("#name", "anna")
    await made.page.fill("#password", "wrong")
    await made.page.click("button[type=submit]")
    await made.until("document.querySelector('#problem') !== null")
    assert await violations(made.page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
async def test_reading_has_no_barrier(
    browser: Browser, site: Site, db: Database, ingest: Ingest, folder: Path, size: str, theme: Any
) -> None:
    content = bytearray(comic(5))
    content[content.find(jpeg(2)) + 200] ^= 0xFF
    volume = await shelved(ingest, folder, bytes(content))
    width, height = SIZES[size]
    made = await visit(browser, site, viewport={"width": width, "height": height}, color_scheme=theme)
    await set_up(made, db)
    for path in (f"{volume}/read", f"{volume}/read?page=3", f"{volume}/pages"):
        await made.page.goto(f"{site.url}/asset/{path}")
        assert await violations(made.page) == [], path


async def viewer(page: Page) -> None:
    await page.locator(".tile > a").nth(3).click()
    await page.wait_for_selector("#viewer:not([hidden]) .panel .facts")


async def selection(page: Page) -> None:
    for number in (1, 2):
        await page.locator(".tile .pick").nth(number).check(force=True)


async def tags_of_a_selection(page: Page) -> None:
    await selection(page)
    await page.locator("#selbar [data-act=tag]").click()
    await page.wait_for_selector("#sel-tags[open] input")


async def suggestions(page: Page) -> None:
    await page.focus(".search input[type=search]")
    await page.keyboard.type("rat", delay=20)
    await page.wait_for_selector("[role=listbox]:not([hidden]) [role=option]")


async def filters(page: Page) -> None:
    await page.locator("[popovertarget=filters]").click()


@pytest.mark.parametrize("act", [viewer, selection, tags_of_a_selection, suggestions, filters])
async def test_what_opens_over_the_gallery_has_no_barrier(
    browser: Browser, site: Site, db: Database, act: Callable[[Page], Awaitable[None]]
) -> None:
    await seed(db, site.settings.home, 40, stored=40)
    made = await visit(browser, site)
    await set_up(made, db)
    await act(made.page)
    assert await violations(made.page) == []
    assert await made.troubles() == []
