"""The pictures in the documentation: every page, in both widths and both themes.

`python -m tests.tour [NAME…]` paints a library, runs a real Vitrine on it, and writes `docs/tour/*.webp`;
with names, only those pages. `VITRINE_TEST_TOUR` names another folder to write to.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from appliance.accounts import services as accounts
from appliance.accounts.models import Role
from appliance.core.db import UnitOfWork, open_database
from appliance.core.paths import PROJECT
from appliance.library.models import VISIBLE
from appliance.tagging import services as tagging
from tests.journeys.instance import Instance, free_port, wait_for
from tests.scenes import again, album, clip, paint, scene, spoil


OUT = Path(os.environ.get("VITRINE_TEST_TOUR") or PROJECT / "docs" / "tour")
CHROMIUM = os.environ.get("VITRINE_TEST_CHROMIUM", "/usr/bin/chromium")
PASSWORD = "correct horse battery staple"  # noqa: S105
SIZES = {"1440": (1440, 900), "390": (390, 844)}
NEWEST = datetime(2026, 11, 28, 16, 40)  # noqa: DTZ001
COPIES = 5
FANDOM = "painted lands"
TAGS = {
    "sea": "general",
    "mist": "general",
    "evening light": "general",
    "ridge": "general",
    "stars": "general",
    "winter morning": "general",
    "lighthouse keeper": "character",
    "m. halvorsen": "artist",
    "postcards": "series",
    "needs a better scan": "meta",
}
Act = Callable[[Page], None]


def wait(page: Page, milliseconds: int = 700) -> None:
    page.wait_for_timeout(milliseconds)


def typed(text: str) -> Act:
    def act(page: Page) -> None:
        page.focus(".search input[type=search]")
        page.keyboard.type(text, delay=30)
        wait(page)

    return act


def key(*names: str) -> Act:
    def act(page: Page) -> None:
        for name in names:
            page.keyboard.press(name)
            wait(page, 150)
        wait(page)

    return act


def opened(page: Page) -> None:
    page.locator("a[href*='/asset/']").nth(9).click()
    page.wait_for_selector("#viewer")
    wait(page, 1800)


def selecting(page: Page) -> None:
    for number in (2, 5, 6):
        page.locator(".tile .pick").nth(number).check(force=True)
    wait(page, 900)


def tagging_dialog(page: Page) -> None:
    selecting(page)
    page.locator("#selbar [data-act=tag]").click()
    wait(page, 900)


def menu(page: Page) -> None:
    page.click("button[aria-label='Account and theme']")
    wait(page)


def months(page: Page) -> None:
    if page.locator("[popovertarget=months]").first.is_hidden():
        page.goto(page.url.rstrip("/") + "/months")
        wait(page)
        return
    page.locator("[popovertarget=months]").first.click()
    wait(page)


def filters(page: Page) -> None:
    page.locator("[popovertarget=filters]").first.click()
    wait(page)


def dock(page: Page) -> None:
    """Some pictures on their way in."""
    files: list[Any] = []
    for number in range(4):
        out = io.BytesIO()
        scene(1000 + number + 10 * (page.viewport_size or {}).get("width", 0)).save(out, "JPEG", quality=92)
        files.append({"name": f"phone-{number}.jpg", "mimeType": "image/jpeg", "buffer": out.getvalue()})
    page.locator("input[type=file][multiple]").first.set_input_files(files)
    wait(page, 1200)


def nothing(page: Page) -> None:
    wait(page)


def journey(assets: dict[str, int], tag: int) -> dict[str, tuple[str, Act]]:
    """Each page by its name: where it is and what is done there."""
    still, video, volume = assets["still"], assets["video"], assets["volume"]
    return {
        "gallery": ("/", nothing),
        "searching": ("/", typed("ev")),
        "found": ("/?q=sea%20rating%3A%3E%3D3%20-mist", nothing),
        "no-results": ("/?q=sea%20stars%20rating%3A5%20is%3Afavourite", nothing),
        "search-error": ("/?q=sea%20width%3Amany", nothing),
        "search-help": ("/search/help", nothing),
        "months": ("/", months),
        "filters": ("/", filters),
        "selecting": ("/", selecting),
        "tagging": ("/", tagging_dialog),
        "viewer": ("/", opened),
        "asset": (f"/asset/{still}", nothing),
        "asset-files": (f"/asset/{still}?pane=files", nothing),
        "video": (f"/asset/{video}", nothing),
        "volume": (f"/asset/{volume}", nothing),
        "reader": (f"/asset/{volume}/read?page=3&two=1", nothing),
        "duplicates": ("/duplicates", nothing),
        "tags": ("/tags", nothing),
        "tag": (f"/tags/{tag}", nothing),
        "folders": ("/folders", nothing),
        "history": ("/history", nothing),
        "trash": ("/?q=is%3Atrashed", nothing),
        "import": ("/import", nothing),
        "failures": ("/import/failures", nothing),
        "upload": ("/upload", dock),
        "activity": ("/admin/activity", nothing),
        "integrity": ("/admin/integrity", nothing),
        "settings": ("/settings", nothing),
        "sessions": ("/settings/sessions", nothing),
        "appearance": ("/settings/appearance", nothing),
        "people": ("/settings/people", nothing),
        "keyboard": ("/", key("?")),
        "menu": ("/", menu),
        "more": ("/more", nothing),
        "not-found": ("/nowhere", nothing),
    }


def shoot(page: Page, name: str) -> None:
    """Write what the page shows."""
    picture = Image.open(io.BytesIO(page.screenshot()))
    picture.convert("RGB").save(OUT / f"{name}.webp", quality=72, method=6)


def sign_up(browser: Browser, base: str, code: str) -> Any:
    """Make the account, and hand over the cookies."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{base}/setup?code={code}")
    page.fill("input[name=name]", "anna")
    page.fill("input[name=password]", PASSWORD)
    page.click("form button")
    page.wait_for_selector("a[href*='/asset/']")
    return context.storage_state()


async def furnish(database_url: str) -> tuple[dict[str, int], int]:
    """What a person would have done by now: tags, ratings, favourites, a second account."""
    database = open_database(database_url, pool=1, application="tour")
    try:
        async with database.unit_of_work() as uow:
            ids = [r["id"] for r in await uow.sql.fetch("SELECT id FROM asset ORDER BY effective_at DESC")]
            tag = await _tag(uow, ids)
            await tagging.fold(uow.sql)
            await uow.sql.execute(
                "UPDATE asset SET rating = 1 + (id % 5)::int, favourite = id % 7 = 0 WHERE id % 3 = 0"
            )
            await accounts.add_person(uow, "Bo", PASSWORD, role=Role.VIEWER)
            await accounts.add_person(uow, "Cecilie", PASSWORD, role=Role.ADMIN)
            found = {
                kind: await uow.sql.fetchval(
                    f"SELECT id FROM asset WHERE kind = $1 AND {VISIBLE} "
                    "ORDER BY effective_at DESC OFFSET $2 LIMIT 1",
                    kind,
                    9 if kind == "still" else 0,
                )
                for kind in ("still", "video", "volume")
            }
        return found, tag
    finally:
        await database.close()


async def _tag(uow: UnitOfWork, ids: list[int]) -> int:
    fandom = await tagging.make(uow, FANDOM, "fandom")
    made: dict[str, int] = {}
    for name, kind in TAGS.items():
        belongs = fandom if kind == "character" else None
        made[name] = await tagging.make(uow, name, kind, fandom_id=belongs)
    await tagging.assign(uow, ids[::2], [fandom])
    for step, tag in enumerate(made.values(), start=2):
        await tagging.assign(uow, ids[step % 3 :: step], [tag])
    return made["evening light"]


def actions(page: Page, base: str) -> None:
    """Some bulk actions, so that history and trash have something to show."""
    for picks, act in (((1, 3), "trash"), ((4, 5, 6), "archive"), ((8, 9), "favourite")):
        page.goto(base + "/?at=2026-06")
        for number in picks:
            page.locator(".tile .pick").nth(number).check(force=True)
        page.locator(f"#selbar [data-act={act}]").first.click()
        wait(page, 900)


def doors(browser: Browser, base: str, name: str, path: str) -> None:
    """A page for somebody who is not signed in."""
    for size, (width, height) in SIZES.items():
        for theme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme=theme,  # type: ignore[arg-type]
            )
            page = context.new_page()
            page.goto(base + path)
            wait(page, 300)
            shoot(page, f"{name}-{size}-{theme}")
            context.close()


def looks(browser: Browser, state: Any) -> list[tuple[str, BrowserContext]]:
    """A window for each width and theme, signed in."""
    made = []
    for size, (width, height) in SIZES.items():
        for theme in ("light", "dark"):
            options: Any = {"color_scheme": theme, "storage_state": state}
            if size == "390":
                options |= {"has_touch": True, "is_mobile": True, "device_scale_factor": 1}
            context = browser.new_context(viewport={"width": width, "height": height}, **options)
            made.append((f"{size}-{theme}", context))
    return made


def inside(
    browser: Browser, base: str, state: Any, pages: dict[str, tuple[str, Act]], wanted: set[str]
) -> list[str]:
    """The pages behind the door; the answer names those that could not be reached."""
    failed = []
    for suffix, context in looks(browser, state):
        page = context.new_page()
        page.set_default_timeout(6000)
        # The first page learns the width of the window from the script, the next ones are cut for it.
        page.goto(base + "/")
        wait(page, 300)
        for name, (path, act) in pages.items():
            if wanted and name not in wanted:
                continue
            # A selection is kept while one looks around; here each page begins without one.
            page.evaluate("sessionStorage.clear()")
            page.goto(base + path)
            wait(page, 300)
            try:
                act(page)
            except Exception as error:  # noqa: BLE001 - the tour goes on and says what it missed
                failed.append(f"{name}-{suffix}: {str(error).splitlines()[0]}")
            shoot(page, f"{name}-{suffix}")
        context.close()
    return failed


def apart(work: Callable[[], Any]) -> Any:
    """Do it in another thread: the driver's loop runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def tour(browser: Browser, instance: Instance, code: str, wanted: set[str]) -> list[str]:
    """Visit every page."""
    base = f"http://localhost:{instance.port}"
    if not wanted or "setup" in wanted:
        doors(browser, base, "setup", f"/setup?code={code}")
    state = sign_up(browser, base, code)
    unsettled = "SELECT count(*) FROM import_task WHERE status IN ('pending', 'processing')"
    wait_for(lambda: apart(lambda: instance.value(unsettled)) == 0, "all is read", limit=300, every=0.5)
    # Looked for every minute, while imports rest.
    pairs = "SELECT count(*) FROM duplicate_pair"
    wait_for(lambda: apart(lambda: instance.value(pairs)) >= COPIES, "copies are found", limit=240, every=2)
    context = browser.new_context(viewport={"width": 1440, "height": 900}, storage_state=state)
    missed = []
    try:
        actions(context.new_page(), base)
    except Exception as error:  # noqa: BLE001 - the tour goes on and says what it missed
        missed.append(f"actions: {str(error).splitlines()[0]}")
    context.close()
    assets, tag = apart(lambda: asyncio.run(furnish(instance.database_url)))
    missed += inside(browser, base, state, journey(assets, tag), wanted)
    if not wanted or "login" in wanted:
        doors(browser, base, "login", "/login")
    return missed


def home(stack: contextlib.ExitStack) -> Path:
    """A folder with a name that can be shown, where nobody has it yet."""
    shown = Path(tempfile.gettempdir()) / "anna"
    if shown.exists():
        shown = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vitrine-tour-")))
    else:
        shown.mkdir()
        stack.callback(shutil.rmtree, shown, ignore_errors=True)
    os.chmod(shown, 0o755)  # noqa: S103 - the service account has to pass
    return shown


def main() -> int:
    """Paint, run, look."""
    OUT.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        work = home(stack)
        pictures = work / "Pictures"
        paint(pictures, 170, newest=NEWEST)
        for number in range(3):
            clip(pictures / "Clips" / f"pan-{number}.mp4", 700 + number, made=NEWEST - timedelta(days=number))
        book = pictures / "Books" / "Postcards 1.cbz"
        album(book, 800, 12)
        # Not among the newest, of which some are thrown away on the tour.
        made = (NEWEST - timedelta(days=40)).timestamp()
        os.utime(book, (made, made))
        again(pictures, pictures / "From the chat", COPIES)
        spoil(pictures / "Old disk")
        instance = Instance(work / "data", free_port()).start(pictures)
        try:
            found = re.search(r"/setup\?code=(\S+)", instance.log.read_text(encoding="utf-8"))
            assert found, "no set-up code was printed"
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                missed = tour(browser, instance, found.group(1), set(sys.argv[1:]))
                browser.close()
        finally:
            instance.stop()
    for line in missed:
        print(line)  # noqa: T201
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
