"""Months of the wall, for someone whose clock stands elsewhere than that of the appliance."""

from __future__ import annotations

from datetime import datetime

import pytest
from playwright.async_api import Browser

from appliance.core.db import Database
from tests.browser.conftest import Site, set_up, visit
from tests.seed import seed


@pytest.mark.parametrize("zone", ["Asia/Taipei", "America/Los_Angeles"])
async def test_a47_the_first_midnight_of_june_is_in_june_wherever_one_looks_from(
    browser: Browser, site: Site, db: Database, zone: str
) -> None:
    (made,) = await seed(db, site.settings.home, 1, latest=datetime(2025, 6, 1))  # noqa: DTZ001 - wall time
    window = await visit(browser, site, timezone_id=zone)
    await set_up(window, db)
    await window.until("document.querySelectorAll('.tile img').length === 1")
    months = await window.page.evaluate("[...document.querySelectorAll('.month')].map((m) => m.innerText)")
    assert [m.partition("\n")[0].strip() for m in months] == ["June 2025"]
    await window.page.goto(f"{site.url}/asset/{made}")
    assert "1 Jun 2025, 00:00" in await window.page.inner_text("body")
    assert await window.troubles() == []
