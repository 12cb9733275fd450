"""The pictures in the documentation: every page, in both widths and both themes.

`python -m tests.tour` paints a library, runs a real Vitrine on it, and writes `docs/tour/*.webp`.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from datetime import datetime
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from appliance.core.paths import PROJECT
from tests.journeys.instance import Instance, free_port
from tests.scenes import paint


OUT = PROJECT / "docs" / "tour"
CHROMIUM = os.environ.get("VITRINE_TEST_CHROMIUM", "/usr/bin/chromium")
PASSWORD = "correct horse battery staple"  # noqa: S105
SIZES = {"1440": (1440, 900), "390": (390, 844)}


def shoot(page: Page, name: str) -> None:
    """Write what the page shows."""
    picture = Image.open(io.BytesIO(page.screenshot()))
    picture.convert("RGB").save(OUT / f"{name}.webp", quality=82, method=6)


def sign_up(browser: Browser, base: str, code: str) -> dict[str, object]:
    """Make the account, and hand over the cookies."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{base}/setup?code={code}")
    page.fill("input[name=name]", "anna")
    page.fill("input[name=password]", PASSWORD)
    page.click("form button")
    page.wait_for_selector("a[href*='/asset/']")
    return dict(context.storage_state())


def tour(browser: Browser, base: str, code: str) -> None:
    """Visit every page."""
    for size, (width, height) in SIZES.items():
        for theme in ("light", "dark"):
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
            page = context.new_page()
            page.goto(f"{base}/setup?code={code}")
            shoot(page, f"setup-{size}-{theme}")
            context.close()
    state = sign_up(browser, base, code)
    for size, (width, height) in SIZES.items():
        for theme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=theme, storage_state=state
            )
            inside(context.new_page(), base, f"{size}-{theme}")
            context.close()
            anonymous = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
            page = anonymous.new_page()
            page.goto(f"{base}/login")
            shoot(page, f"login-{size}-{theme}")
            anonymous.close()


def inside(page: Page, base: str, suffix: str) -> None:
    """The pages behind the door."""
    for name, path in {"timeline": "/", "activity": "/admin/activity", "not-found": "/nowhere"}.items():
        page.goto(base + path)
        page.wait_for_timeout(900)
        shoot(page, f"{name}-{suffix}")
    page.goto(base + "/")
    page.locator("a[href*='/asset/']").nth(9).click()
    page.wait_for_timeout(1500)
    shoot(page, f"asset-{suffix}")


def main() -> None:
    """Paint, run, look."""
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="vitrine-tour-") as work:
        os.chmod(work, 0o755)  # noqa: S103 - the service account has to pass
        pictures = Path(work) / "Pictures"
        paint(pictures, 140, newest=datetime(2026, 11, 28, 16, 40))  # noqa: DTZ001
        instance = Instance(Path(work) / "data", free_port()).start(pictures)
        try:
            found = re.search(r"/setup\?code=(\S+)", instance.log.read_text(encoding="utf-8"))
            assert found, "no set-up code was printed"
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                tour(browser, f"http://localhost:{instance.port}", found.group(1))
                browser.close()
        finally:
            instance.stop()


if __name__ == "__main__":
    sys.exit(main())
