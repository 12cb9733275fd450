"""The wall while it grows and while one walks along it."""

from __future__ import annotations

from datetime import datetime

from playwright.async_api import Browser, Route

from appliance.core.db import Database
from tests.browser.conftest import Site, Visit, set_up, visit
from tests.seed import LATEST, seed


# Where the tile is now that was looked at before, and which one is looked at next.
TILE = """(before) => {
    const tile = [...document.querySelectorAll('.tile > a')].find((a) => a.getBoundingClientRect().top > 250);
    const there = document.getElementById(before)?.getBoundingClientRect().top ?? null;
    return [there, tile.id, tile.getBoundingClientRect().top];
}"""


async def walk(made: Visit, by: int, until: str, *, steps: int = 600) -> None:
    """Turn the wheel until the page says so."""
    await made.page.mouse.move(700, 500)
    for _ in range(steps):
        if await made.page.evaluate(until):
            return
        await made.page.mouse.wheel(0, by)
        await made.page.wait_for_timeout(25)
    raise AssertionError(f"not within {steps} turns: {until}")


async def test_the_first_pictures_hang_themselves(browser: Browser, site: Site, db: Database) -> None:
    made = await visit(browser, site)
    await set_up(made, db)
    await made.until("document.body.innerText.includes('Nothing on the walls yet')")
    await seed(db, site.settings.home, 9, stored=9)
    await made.until("document.querySelectorAll('.tile img').length === 9")
    assert await made.page.evaluate("document.querySelector('.toolbar')?.innerText ?? ''") != ""
    await seed(db, site.settings.home, 30, latest=datetime(2025, 1, 1), stored=30)  # noqa: DTZ001 - wall time
    await made.page.wait_for_timeout(1500)
    assert await made.troubles() == []


async def test_what_is_new_is_said_and_nothing_moves(browser: Browser, site: Site, db: Database) -> None:
    await seed(db, site.settings.home, 400, stored=400)
    made = await visit(browser, site)
    await set_up(made, db)
    before = await made.top_of(".tile:nth-child(2) > a")
    await seed(db, site.settings.home, 37, latest=datetime(2026, 12, 1), stored=37)  # noqa: DTZ001 - wall time
    await made.page.evaluate("document.body.dispatchEvent(new Event('beat'))")
    await made.until("document.querySelector('.pill-new')?.innerText.includes('37 new')")
    assert await made.top_of(".tile:nth-child(2) > a") == before
    await made.page.click(".pill-new")
    await made.until("document.querySelector('.month')?.innerText.includes('December 2026')")
    assert await made.troubles() == []


async def test_a_long_walk_keeps_the_page_small_and_the_way_back_whole(
    browser: Browser, site: Site, db: Database
) -> None:
    ids = await seed(db, site.settings.home, 1500, stored=1500)
    made = await visit(browser, site)
    await set_up(made, db)
    await walk(made, 700, "scrollY > 40000")
    assert await made.page.evaluate("document.querySelectorAll('.chunk').length") > 8
    assert await made.page.evaluate("document.querySelectorAll('*').length") <= 1500
    assert await made.page.evaluate("document.querySelectorAll('.chunk[data-empty]').length") > 3
    await walk(made, -1400, "scrollY === 0")
    await made.rest()
    first = await made.page.evaluate("document.querySelector('.tile > a').id")
    assert first == f"a{ids[0]}"
    assert await made.page.evaluate("location.pathname + location.search") == "/"
    assert await made.troubles() == []


async def test_heights_are_known_before_chunks_are_built(browser: Browser, site: Site, db: Database) -> None:
    await seed(db, site.settings.home, 700, stored=700)
    made = await visit(browser, site)
    await set_up(made, db)
    await walk(made, 600, "document.querySelectorAll('.chunk:not([data-empty])').length >= 2")
    off = await made.page.evaluate(
        """[...document.querySelectorAll('.chunk:not([data-empty])')].map((chunk) => {
            const told = parseFloat(chunk.style.containIntrinsicBlockSize.replace('auto ', ''));
            chunk.style.contentVisibility = 'visible';
            const real = chunk.getBoundingClientRect().height;
            chunk.style.contentVisibility = '';
            return Math.abs(told - real);
        })"""
    )
    assert len(off) >= 2
    assert max(off) <= 1, off


async def test_scrolling_up_from_the_middle_never_moves_what_is_seen(
    browser: Browser, site: Site, db: Database
) -> None:
    await seed(db, site.settings.home, 900, stored=900)
    made = await visit(browser, site)
    await set_up(made, db, "/?at=2026-08#m2026-08")
    await made.rest()
    await made.page.mouse.move(700, 500)
    worst = owed = 0.0
    _, name, top = await made.page.evaluate(TILE, "")
    for _ in range(40):
        await made.page.mouse.wheel(0, -300)
        await made.page.wait_for_timeout(40)
        # A busy page may answer two turns of the wheel at once, but moves by no more than was turned.
        owed += 300
        before = top
        now, name, top = await made.page.evaluate(TILE, name)
        if now is not None:
            worst = max(worst, before - now, now - before - owed)
            owed -= now - before
    assert worst <= 8, worst
    assert await made.troubles() == []


async def test_arrows_walk_along_the_rows_and_enter_opens(browser: Browser, site: Site, db: Database) -> None:
    ids = await seed(db, site.settings.home, 60, stored=60)
    made = await visit(browser, site)
    await set_up(made, db)
    await made.page.focus(f"#a{ids[0]}")
    await made.page.keyboard.press("ArrowRight")
    assert await made.page.evaluate("document.activeElement.id") == f"a{ids[1]}"
    await made.page.keyboard.press("ArrowDown")
    below = await made.page.evaluate("document.activeElement.id")
    assert below not in {f"a{ids[0]}", f"a{ids[1]}"}
    await made.page.keyboard.press("ArrowUp")
    assert await made.page.evaluate("document.activeElement.id") == f"a{ids[1]}"
    await made.page.keyboard.press("Enter")
    await made.page.wait_for_url(f"{site.url}/asset/{ids[1]}")
    assert LATEST.year == 2026


async def test_the_activity_page_is_live_and_keeps_what_is_open(
    browser: Browser, site: Site, db: Database
) -> None:
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO task_run (task, lane, kind, status, claimed_at, finished_at, error, trace)"
            " VALUES ('ingest.scan', 'scan', 'run', 'error', now(), now(), 'It broke', 'Traceback of it')"
        )
    made = await visit(browser, site)
    await set_up(made, db, "/admin/activity")
    await made.page.click("summary:has-text('Trace')")
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO task_run (task, lane, kind, status, claimed_at, finished_at)"
            " VALUES ('ingest.scan', 'scan', 'run', 'done', now(), now())"
        )
    await made.page.evaluate("document.body.dispatchEvent(new Event('beat'))")
    await made.until("document.querySelectorAll('.runs tbody tr').length === 2")
    assert await made.page.evaluate("document.querySelector('details').open")
    assert await made.troubles() == []


async def test_the_page_holds_a_limited_number_of_chunks(browser: Browser, site: Site, db: Database) -> None:
    ids = await seed(db, site.settings.home, 800, stored=800)
    made = await visit(browser, site)

    async def fewer(route: Route) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, body=(await answer.text()).replace("MOST = 300", "MOST = 5"))

    await made.page.route("**/gallery.page.*.js", fewer)
    await set_up(made, db)
    await walk(made, 1400, "!document.querySelector('.pager[data-way=before]')")
    assert await made.page.evaluate("document.querySelectorAll('.chunk').length") <= 5
    last = await made.page.evaluate("[...document.querySelectorAll('.tile > a')].at(-1).id")
    assert last == f"a{ids[-1]}"
    await walk(made, -1400, "scrollY === 0 && !document.querySelector('.pager[data-way=after]')")
    assert await made.page.evaluate("document.querySelector('.tile > a').id") == f"a{ids[0]}"
    assert await made.page.evaluate("document.querySelectorAll('.chunk').length") <= 5
    assert await made.troubles() == []


async def test_a_chunk_that_did_not_arrive_is_asked_for_again(
    browser: Browser, site: Site, db: Database
) -> None:
    await seed(db, site.settings.home, 400, stored=400)
    made = await visit(browser, site)
    await set_up(made, db)
    await made.page.route("**/items?before=*", lambda route: route.abort())
    await made.page.reload()
    await walk(made, 700, "document.querySelector('.pager.broken') !== null")
    await made.page.unroute("**/items?before=*")
    await made.page.evaluate("document.body.dispatchEvent(new Event('beat'))")
    await made.until("document.querySelectorAll('.chunk').length >= 2")
    assert await made.page.evaluate("document.querySelector('.pager.broken')") is None


async def test_what_was_thrown_away_leaves_and_what_is_seen_stays(
    browser: Browser, site: Site, db: Database
) -> None:
    ids = await seed(db, site.settings.home, 400, stored=400)
    made = await visit(browser, site)
    await set_up(made, db)
    await made.page.mouse.move(700, 500)
    for _ in range(3):
        await made.page.mouse.wheel(0, 400)
        await made.page.wait_for_timeout(60)
    top = await made.page.evaluate("Wall.topTile().id")
    before = await made.top_of(f"#{top}")
    at = ids.index(int(top[1:]))
    gone, focused, following = ids[at + 8 : at + 11], ids[at + 8], ids[at + 11]
    await made.page.evaluate(f"document.getElementById('a{focused}').focus({{ preventScroll: true }})")
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET state = 'trashed' WHERE id = ANY($1::bigint[])", gone)
    await made.page.evaluate(
        "document.body.dispatchEvent(new CustomEvent('operation:done', { detail: { kind: 'trash' } }))"
    )
    await made.until(f"document.getElementById('a{focused}') === null")
    assert abs(await made.top_of(f"#{top}") - before) <= 1
    assert await made.page.evaluate("document.activeElement.id") == f"a{following}"
    await made.until("document.getElementById('count').innerText.includes('397')")
    # The browser kept the chunk as it was; coming back to it must not bring anything back.
    await walk(made, 1400, "scrollY > 9000")
    await walk(made, -1400, "scrollY === 0")
    await made.rest()
    shown = await made.page.evaluate("Wall.tiles().map((a) => Number(a.id.slice(1)))")
    assert not set(gone) & set(shown)
    assert await made.troubles() == []


async def test_throwing_everything_away_leaves_an_empty_gallery(
    browser: Browser, site: Site, db: Database
) -> None:
    await seed(db, site.settings.home, 5, stored=5)
    made = await visit(browser, site)
    await set_up(made, db)
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET state = 'trashed'")
    await made.page.evaluate("document.body.dispatchEvent(new CustomEvent('operation:done'))")
    await made.until("document.body.innerText.includes('Nothing on the walls yet')")


async def test_keys_jump_between_months_and_change_the_size(
    browser: Browser, site: Site, db: Database
) -> None:
    await seed(db, site.settings.home, 600, stored=600)
    made = await visit(browser, site)
    await set_up(made, db)
    await made.until("document.querySelectorAll('.scrub [data-of]').length > 3")
    assert await made.page.inner_text(".toolbar [data-month]") == "Nov 2026"
    await made.page.keyboard.press("]")
    await made.until("document.querySelector('.toolbar [data-month]')?.innerText === 'Oct 2026'")
    await made.until("document.querySelector('.scrub [aria-current]')?.dataset.of === '2026-10'")
    await made.until("document.querySelectorAll('.scrub [data-of]').length > 3")
    await made.page.keyboard.press("[")
    await made.until("document.querySelector('.toolbar [data-month]')?.innerText === 'Nov 2026'")
    per_row = await made.page.evaluate("Wall.tiles().length / document.querySelectorAll('.row').length")
    await made.page.keyboard.press("+")
    await made.until(
        "typeof Wall === 'object' && document.querySelector('[data-density=l]')?.hasAttribute('aria-current')"
    )
    larger = await made.page.evaluate("Wall.tiles().length / document.querySelectorAll('.row').length")
    assert larger < per_row
    assert await made.troubles() == []


async def test_tab_enters_the_wall_once_and_leaves_it(browser: Browser, site: Site, db: Database) -> None:
    ids = await seed(db, site.settings.home, 60, stored=60)
    made = await visit(browser, site)
    await set_up(made, db)
    assert await made.page.evaluate("Wall.tiles().filter((a) => a.tabIndex === 0).length") == 1
    await made.page.focus(f"#a{ids[0]}")
    await made.page.keyboard.press("ArrowRight")
    await made.page.wait_for_timeout(100)
    assert await made.page.evaluate("Wall.tiles().filter((a) => a.tabIndex === 0).map((a) => a.id)") == [
        f"a{ids[1]}"
    ]
    await made.page.keyboard.press("Tab")
    assert await made.page.evaluate("document.activeElement.closest('.tile') === null")


async def test_walking_on_loads_what_is_not_there_yet(browser: Browser, site: Site, db: Database) -> None:
    ids = await seed(db, site.settings.home, 700, stored=700)
    made = await visit(browser, site)
    await set_up(made, db)
    met = await made.page.evaluate(
        """async () => {
            let tile = Wall.tiles()[0];
            const met = [tile.id];
            for (let n = 0; n < 450 && tile; n++) {
                tile = await Wall.beside(tile.id, 1);
                if (tile) met.push(tile.id);
            }
            return met;
        }"""
    )
    assert met == [f"a{i}" for i in ids[:451]]
    back = await made.page.evaluate(
        """async (id) => {
            const first = await Wall.reveal(id);
            return [first.id, first.getBoundingClientRect().top, innerHeight];
        }""",
        f"a{ids[3]}",
    )
    assert back[0] == f"a{ids[3]}"
    assert 0 <= back[1] < back[2]
    assert await made.troubles() == []


async def test_two_fingers_change_the_size(browser: Browser, site: Site, db: Database) -> None:
    await seed(db, site.settings.home, 60, stored=60)
    made = await visit(browser, site, has_touch=True)
    await set_up(made, db)
    wire = await made.context.new_cdp_session(made.page)

    async def fingers(kind: str, apart: float) -> None:
        points = [{"x": 600 - apart, "y": 500}, {"x": 600 + apart, "y": 500}] if apart else []
        await wire.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    await fingers("touchStart", 60)
    for apart in (70, 80, 95):
        await fingers("touchMove", apart)
    await fingers("touchEnd", 0)
    await made.until("document.querySelector('[data-density=l]')?.hasAttribute('aria-current')")
    assert await made.troubles() == []
