"""Sending files from a real browser: chosen, dropped, interrupted, and what is said about each."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Route

from appliance.accounts.models import Role
from appliance.core.db import Database
from appliance.media.decoder import DecodePool
from tests.browser.conftest import PASSWORD, Site, Visit, come_in, set_up, visit
from tests.browser.test_accessible import violations
from tests.ingest.conftest import Ingest
from tests.media_files import jpeg, put
from tests.people import a_person


@pytest.fixture
async def importing(db: Database, site: Site) -> AsyncIterator[None]:
    """What the workers do: every file that has arrived is imported."""
    pool = DecodePool(1)
    ingest = Ingest(db, site.settings, pool)

    async def work() -> None:
        while True:
            await ingest.drain()
            await asyncio.sleep(0.05)

    working = asyncio.create_task(work())
    yield
    working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working
    await pool.close()


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "to send"
    put(folder, "IMG_20240506_070809.jpg", jpeg(1))
    put(folder, "again.jpg", jpeg(1))
    put(folder, "empty.jpg", b"")
    put(folder, "inner/deep.jpg", jpeg(2))
    put(folder, "inner/.hidden.jpg", jpeg(3))
    return folder


async def at_upload(browser: Browser, site: Site, db: Database, **options: Any) -> Visit:
    made = await visit(browser, site, **options)
    await set_up(made, db, "/upload")
    return made


SETTLED = "document.querySelector('.dock [data-close]')?.hidden === false"


async def said(made: Visit) -> dict[str, str]:
    rows: Any = await made.page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.dock li')]"
        ".map(li => [li.querySelector('.name').textContent, li.querySelector('.state').textContent.trim()]))"
    )
    return dict(rows)


async def rows(db: Database, sql: str) -> list[dict[str, Any]]:
    async with db.unit_of_work() as uow:
        return [dict(r) for r in await uow.sql.fetch(sql)]


async def test_each_chosen_file_says_what_became_of_it(
    browser: Browser, site: Site, db: Database, importing: None, pictures: Path
) -> None:
    made = await at_upload(browser, site, db)
    await made.page.set_input_files("#drop-files", pictures / "IMG_20240506_070809.jpg")
    await made.until(SETTLED)
    names = ("again.jpg", "empty.jpg")
    await made.page.set_input_files("#drop-files", [pictures / n for n in names])
    await made.until(f"{SETTLED} && document.querySelectorAll('.dock li').length === 3")

    found = await said(made)

    assert found["IMG_20240506_070809.jpg"] == "Imported"
    assert found["again.jpg"] == "Already here"
    assert found["empty.jpg"].startswith("The file is empty")
    link = await made.page.get_attribute(".dock li:has-text('again.jpg') a", "href")
    assert link == "/asset/1"
    assert await rows(db, "SELECT date_source FROM asset") == [{"date_source": "name"}]
    assert [r["files"] for r in await rows(db, "SELECT files FROM import_batch ORDER BY id")] == [1, 2]
    assert await made.troubles() == []
    await made.context.close()


async def test_folder_keeps_its_names_and_leaves_hidden_files(
    browser: Browser, site: Site, db: Database, importing: None, pictures: Path
) -> None:
    made = await at_upload(browser, site, db)

    await made.page.set_input_files("#drop-folder", pictures)
    await made.until(SETTLED)

    names = {r["name"] for r in await rows(db, "SELECT name FROM upload")}
    assert names == {
        "to send/IMG_20240506_070809.jpg", "to send/again.jpg", "to send/empty.jpg", "to send/inner/deep.jpg",
    }  # fmt: skip
    assert await made.troubles() == []
    await made.context.close()


DROP = """
(bytes) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], "dropped.jpg", { type: "image/jpeg" }));
  const fire = (kind) => document.body.dispatchEvent(
      new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
  fire("dragenter");
  const veiled = !document.querySelector(".veil").hidden;
  fire("dragover");
  fire("drop");
  return veiled && document.querySelector(".veil").hidden;
}
"""
PASTE = """
(bytes) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], "pasted.jpg", { type: "image/jpeg" }));
  document.body.dispatchEvent(
      new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}
"""


async def test_files_can_be_dropped_and_pasted_in_the_gallery(
    browser: Browser, site: Site, db: Database, importing: None
) -> None:
    made = await at_upload(browser, site, db)
    await made.page.set_input_files(
        "#drop-files", [{"name": "a.jpg", "mimeType": "image/jpeg", "buffer": jpeg(0)}]
    )
    await made.until(SETTLED)
    await made.page.goto(f"{site.url}/")

    assert await made.page.is_visible("#toolbar [data-upload-pick]")
    assert await made.page.evaluate(DROP, list(jpeg(1)))
    await made.page.evaluate(PASTE, list(jpeg(2)))
    await made.until(f"{SETTLED} && document.querySelectorAll('.dock li').length === 2")

    assert await said(made) == {"dropped.jpg": "Imported", "pasted.jpg": "Imported"}
    await made.context.close()


async def test_sending_goes_on_where_the_connection_broke_off(
    browser: Browser, site: Site, db: Database, importing: None, tmp_path: Path
) -> None:
    made = await at_upload(browser, site, db)
    body = jpeg(5, size=(1500, 1200))
    broken = 0

    async def break_off(route: Route) -> None:
        nonlocal broken
        broken += 1
        if broken % 2 and broken < 6:
            await route.abort("connectionreset")
        else:
            await route.continue_()

    await made.page.route("**/uploads/*", break_off)
    await made.page.set_input_files("#drop-files", put(tmp_path, "film.jpg", body))
    await made.until(SETTLED)

    assert await said(made) == {"film.jpg": "Imported"}
    assert broken >= 6
    assert [r["size"] for r in await rows(db, "SELECT size FROM asset")] == [len(body)]
    await made.context.close()


def holding() -> tuple[asyncio.Event, Callable[[Route], Awaitable[None]]]:
    """Keeps the first piece of a file from going out, and says when it would."""
    held = asyncio.Event()

    async def hold(route: Route) -> None:
        if route.request.method == "PATCH":
            held.set()
        else:
            await route.continue_()

    return held, hold


async def test_file_is_resumed_after_a_reload_when_it_is_chosen_again(
    browser: Browser, site: Site, db: Database, importing: None, tmp_path: Path
) -> None:
    made = await at_upload(browser, site, db)
    path = put(tmp_path, "long.jpg", jpeg(6, size=(900, 700)))
    made.page.on("dialog", lambda dialog: asyncio.create_task(dialog.accept()))
    held, hold = holding()
    await made.page.route("**/uploads/*", hold)
    await made.page.set_input_files("#drop-files", path)
    await held.wait()
    # The page goes before the way is free: else its next try would arrive in between.
    await made.page.goto("about:blank")
    await made.page.unroute("**/uploads/*", hold)
    await made.page.goto(f"{site.url}/upload")

    await made.page.set_input_files("#drop-files", path)
    await made.until(SETTLED)

    assert await rows(db, "SELECT status FROM upload") == [{"status": "received"}]
    await made.context.close()


async def test_cancelled_file_is_dropped_and_refused_one_says_why(
    browser: Browser, site: Site, db: Database, tmp_path: Path
) -> None:
    made = await at_upload(browser, site, db)
    held, hold = holding()
    await made.page.route("**/uploads/*", hold)
    await made.page.set_input_files("#drop-files", put(tmp_path, "a.jpg", jpeg(1)))
    await held.wait()
    await made.page.click(".dock [data-cancel]")
    await made.until(SETTLED)
    assert await said(made) == {"a.jpg": "Cancelled"}
    # Not before: taking the hold away lets go what is held.
    await made.page.unroute("**/uploads/*", hold)

    async def refuse(route: Route) -> None:
        await route.fulfill(status=507, body="The disk is full. What has arrived is kept.")

    await made.page.route("**/uploads", refuse)
    await made.page.set_input_files("#drop-files", put(tmp_path, "b.jpg", jpeg(2)))
    await made.until("document.querySelector('.dock .why') !== null")
    assert await made.page.inner_text(".dock .why") == "The disk is full. What has arrived is kept."
    assert await made.page.is_visible(".dock [data-again]")
    await made.context.close()


async def test_form_works_without_scripts(browser: Browser, site: Site, db: Database, pictures: Path) -> None:
    made = await at_upload(browser, site, db)
    state = await made.context.storage_state()
    plain = await browser.new_context(java_script_enabled=False, storage_state=state)
    page = await plain.new_page()
    await page.goto(f"{site.url}/upload")

    await page.set_input_files("#drop-files", [pictures / "again.jpg", pictures / "empty.jpg"])
    await page.click("#drop button[type=submit]")

    await page.wait_for_url("**/uploads/batch/*")
    assert "again.jpg" in await page.inner_text("#session")
    assert await page.is_visible("text=Upload by anna")
    await plain.close()
    await made.context.close()


async def test_page_for_when_nothing_answers_is_kept_on_the_device(
    browser: Browser, site: Site, db: Database
) -> None:
    made = await at_upload(browser, site, db)
    await made.until("navigator.serviceWorker.ready.then(() => true)")
    await made.until("caches.match('/offline').then((kept) => Boolean(kept))")

    await made.context.set_offline(True)
    await made.page.goto(f"{site.url}/tags")

    assert await made.page.inner_text("h1") == "Vitrine does not answer"
    ground = await made.page.evaluate("getComputedStyle(document.querySelector('.btn.main')).backgroundColor")
    assert ground != "rgba(0, 0, 0, 0)", "the style sheet is kept too"
    kept: Any = await made.page.evaluate(
        "caches.open('vitrine-shell').then((c) => c.keys())"
        ".then((all) => all.map((r) => new URL(r.url).pathname))"
    )
    assert [path for path in kept if not path.startswith("/static/")] == ["/offline"]
    await made.context.set_offline(False)
    await made.page.goto(f"{site.url}/upload")
    assert await made.page.inner_text("h1") == "Upload"
    await made.context.close()


# As the share sheet of a device does it: a form that is posted by no page of ours.
SHARE = """
(files) => {
  const data = new DataTransfer(), form = document.createElement("form");
  const field = document.createElement("input");
  for (const [name, bytes] of files) {
    data.items.add(new File([new Uint8Array(bytes)], name, { type: "image/jpeg" }));
  }
  Object.assign(form, { method: "post", action: "/uploads/shared", enctype: "multipart/form-data" });
  Object.assign(field, { type: "file", name: "files", multiple: true, files: data.files });
  form.append(field);
  document.body.append(form);
  form.submit();
}
"""
LAID = "caches.open('vitrine-shared').then((laid) => laid.keys()).then((keys) => keys.length)"


async def worked(made: Visit) -> None:
    """Wait until the service worker sees what is opened next."""
    await made.until("navigator.serviceWorker.ready.then(() => true)")


async def signed_out(made: Visit) -> None:
    await made.context.clear_cookies(name="vitrine")
    await made.page.goto(f"{made.site.url}/login")


async def share(made: Visit, *files: tuple[str, bytes]) -> None:
    await made.page.evaluate(SHARE, [[name, list(body)] for name, body in files])


async def test_what_is_shared_while_signed_out_is_sent_after_signing_in(
    browser: Browser, site: Site, db: Database, importing: None
) -> None:
    made = await at_upload(browser, site, db)
    await worked(made)
    await signed_out(made)

    await share(made, ("Größe 1.jpg", jpeg(1)), ("two.jpg", jpeg(2)))
    await made.page.wait_for_url("**/login?next=*")
    assert "kept on this device" in await made.page.inner_text("main")
    assert await made.page.evaluate(LAID) == 2
    await come_in(made)
    await made.until(f"location.pathname === '/upload' && {SETTLED}")

    assert await said(made) == {"Größe 1.jpg": "Imported", "two.jpg": "Imported"}
    assert await made.page.evaluate(LAID) == 0
    assert await rows(db, "SELECT title FROM import_batch") == [{"title": "Shared from a phone"}]
    # And only once, whatever opens next.
    await made.page.goto(f"{site.url}/import")
    assert await made.page.locator(".dock").count() == 0
    assert len(await rows(db, "SELECT 1 FROM upload")) == 2
    await made.context.close()


async def test_what_is_shared_while_nothing_answers_waits_on_the_device(
    browser: Browser, site: Site, db: Database, importing: None
) -> None:
    made = await at_upload(browser, site, db)
    await worked(made)
    await made.until("caches.match('/offline').then((kept) => Boolean(kept))")
    await made.context.set_offline(True)

    await share(made, ("later.jpg", jpeg(3)))
    await made.page.wait_for_url("**/upload?shared=1")
    assert await made.page.inner_text("h1") == "Vitrine does not answer"
    await made.context.set_offline(False)
    await made.page.goto(site.url)

    # An empty gallery shows what came by opening anew, and the dock with it.
    await made.until("document.querySelectorAll('.tile').length === 1")
    assert await made.page.evaluate(LAID) == 0
    assert await rows(db, "SELECT name FROM upload") == [{"name": "later.jpg"}]
    await made.context.close()


async def test_shared_file_that_was_cancelled_does_not_come_again(
    browser: Browser, site: Site, db: Database
) -> None:
    made = await at_upload(browser, site, db)
    await worked(made)
    held, hold = holding()
    await made.context.route("**/uploads/*", hold)
    await share(made, ("a.jpg", jpeg(1)))
    await held.wait()
    assert await made.page.evaluate(LAID) == 1

    await made.page.click(".dock [data-cancel]")

    await made.until(f"{LAID}.then((left) => left === 0)")
    await made.context.close()


async def test_what_somebody_shared_who_may_not_send_is_not_left_for_the_next(
    browser: Browser, site: Site, db: Database
) -> None:
    made = await at_upload(browser, site, db)
    await worked(made)
    await signed_out(made)
    async with db.unit_of_work() as uow:
        await a_person(uow, "ben", PASSWORD, role=Role.VIEWER)
    await share(made, ("a.jpg", jpeg(1)))
    await made.page.wait_for_url("**/login?next=*")

    await come_in(made, "ben")

    await made.page.wait_for_url("**/upload?shared=1")
    assert "Only administrators" in await made.page.inner_text("main")
    assert await made.page.evaluate(LAID) == 0
    await made.context.close()


async def test_share_that_the_device_has_no_room_for_goes_straight_or_is_refused_in_words(
    browser: Browser, site: Site, db: Database
) -> None:
    made = await at_upload(browser, site, db)
    await worked(made)
    browsers = await made.context.new_cdp_session(made.page)
    await browsers.send("Storage.overrideQuotaForOrigin", {"origin": site.url, "quotaSize": 1})

    await share(made, ("a.jpg", jpeg(1)))
    await made.page.wait_for_url("**/uploads/batch/*")
    assert "a.jpg" in await made.page.inner_text("#session")
    await signed_out(made)
    await share(made, ("b.jpg", jpeg(2)))
    await made.page.wait_for_url("**/uploads/shared")

    assert await made.page.inner_text("h1") == "Nothing was taken"
    assert await rows(db, "SELECT name FROM upload") == [{"name": "a.jpg"}]
    await made.context.close()


async def test_shared_words_without_a_file_are_refused_in_words(
    browser: Browser, site: Site, db: Database
) -> None:
    made = await at_upload(browser, site, db)
    await worked(made)

    await share(made)

    await made.page.wait_for_url("**/uploads/shared")
    assert "No file was sent" in await made.page.inner_text("h1")
    await made.context.close()


@pytest.mark.parametrize("width", [1440, 390])
async def test_dock_and_results_have_no_barrier(
    browser: Browser, site: Site, db: Database, importing: None, pictures: Path, width: int
) -> None:
    made = await at_upload(browser, site, db, viewport={"width": width, "height": 844})
    names = ("IMG_20240506_070809.jpg", "again.jpg", "empty.jpg")
    await made.page.set_input_files("#drop-files", [pictures / n for n in names])
    await made.until(SETTLED)
    found = await violations(made.page)

    await made.page.click(".dock [data-page]")
    await made.page.wait_for_url("**/uploads/batch/*")

    assert found + await violations(made.page) == []
    await made.context.close()
