"""Bars keep to one line: on a phone, and where no script folds what does not fit."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Browser

from appliance.core.db import Database
from tests.browser.conftest import Site, Visit, set_up, visit
from tests.browser.test_viewer import OPEN
from tests.seed import seed


BAR = """(() => {
  const bar = document.querySelector("STAGE .stage-top"), box = bar.getBoundingClientRect();
  const shown = [...bar.querySelectorAll("a, button, .badge")].map((one) => one.getBoundingClientRect())
    .filter((one) => one.width && one.top < box.bottom);
  return { height: box.height, left: Math.min(...shown.map((one) => one.left)),
    right: Math.max(...shown.map((one) => one.right)),
    wide: document.documentElement.scrollWidth };
})()"""


async def keeps_to_one_line(made: Visit, width: int, stage: str = ".stage") -> None:
    found: Any = await made.page.evaluate(BAR.replace("STAGE", stage))
    assert found["height"] <= 64, found
    assert found["left"] >= 0, found
    assert found["right"] <= width, found
    assert found["wide"] <= width, found


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("scripts", [True, False])
async def test_bar_of_a_picture_keeps_to_one_line_in_every_state(
    browser: Browser, site: Site, db: Database, width: int, *, scripts: bool
) -> None:
    plain, trashed, private = await seed(db, site.settings.home, 3, stored=3)
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET state = 'trashed', trashed_at = now() WHERE id = $1", trashed)
        await uow.sql.execute("UPDATE asset SET private = true, state = 'archived' WHERE id = $1", private)
    first = await visit(browser, site)
    await set_up(first, db)
    state = await first.context.storage_state()
    size = {"width": width, "height": 844}
    made = await visit(browser, site, viewport=size, java_script_enabled=scripts, storage_state=state)

    for number in (plain, trashed, private):
        await made.page.goto(f"{site.url}/asset/{number}")
        await keeps_to_one_line(made, width)
        await made.page.click("[popovertarget=asset-more]")
        box = await made.page.locator("#asset-more [value='90']").bounding_box()
        assert box is not None
        assert 0 <= box["y"] < 844 - box["height"]


async def test_trash_in_the_viewer_of_a_phone_keeps_its_actions_in_reach(
    browser: Browser, site: Site, db: Database
) -> None:
    ids = await seed(db, site.settings.home, 3, stored=3)
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET state = 'trashed', trashed_at = now() WHERE id = $1", ids[0])
    made = await visit(browser, site, viewport={"width": 390, "height": 844})
    await set_up(made, db, "/?q=is%3Atrashed")
    await made.page.click(f"#a{ids[0]}")
    await made.until(f"{OPEN} && document.querySelector('#viewer .marks') !== null")
    await keeps_to_one_line(made, 390, "#viewer")

    for _ in range(2):
        box = await made.page.locator("#viewer .marks > form").bounding_box()
        panel = await made.page.locator("#viewer .panel").bounding_box()
        assert box is not None
        assert box["y"] > 100
        assert box["y"] + box["height"] <= (panel["y"] if panel else 844)
        await made.page.click("#viewer [popovertarget=asset-more]")
        await made.page.click("#asset-more [value='90']", trial=True)
        await made.page.keyboard.press("Escape")
        await made.page.click("#viewer [data-does=panel]")

    await made.page.click("#viewer .marks [value=restore]")
    await made.until("document.querySelector('#viewer .marks [value=restore]') === null")
    assert await made.troubles() == []
