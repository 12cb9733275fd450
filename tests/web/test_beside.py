"""Walking through a search from picture to picture, and what a viewer never gets to see."""

from __future__ import annotations

import httpx
import pytest

from appliance.accounts import sessions
from appliance.accounts.models import Role
from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.web.remembering import remembered
from tests.people import a_person
from tests.seed import seed
from tests.web.conftest import PARTIAL


@pytest.fixture
async def onlooker(stranger: httpx.AsyncClient, account: int, db: Database) -> httpx.AsyncClient:
    """A browser in which somebody is signed in who may only look."""
    async with db.unit_of_work() as uow:
        number = await a_person(uow, "ben", "four words make two", role=Role.VIEWER)
        token = await sessions.start(uow.sql, number, address="127.0.0.1", agent="tests")
    stranger.cookies.set("vitrine", token, domain="localhost.local")
    return stranger


async def rated(db: Database, ids: list[int]) -> None:
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET rating = 5 WHERE id = ANY($1::bigint[])", ids)


async def test_next_and_previous_stay_within_the_search(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    ids = await seed(db, settings.home, 9)
    await rated(db, [ids[1], ids[4], ids[7]])
    page = (await client.get(f"/asset/{ids[4]}", params={"q": "rating:5"})).text
    assert f'href="/asset/{ids[1]}?q=rating%3A5" data-key="previous"' in page
    assert f'href="/asset/{ids[7]}?q=rating%3A5" data-key="next"' in page
    assert f'#a{ids[4]}" data-key="back"' in page
    assert 'href="/?q=rating%3A5&amp;at=' in page


async def test_a_search_that_means_nothing_is_the_whole_gallery(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    ids = await seed(db, settings.home, 3)
    page = await client.get(f"/asset/{ids[1]}", params={"q": "rating:((("})
    assert page.status_code == 200
    assert f'href="/asset/{ids[2]}" data-key="next"' in page.text


async def test_one_that_left_the_search_keeps_its_place(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    ids = await seed(db, settings.home, 5)
    await rated(db, [ids[0], ids[4]])
    page = (await client.get(f"/asset/{ids[2]}", params={"q": "rating:5"})).text
    assert f'href="/asset/{ids[0]}?q=rating%3A5"' in page
    assert f'href="/asset/{ids[4]}?q=rating%3A5"' in page


async def test_a_run_goes_on_from_any_place_in_both_directions(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    ids = await seed(db, settings.home, 150)
    here = (await client.get(f"/asset/{ids[70]}/run")).json()
    assert [i["id"] for i in here["items"]] == ids[70:130]
    assert here["more"]
    newer = (
        await client.get(f"/asset/{ids[70]}/run", params={"place": here["items"][0]["place"], "way": "newer"})
    ).json()
    assert [i["id"] for i in newer["items"]] == ids[69:9:-1]
    older = (
        await client.get(
            f"/asset/{ids[70]}/run", params={"place": here["items"][-1]["place"], "way": "older"}
        )
    ).json()
    assert [i["id"] for i in older["items"]] == ids[130:]
    assert not older["more"]
    first = here["items"][0]
    assert first["src"] == f"/media/{ids[70]}/preview?v=1"
    assert first["closely"] == f"/media/{ids[70]}/original"
    assert first["under"] == f"/media/{ids[70]}/grid-480?v=1"


async def test_what_browsers_do_not_show_is_shown_closely_in_full_size(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    ids = await seed(db, settings.home, 3)
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET mime = 'image/heic' WHERE id = $1", ids[0])
        await uow.sql.execute("UPDATE asset SET turn = 90 WHERE id = $1", ids[1])
    items = (await client.get(f"/asset/{ids[0]}/run")).json()["items"]
    assert [i["closely"].rpartition("/")[2] for i in items] == ["full", "full", "original"]


@pytest.mark.parametrize(
    "hidden", ["private = true", "state = 'trashed', trashed_at = now()", "state = 'archived'"]
)
async def test_what_the_timeline_hides_does_not_exist_for_viewers(
    onlooker: httpx.AsyncClient, db: Database, settings: Settings, hidden: str
) -> None:
    ids = await seed(db, settings.home, 3)
    paths = [
        f"/asset/{ids[1]}",
        f"/asset/{ids[1]}/panel",
        f"/asset/{ids[1]}/picture",
        f"/asset/{ids[1]}/run",
        *(f"/media/{ids[1]}/{name}" for name in ("grid-240", "preview", "original", "full")),
    ]
    for path in paths:
        assert (await onlooker.get(path, headers=PARTIAL)).status_code == 200, path
    async with db.unit_of_work() as uow:
        await uow.sql.execute(f"UPDATE asset SET {hidden} WHERE id = $1", ids[1])
    # Facts are believed for two seconds; what another process changed is seen after that.
    remembered._facts.clear()
    for path in paths:
        assert (await onlooker.get(path, headers=PARTIAL)).status_code == 404, path
    items = (await onlooker.get(f"/asset/{ids[0]}/run")).json()["items"]
    assert [i["id"] for i in items] == [ids[0], ids[2]]
    assert (await onlooker.post(f"/asset/{ids[1]}/play")).status_code == 404


async def test_an_administrator_sees_what_is_hidden(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    ids = await seed(db, settings.home, 3)
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE asset SET private = true WHERE id = $1", ids[1])
    assert (await client.get(f"/asset/{ids[1]}")).status_code == 200
    assert (await client.get(f"/media/{ids[1]}/grid-240")).status_code == 200


async def test_the_panel_is_a_fragment_and_its_page_is_the_asset(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    ids = await seed(db, settings.home, 1)
    panel = await client.get(f"/asset/{ids[0]}/panel", headers=PARTIAL)
    assert "<html" not in panel.text
    assert "data-marks-part" in panel.text
    plain = await client.get(f"/asset/{ids[0]}/panel?pane=files")
    assert plain.status_code == 303
    assert plain.headers["location"] == f"/asset/{ids[0]}?pane=files"
