"""The review of duplicates by keys: one decides, the next pair comes, an undo leads back to the pair."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser

from appliance.core.db import Database
from tests.browser.conftest import Site, Visit, set_up, visit
from tests.browser.drawing import ingest, working  # noqa: F401 - fixtures
from tests.browser.test_selection import toast
from tests.browser.test_viewer import shot
from tests.duplicates.conftest import Doubles, doubles, jpeg, scene  # noqa: F401 - fixtures
from tests.media_files import put
from tests.operations.conftest import folder, library  # noqa: F401 - fixtures


SHOWN = "document.querySelector('#review').dataset.pair"

SHARP = "[...document.querySelectorAll('.cand img')].every((one) => one.complete && one.naturalWidth > 300)"


@pytest.fixture
async def made(
    browser: Browser,
    site: Site,
    db: Database,
    doubles: Doubles,  # noqa: F811 - fixtures
    folder: Path,  # noqa: F811 - fixtures
    working: None,  # noqa: F811 - fixtures
) -> Visit:
    """The page with three pairs that wait: the larger one of each came in first, as A."""
    for seed in (1, 2, 3):
        put(folder, f"{seed}.jpg", jpeg(scene(seed)))
    await doubles.imports.scan(folder)
    for seed in (1, 2, 3):
        put(folder, f"{seed} small.jpg", jpeg(scene(seed, (320, 240)), 85))
    await doubles.imports.scan(folder)
    await doubles.search()
    shown = await visit(browser, site)
    await set_up(shown, db, "/duplicates")
    await shown.until(SHARP)
    return shown


async def pair(made: Visit) -> int:
    return int(await made.page.evaluate(SHOWN))


async def decided(made: Visit, key: str) -> int:
    """Press a key on the pair that is shown; that pair, once the next one is there."""
    before = await pair(made)
    await made.page.keyboard.press(key)
    await made.until(f"{SHOWN} !== '{before}'")
    return before


async def states(doubles: Doubles, pair_id: int) -> tuple[str, str]:  # noqa: F811 - fixtures
    (row,) = await doubles.lib.rows(
        "SELECT a.state AS a, b.state AS b FROM duplicate_pair p JOIN asset a ON a.id = p.a_id"
        " JOIN asset b ON b.id = p.b_id WHERE p.id = $1",
        pair_id,
    )
    return row["a"], row["b"]


@pytest.mark.parametrize(("key", "left"), [("1", ("kept", "trashed")), ("2", ("trashed", "kept"))])
async def test_a_key_keeps_one_and_its_undo_leads_back_to_the_pair(
    made: Visit,
    doubles: Doubles,  # noqa: F811 - fixtures
    key: str,
    left: tuple[str, str],
) -> None:
    first = await decided(made, key)
    await toast(made, "Kept one, the other is in the trash")
    assert await states(doubles, first) == left

    await made.page.keyboard.press("z")
    await made.until(f"{SHOWN} === '{first}'")

    assert await states(doubles, first) == ("kept", "kept")
    assert len(await doubles.shown()) == 3
    assert await made.troubles() == []


async def test_keys_stack_part_and_skip(made: Visit, doubles: Doubles) -> None:  # noqa: F811 - fixtures
    stacked = await decided(made, "s")
    await toast(made, "Stacked as versions")
    parted = await decided(made, "k")
    await toast(made, "They will not be offered again")
    await made.page.keyboard.press("ArrowRight")
    await made.until("document.querySelector('#review').innerText.includes('That was the last one')")

    verdicts = await doubles.lib.rows("SELECT id, verdict FROM duplicate_pair WHERE verdict IS NOT NULL")
    assert {row["id"]: row["verdict"] for row in verdicts} == {stacked: "alternate", parted: "different"}
    assert len(await doubles.shown()) == 1
    assert await made.troubles() == []


async def test_one_lies_over_the_other_and_a_key_shows_the_other_one(made: Visit) -> None:
    letter = "document.querySelector('.over:not([hidden]) [data-letter]')?.textContent"
    await made.page.keyboard.press("f")
    await made.until(f"{letter} === 'A'")
    await made.page.keyboard.press("f")
    await made.until(f"{letter} === 'B'")
    await made.page.click("text=Difference")
    await made.until("document.querySelector('.over').classList.contains('difference')")
    assert await made.troubles() == []


async def test_the_one_without_a_file_cannot_be_kept_and_the_page_says_why(
    made: Visit,
    doubles: Doubles,  # noqa: F811 - fixtures
    folder: Path,  # noqa: F811 - fixtures
) -> None:
    shown = await pair(made)
    (row,) = await doubles.lib.rows(
        "SELECT p.path FROM duplicate_pair d JOIN provenance p ON p.asset_id = d.a_id WHERE d.id = $1", shown
    )
    name = bytes(row["path"]).decode()
    (folder / name).unlink()
    await doubles.imports.scan(folder)
    await made.page.reload()

    await made.page.keyboard.press("1")

    await toast(made, f"The file of {name} is missing")
    assert await pair(made) == shown
    assert await states(doubles, shown) == ("kept", "kept")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
async def test_both_pages_fit_the_window(
    made: Visit,
    doubles: Doubles,  # noqa: F811 - fixtures
    folder: Path,  # noqa: F811 - fixtures
    width: int,
    scheme: Literal["light", "dark"],
) -> None:
    await doubles.lib.act("tag", await doubles.ids("1 small.jpg"), tags="sea; artist:ben")
    gone = await doubles.ids("3.jpg", "3 small.jpg")
    await doubles.lib.act("trash", gone)
    await doubles.lib.act("purge", gone)
    put(folder, "a copy of the third one under a rather long name of its own.jpg", jpeg(scene(3), 70))
    await doubles.imports.scan(folder)
    await made.page.set_viewport_size({"width": width, "height": 900})
    await made.page.emulate_media(color_scheme=scheme)
    for path in ("duplicates", "deletions"):
        await made.page.goto(f"{made.site.url}/{path}")
        await made.until(SHARP)
        await made.rest()
        await shot(made, f"{path}-{width}-{scheme}")
        assert await made.holds("document.documentElement.scrollWidth <= innerWidth")
    assert await made.troubles() == []


async def test_on_a_phone_all_decisions_are_in_reach_without_scrolling(
    made: Visit,
    doubles: Doubles,  # noqa: F811 - fixtures
) -> None:
    await made.page.set_viewport_size({"width": 390, "height": 844})
    places = await made.page.evaluate(
        "[...document.querySelectorAll('.acts .btn')].map((one) => one.getBoundingClientRect())"
        ".map((box) => [box.left, box.top, box.right, box.bottom])"
    )
    bar = await made.page.evaluate("document.querySelector('.rail').getBoundingClientRect().top")
    assert len(places) == 5
    assert all(
        left >= 0 and top > 0 and right <= 390 and bottom <= bar for left, top, right, bottom in places
    )

    first = await pair(made)
    await made.page.click("[data-act=keep-b] button")
    await made.until(f"{SHOWN} !== '{first}'")
    assert await states(doubles, first) == ("trashed", "kept")
    assert await made.troubles() == []
