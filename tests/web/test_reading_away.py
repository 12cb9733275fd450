"""Reading a volume whose folder is away: said at once, with the folder and the way out."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from appliance.core import clock
from appliance.ingest import services
from appliance.web import reading
from tests.ingest.conftest import Ingest, folder, ingest
from tests.library.books import shelved, unpack
from tests.media.make import corner, saved
from tests.media.zips import zipped
from tests.media_files import jpeg
from tests.web.conftest import PARTIAL


__all__ = ["folder", "ingest"]


def odd_book() -> bytes:
    """A page that browsers show, and one that they do not."""
    return zipped({"1.jpg": jpeg(1), "2.tif": saved(corner((40, 60)), "TIFF")})


async def test_page_under_a_folder_known_to_be_away_is_answered_at_once(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    volume = await shelved(ingest, folder, odd_book(), unpacked=False)
    (root,) = await ingest.rows("SELECT id FROM root")
    async with ingest.db.unit_of_work() as uow:
        await services.mark_unavailable(uow.sql, int(str(root["id"])), "the storage does not answer")
    began = clock.monotonic()
    answer = await client.get(f"/media/{volume}/page/2")
    assert answer.status_code == 503
    assert f"The folder {folder} cannot be read" in answer.text

    # Said where the page would stand, before anything of it was asked for, and also without scripts.
    page = (await client.get(f"/asset/{volume}/read?page=2")).text
    assert f"The folder {folder} cannot be read" in page
    assert "The storage does not answer. Connect its disk or network share" in page
    assert f'href="/import/folders/{root["id"]}"' in page
    assert f"/media/{volume}/page/2" not in page
    assert clock.monotonic() - began < reading.PAGE_SECONDS
    # What browsers show by themselves is still tried: it may be back before a scan has seen it.
    assert (await client.get(f"/media/{volume}/page/1")).content == jpeg(1)


@pytest.mark.parametrize("unpacked", [False, True])
async def test_folder_that_nobody_knew_to_be_away_is_found_out(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path, *, unpacked: bool
) -> None:
    volume = await shelved(ingest, folder, odd_book(), unpacked=unpacked)
    folder.rename(folder.with_name("unplugged"))
    began = clock.monotonic()
    answer = await client.get(f"/media/{volume}/page/2", follow_redirects=True)
    assert answer.status_code == 503
    assert f"The folder {folder} cannot be read" in answer.text
    assert clock.monotonic() - began < reading.PAGE_SECONDS
    assert await ingest.rows("SELECT status, reason FROM root") == [
        {"status": "unavailable", "reason": "No such file or directory"}
    ]


async def test_leaf_that_did_not_come_says_why_or_comes_again(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    volume = await shelved(ingest, folder, odd_book(), unpacked=False)

    async def leaf(page: int, tried: int = 0) -> str:
        return (await client.get(f"/asset/{volume}/leaf?page={page}&tried={tried}", headers=PARTIAL)).text

    assert "data-again" in await leaf(2)
    assert "<img" in await leaf(1)
    assert "This page did not come" in await leaf(1, 1)
    await unpack(ingest)
    assert "<img" in await leaf(2)

    folder.joinpath("loose.txt").write_text("An empty folder would be one that is away.")
    folder.joinpath("book.cbz").unlink()
    assert "The original file is not there" in await leaf(1)
    folder.rename(folder.with_name("unplugged"))
    assert f"The folder {folder} cannot be read" in await leaf(1)
    assert f"The folder {folder} cannot be read" in await leaf(2)
    plain = await client.get(f"/asset/{volume}/leaf?page=2")
    assert (plain.status_code, plain.headers["location"]) == (303, f"/asset/{volume}/read?page=2")
