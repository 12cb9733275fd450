"""The wish for a playable film over HTTP, the film in parts, and the film while it grows."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx

from appliance.core.drains import Claimed
from appliance.library import renditions
from appliance.library.playing import Playing
from appliance.web import films
from tests.ingest.conftest import Ingest, folder, ingest
from tests.library.films import film, frames_of, long_film, take, wish, work
from tests.media import make
from tests.waiting import until


__all__ = ["folder", "ingest"]


async def test_the_page_asks_and_is_told_how_far_it_is(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    number = await film(ingest, folder, "a.mkv", make.film("mkv"))
    page = await client.get(f"/asset/{number}")
    assert f'data-film="{number}"' in page.text
    assert f'src="/media/{number}/play"' in page.text

    told = (await client.post(f"/asset/{number}/play")).json()
    assert (told["state"], told["watch"]) == ("waits", False)
    await work(ingest, (await take(ingest))[0])
    told = (await client.post(f"/asset/{number}/play")).json()
    assert (told["state"], told["watch"], told["words"]) == ("ready", True, "")


async def test_a_finished_film_is_sent_in_parts(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    number = await film(ingest, folder, "a.mkv", make.film("mkv"))
    await wish(ingest, number)
    await work(ingest, (await take(ingest))[0])
    whole = await client.get(f"/media/{number}/play")
    assert (whole.status_code, whole.headers["content-type"]) == (200, "video/mp4")
    assert frames_of(whole.content) == 30
    part = await client.get(f"/media/{number}/play", headers={"Range": "bytes=4-7"})
    assert (part.status_code, part.content) == (206, b"ftyp")
    assert part.headers["etag"] == whole.headers["etag"]
    mark = {"If-None-Match": whole.headers["etag"]}
    assert (await client.get(f"/media/{number}/play", headers=mark)).status_code == 304
    stale = {"Range": "bytes=0-1", "If-Range": '"other"'}
    assert (await client.get(f"/media/{number}/play", headers=stale)).status_code == 200


async def test_a_film_is_sent_while_it_is_made_and_the_connection_is_the_wish(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    number = await film(ingest, folder, "a.avi", long_film(6))
    watching = asyncio.create_task(client.get(f"/media/{number}/play", headers={"Range": "bytes=0-"}))
    taken: list[Claimed] = await until(lambda: take(ingest), "it was wished for")
    assert await work(ingest, taken[0]) == "encoded"
    answer = await watching
    assert answer.status_code == 200
    assert "content-range" not in answer.headers
    assert frames_of(answer.content) == 150


async def test_a_film_whose_file_was_deleted_is_made_again(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    number = await film(ingest, folder, "a.mkv", make.film("mkv"))
    await wish(ingest, number)
    await work(ingest, (await take(ingest))[0])
    for place in ingest.settings.home.renditions.rglob("play.mp4"):
        place.unlink()
    asked = asyncio.create_task(client.get(f"/media/{number}/play"))
    taken: list[Claimed] = await until(lambda: take(ingest), "it was wished for")
    await work(ingest, taken[0])
    assert frames_of((await asked).content) == 30


async def test_a_film_that_cannot_be_made_says_why(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    number = await film(ingest, folder, "a.mkv", make.film("mkv"))
    await client.post(f"/asset/{number}/play")
    (folder / "a.mkv").unlink()
    await work(ingest, (await take(ingest))[0])
    told = (await client.post(f"/asset/{number}/play")).json()
    assert (told["state"], told["code"]) == ("failed", "vanished")
    assert (await client.get(f"/media/{number}/play")).status_code == 503
    assert (await client.post(f"/asset/{number}/play?again=1")).json()["state"] == "waits"


async def test_leaving_shortens_the_wish(client: httpx.AsyncClient, ingest: Ingest, folder: Path) -> None:
    number = await film(ingest, folder, "a.mkv", make.film("mkv"))
    await client.post(f"/asset/{number}/play")
    assert (await client.post(f"/asset/{number}/play/leave")).status_code == 204
    (row,) = await ingest.rows("SELECT wanted_until - now() < interval '5 seconds' AS soon FROM conversion")
    assert row["soon"]


async def test_a_picture_has_no_film_and_a_film_no_full_size(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    number = await film(ingest, folder, "a.mkv", make.film("mkv"))
    assert (await client.get(f"/media/{number}/full")).status_code == 404
    (folder / "b.png").write_bytes(make.saved(make.corner(), "PNG"))
    await ingest.scan(folder)
    (row,) = await ingest.rows("SELECT id FROM asset WHERE kind = 'still'")
    assert (await client.post(f"/asset/{row['id']}/play")).status_code == 404
    assert (await client.get(f"/media/{row['id']}/play")).status_code == 404


async def test_a_full_size_is_made_when_it_is_asked_for(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    (folder / "b.tiff").write_bytes(make.saved(make.corner(), "TIFF"))
    (folder / "c.png").write_bytes(make.saved(make.corner(), "PNG"))
    await ingest.scan(folder)
    rows = await ingest.rows("SELECT id, mime FROM asset")
    ids = {str(r["mime"]): r["id"] for r in rows}
    shown = await client.get(f"/media/{ids['image/png']}/full")
    assert shown.headers["content-type"] == "image/png"

    asked = asyncio.create_task(client.get(f"/media/{ids['image/tiff']}/full"))

    async def busy(_sql: object) -> bool:
        return False

    async def claimed() -> list[Claimed]:
        async with ingest.db.unit_of_work() as uow:
            # Also while imports work: somebody waits.
            return list(await renditions.claim_when(busy)(uow.sql, 1, 5))

    taken = await until(claimed, "somebody asked for it")
    assert [t.row.name for t in taken] == ["full"]
    async with ingest.pool.child() as child:
        await renditions.render(ingest.settings, ingest.db, taken[0], child)
    answer = await asked
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/webp")
    assert answer.headers["etag"]


def test_what_is_said_meanwhile_is_plain() -> None:
    assert films.said(Playing("making", 0.374, 20.0, 10.0)) == "Preparing this video, 37 %, about 0:16 left"
    assert films.said(Playing("making", 0.0, 0.0, 0.5)) == "Preparing this video, 0 %"
    assert films.said(Playing("failed", reason="corrupt", detail="x")) == "File is damaged: x"
    assert films._watchable(Playing("making", 0.1, 5.0, 2.0))
    assert not films._watchable(Playing("making", 0.1, 5.0, 4.9))
