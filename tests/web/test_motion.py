"""The film of a still over HTTP: its bytes alone, for whoever may see the still."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from appliance.accounts import sessions
from appliance.accounts.models import Role
from appliance.web.remembering import remembered
from tests.ingest.conftest import Ingest, folder, ingest
from tests.library.films import take, work
from tests.library.test_motion import bring, number
from tests.media import living, make
from tests.people import a_person


__all__ = ["folder", "ingest"]
FILM = make.film(count=12)
PAIR = (("a.heic", living.apple_still(format_="HEIF")), ("a.mov", living.apple_film()))


@pytest.fixture
async def viewer(client: httpx.AsyncClient, ingest: Ingest) -> httpx.AsyncClient:
    """A browser of somebody who only looks."""
    async with ingest.db.unit_of_work() as uow:
        person = await a_person(uow, "berta", "four words make one", role=Role.VIEWER)
        token = await sessions.start(uow.sql, person, address="127.0.0.1", agent="tests")
    client.cookies.set("vitrine", token, domain="localhost.local")
    return client


async def test_the_film_within_a_photo_is_sent_alone_and_in_parts(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    await bring(ingest, folder, ("a.jpg", living.google(FILM)))
    still = await number(ingest, "a.jpg")
    page = (await client.get(f"/asset/{still}")).text
    assert f'href="/media/{still}/motion" data-motion="{still}" data-played="original"' in page
    whole = await client.get(f"/media/{still}/motion")
    assert (whole.status_code, whole.headers["content-type"]) == (200, "video/mp4")
    assert whole.content == FILM
    assert whole.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in whole.headers["content-security-policy"]
    part = await client.get(f"/media/{still}/motion", headers={"Range": "bytes=4-7"})
    assert (part.status_code, part.content) == (206, b"ftyp")
    assert part.headers["content-range"] == f"bytes 4-7/{len(FILM)}"
    beyond = {"Range": f"bytes={len(FILM)}-"}
    assert (await client.get(f"/media/{still}/motion", headers=beyond)).status_code == 416
    last = {"Range": "bytes=-9"}
    assert (await client.get(f"/media/{still}/motion", headers=last)).content == FILM[-9:]


async def test_whoever_sees_the_still_sees_its_film_and_nothing_else_of_it(
    viewer: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    await bring(ingest, folder, *PAIR)
    still, film = await number(ingest, "a.heic"), await number(ingest, "a.mov")
    assert (await viewer.get(f"/media/{still}/motion")).content == PAIR[1][1]
    for path in (f"/asset/{film}", f"/media/{film}/original", f"/media/{film}/play"):
        assert (await viewer.get(path)).status_code == 404
    await ingest.rows("UPDATE asset SET private = true WHERE id = $1 RETURNING id", still)
    remembered.forget(still)
    assert (await viewer.get(f"/media/{still}/motion")).status_code == 404


async def test_the_viewer_is_told_which_pictures_have_a_film(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    await bring(ingest, folder, *PAIR, ("plain.jpg", living.photo(seed=50)))
    still, plain = await number(ingest, "a.heic"), await number(ingest, "plain.jpg")
    found = (await client.get(f"/asset/{plain}/run")).json()["items"]
    assert {item["id"]: item["motion"] for item in found} == {still: "original", plain: ""}


async def test_a_film_that_browsers_do_not_play_is_wished_for_by_its_still(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    await bring(ingest, folder, ("a.jpg", living.google(make.film("mov", codec="mpeg4", count=10))))
    still = await number(ingest, "a.jpg")
    assert f'href="/media/{still}/play"' in (await client.get(f"/asset/{still}")).text
    assert (await client.post(f"/asset/{still}/play")).json()["state"] == "waits"
    await work(ingest, (await take(ingest))[0])
    assert (await client.get(f"/media/{still}/play")).headers["content-type"] == "video/mp4"


async def test_a_picture_without_a_film_has_none(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    await bring(ingest, folder, ("plain.jpg", living.photo()))
    still = await number(ingest, "plain.jpg")
    assert "data-motion" not in (await client.get(f"/asset/{still}")).text
    assert (await client.get(f"/media/{still}/motion")).status_code == 404
    assert (await client.post(f"/asset/{still}/play")).status_code == 404
