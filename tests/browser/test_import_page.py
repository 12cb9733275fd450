"""The import page in a real browser: buttons act in place, and no script is needed."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser

from appliance.core.db import Database
from tests.browser.conftest import NAME, PASSWORD, Site, set_up, visit
from tests.browser.test_accessible import violations
from tests.media_files import jpeg, put
from tests.web.test_import import a_batch, a_root
from tests.web.test_import_inbox import failures


async def test_pausing_and_retrying_act_in_place(
    browser: Browser, site: Site, db: Database, tmp_path: Path
) -> None:
    put(tmp_path / "photos", "a.jpg", jpeg(1))
    root = await a_root(db, str(tmp_path / "photos"))
    await a_batch(db, root)
    await failures(db, root, 38)
    made = await visit(browser, site)
    await set_up(made, db, "/import")

    await made.page.click("#import-active form[action='/import/pause'] button")
    await made.until("document.querySelector('#import-active .badge')?.textContent === 'Paused'")
    await made.until("document.querySelector('#toasts')?.textContent.includes('Imports are paused.')")
    await made.page.click("#import-active form[action='/import/resume'] button")
    await made.until("document.querySelector('#import-active .badge')?.textContent === 'Running'")

    await made.page.click("#reason-truncated .btn:text('Retry 38')")
    await made.until("document.querySelector('#toasts')?.textContent.includes('38 files are tried again.')")
    await made.until("document.querySelectorAll('#import-active .batch').length === 2")
    await made.until("document.querySelector('#failures') === null")
    assert await made.troubles() == []


async def test_one_ignored_file_leaves_the_list(browser: Browser, site: Site, db: Database) -> None:
    entries = await failures(db, await a_root(db), 3)
    made = await visit(browser, site, viewport={"width": 390, "height": 844})
    await set_up(made, db, "/import/failures?reason=truncated")
    await made.page.click(f"#file-{entries[1]} .btn:text('Ignore')")
    await made.until("document.querySelectorAll('.files li').length === 2")
    assert await made.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await made.troubles() == []


async def test_folder_is_checked_while_typed_picked_and_added(
    browser: Browser, site: Site, db: Database, tmp_path: Path
) -> None:
    put(tmp_path / "library" / "trips", "a.jpg", jpeg(1))
    made = await visit(browser, site)
    await set_up(made, db, "/import/folders/add")
    await made.page.fill("#path", str(tmp_path / "nowhere"))
    await made.until("document.querySelector('#check')?.textContent.includes('There is no folder')")

    await made.page.goto(f"{site.url}/import/folders/add?at={bytes(tmp_path).hex()}")
    await made.page.click("#picker summary")
    await made.page.click("#picker a:has-text('library')")
    await made.until(f"document.querySelector('#path')?.value === '{tmp_path}/library'")
    await made.until("document.querySelector('#check')?.textContent.includes('It can be read: 1 folder')")
    await made.page.click("#add-folder button[type=submit]")
    await made.page.wait_for_url(f"{site.url}/import")
    await made.until("document.querySelector('#folders')?.textContent.includes('library')")
    assert await made.troubles() == []


async def test_without_scripts_everything_is_a_form(
    browser: Browser, site: Site, db: Database, tmp_path: Path
) -> None:
    made = await visit(browser, site)
    await set_up(made, db)
    root = await a_root(db, str(tmp_path / "gone"))
    await a_batch(db, root)
    await failures(db, root, 2)
    bare = await visit(browser, site, java_script_enabled=False)
    await bare.page.goto(f"{site.url}/login?next=/import")
    await bare.page.fill("input[name=name]", NAME)
    await bare.page.fill("input[name=password]", PASSWORD)
    await bare.follow("form button[type=submit]")
    await bare.follow("#import-active form[action='/import/pause'] button")
    assert "Paused by anna." in await bare.page.content()
    await bare.follow("#reason-truncated .btn:text('Retry 2')")
    assert "2 files stay as they are" in await bare.page.content()
    await bare.page.select_option("#cores", "1")
    await bare.follow("#limits button[type=submit]")
    assert await bare.page.input_value("#cores") == "1"
    assert bare.said == []


@pytest.mark.parametrize("width", [1440, 390])
async def test_busy_pages_have_no_barrier_and_fit(
    browser: Browser, site: Site, db: Database, tmp_path: Path, width: int
) -> None:
    root = await a_root(db, str(tmp_path))
    await a_root(db, "/media/usb/laptop", status="unavailable", reason="No such file or directory")
    batch = await a_batch(db, root)
    await failures(db, root, 3)
    made = await visit(browser, site, viewport={"width": width, "height": 900})
    await set_up(made, db)
    at = f"?at={bytes(tmp_path).hex()}"
    for path in (
        "/import",
        f"/import/{batch}",
        "/import/failures?reason=truncated",
        f"/import/folders/{root}",
        f"/import/folders/add{at}",
    ):
        await made.page.goto(site.url + path)
        assert await violations(made.page) == [], path
        assert await made.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    assert await made.troubles() == []
