"""A real browser before a real web process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Error, Page, async_playwright

from appliance.accounts import services, sessions
from appliance.accounts.models import Role
from appliance.core.db import Database
from appliance.core.settings import Settings
from tests.people import a_person
from tests.serving import Stage


CHROMIUM = os.environ.get("VITRINE_TEST_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
# The popups of an address bar that nobody sees load pages of their own for every window, which costs more
# than most tests. A second list replaces the driver's own, so that all of it is named again.
OFF = (
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding",
    "ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints",
    "NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch", "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
)  # fmt: skip
ARGS = ("--no-sandbox", f"--disable-features={','.join(OFF)}")
NAME, PASSWORD = "anna", "four words make one"
# Collected in the page itself: the policy swallows what it blocks, and htmx swallows what it cannot parse.
WATCH = """
const note = (text) => (window.troubles ??= []).push(text);
addEventListener("securitypolicyviolation", (e) => note(`csp ${e.violatedDirective} ${e.blockedURI}`));
addEventListener("htmx:syntax:error", (e) => note("htmx syntax " + e.target.outerHTML.slice(0, 200)));
addEventListener("htmx:error", (e) => note("htmx error " + String(e.detail?.error)));
"""
# The browser's own word where a page was left before its service worker was fetched: the page asks for it
# again next time, and that it works has tests of its own.
LEFT_EARLY = "An unknown error occurred when fetching the script."
# By frames as well as by the clock: on a busy machine both are slow.
REST = """async () => {
  const place = () => [scrollX, scrollY, document.documentElement.scrollHeight, location.href].join();
  let before = place(), since = performance.now(), frames = 0;
  while (performance.now() - since < 250 || frames < 10) {
    await new Promise(requestAnimationFrame);
    frames += 1;
    if (place() !== before) { before = place(); since = performance.now(); frames = 0; }
  }
}"""
# What turns for ever is never settled.
MOVING = "document.getAnimations().filter((one) => one.effect.getComputedTiming().endTime !== Infinity)"
SETTLED = f"{MOVING}.every((one) => one.playState !== 'running')"


@dataclass
class Site:
    """A running web process."""

    url: str
    settings: Settings
    windows: list[BrowserContext] = field(default_factory=list)


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.close()


@pytest.fixture
async def site(
    db: Database, redis_url: str, settings: Settings, tmp_path: Path, stage: Stage
) -> AsyncIterator[Site]:
    settings.home.instance.write_text(json.dumps({"id": "browser", "format": 1}))
    pid, url = stage.start(settings, tmp_path)
    made = Site(url, settings)
    yield made
    # A window that stays open goes on asking, and drawing, under every later test.
    for window in made.windows:
        await window.close()
    assert stage.end(pid) == 0


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGS))
        yield launched
        await launched.close()


@dataclass
class Visit:
    """One window, and everything in it that went wrong."""

    context: BrowserContext
    page: Page
    site: Site
    said: list[str] = field(default_factory=list)

    async def troubles(self) -> list[str]:
        # A page that leads elsewhere just now is asked when it is there.
        for _ in range(3):
            with contextlib.suppress(Error):
                return self.said + list(await self.page.evaluate("window.troubles || []"))
            await self.page.wait_for_load_state()
        raise AssertionError("the page does not come to rest")

    async def top_of(self, selector: str) -> float:
        found: Any = await self.page.evaluate(
            f"document.querySelector('{selector}')?.getBoundingClientRect().top ?? null"
        )
        assert found is not None, selector
        return float(found)

    async def until(self, expression: str, *, limit: float = 60) -> None:
        """Poll in the page; the string predicates of the driver need eval, which the policy forbids.

        The limit only ends a hopeless wait.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                while not await self.holds(expression):
                    await asyncio.sleep(0.01)
                return
        raise AssertionError(f"not within {limit:g} s: {expression}")

    async def holds(self, expression: str) -> bool:
        # A page that is just being left has no context to ask; the next one will.
        with contextlib.suppress(Error):
            return bool(await self.page.evaluate(expression))
        return False

    def hear(self, message: ConsoleMessage) -> None:
        """Keep what the browser calls an error."""
        if message.type == "error" and message.text != LEFT_EARLY:
            self.said.append(f"console {message.text}")

    async def rest(self) -> None:
        """Wait until nothing moves any more: neither the page, nor its place, nor its address."""
        await self.page.evaluate(REST)

    async def follow(self, selector: str) -> None:
        """Press what leads elsewhere, and wait for the answer: a click alone returns before it is there."""
        async with self.page.expect_navigation():
            await self.page.click(selector)


async def visit(browser: Browser, site: Site, **options: Any) -> Visit:
    context = await browser.new_context(**({"viewport": {"width": 1440, "height": 900}} | options))
    site.windows.append(context)
    await context.add_init_script(WATCH)
    page = await context.new_page()
    made = Visit(context, page, site)
    page.on("console", made.hear)
    page.on("pageerror", lambda e: made.said.append(f"page {e}"))
    return made


async def by_link(made: Visit, db: Database) -> None:
    """Through the one-click link, as a person does it the first time."""
    async with db.unit_of_work() as uow:
        code = await services.issue_setup_code(uow)
    await made.page.goto(f"{made.site.url}/setup?code={code}")
    await made.page.fill("#name", NAME)
    await made.page.fill("#password", PASSWORD)
    await made.page.click("button[type=submit]")
    await made.page.wait_for_url(f"{made.site.url}/")


async def set_up(made: Visit, db: Database, path: str = "/") -> None:
    """An account, and a window in which its person is signed in and sees this page first."""
    async with db.unit_of_work() as uow:
        person = await a_person(uow, NAME, PASSWORD, role=Role.ADMIN)
        token = await sessions.start(uow.sql, person, address="127.0.0.1", agent="tests")
    cookie = {"name": "vitrine", "value": token, "httpOnly": True, "sameSite": "Lax"}
    await made.context.add_cookies([{**cookie, "url": made.site.url}])  # type: ignore[typeddict-item]
    await made.page.goto(made.site.url + path)


async def come_in(made: Visit, name: str = NAME) -> None:
    """Sign in by the form that is shown."""
    await made.page.fill("#name", name)
    await made.page.fill("#password", PASSWORD)
    await made.page.click("button[type=submit]")


async def as_viewer(made: Visit, db: Database) -> None:
    """Somebody who may only look signs in, in place of whoever was here."""
    async with db.unit_of_work() as uow:
        await a_person(uow, "bo", PASSWORD, role=Role.VIEWER)
    await made.context.clear_cookies()
    await made.page.goto(f"{made.site.url}/login")
    await come_in(made, "bo")
    await made.until("location.pathname === '/'")
