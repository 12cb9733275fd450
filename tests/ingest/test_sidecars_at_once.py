"""Sidecars that are sent, and what happens when a file and those that describe it come at the same moment."""

from __future__ import annotations

import asyncio
import json
from functools import partial

import pytest

from appliance.core.drains import Claimed
from appliance.ingest import claims
from appliance.ingest.importing import Import
from tests.ingest.conftest import Ingest
from tests.ingest.test_sidecars import Library, words
from tests.ingest.test_uploads import lying, send
from tests.media_files import jpeg


@pytest.fixture
def library(ingest: Ingest, folder: object) -> Library:
    return Library(ingest, folder)  # type: ignore[arg-type]


async def sent(ingest: Ingest, name: str) -> tuple[str | None, set[str]]:
    """Title and tags of what was sent under a name."""
    (row,) = await ingest.rows(
        "SELECT a.id, a.title FROM asset a JOIN provenance p ON p.asset_id = a.id WHERE p.path = $1",
        name.encode(),
    )
    tags = await ingest.rows(
        "SELECT t.name FROM asset_tag x JOIN tag t ON t.id = x.tag_id WHERE x.asset_id = $1", row["id"]
    )
    title = row["title"]
    assert title is None or isinstance(title, str)
    return title, {str(r["name"]) for r in tags}


@pytest.mark.parametrize("order", [1, -1])
async def test_a_sidecar_that_is_sent_with_its_picture_is_about_it(ingest: Ingest, order: int) -> None:
    beside = [("trip/a.jpg.xmp", words("lake")), ("trip/a.json", b'{"tags": ["post"]}')]
    files = [("trip/a.jpg", jpeg(1)), *beside]
    for name, body in files[::order]:
        await send(ingest, name, body)
    await send(ingest, "a.jpg", jpeg(2))

    assert await ingest.drain() == {"imported": 2, "skipped": 2}

    assert await sent(ingest, "trip/a.jpg") == ("At sea", {"lake", "post"})
    assert await sent(ingest, "a.jpg") == (None, set())
    assert lying(ingest.settings) == []


async def test_a_long_name_of_a_sent_sidecar_is_no_obstacle(ingest: Ingest) -> None:
    name = "ordner/" + "ü" * 900
    await send(ingest, f"{name}.jpg", jpeg(1))
    await send(ingest, f"{name}.txt", b"lake")
    await ingest.drain()
    assert await sent(ingest, f"{name}.jpg") == (None, {"lake"})


async def all_at_once(ingest: Ingest) -> None:
    async with ingest.db.unit_of_work() as uow:
        taken: list[Claimed] = list(await claims.claim(uow.sql, 1, 100))

    async def bring(claimed: Claimed) -> str:
        return await Import(ingest.settings, ingest.db, claimed).run(partial(ingest.pool.child))

    await asyncio.gather(*(bring(each) for each in taken))


async def test_a_file_and_all_that_describes_it_may_come_at_the_same_moment(library: Library) -> None:
    for n in range(8):
        library.put(f"d/{n}.jpg", jpeg(n))
        library.put(f"d/{n}.jpg.xmp", words("lake", f"tag {n}"))
        library.put(f"d/{n}.jpg.json", json.dumps({"tags": ["post", f"tag {n}"]}).encode())
        library.put(f"d/{n}.txt", b"lines\nlake")
    ingest = library.ingest
    batch_id = await ingest.queue(library.folder)
    await ingest.walk(await ingest.claim_walk(batch_id))

    await all_at_once(ingest)

    assert (await ingest.view(batch_id)).imported == 8
    for n in range(8):
        assert await library.tags(f"d/{n}.jpg") == {"lake", f"tag {n}", "post", "lines"}
        assert (await library.asset(f"d/{n}.jpg"))["title"] == "At sea"


async def test_two_batches_of_one_folder_see_what_the_other_brings(library: Library) -> None:
    """The rows of a batch keep its imports apart; across batches only the turn of a family of names does."""
    ingest = library.ingest
    for n in range(6):
        library.put(f"{n}.jpg", jpeg(n))
    first = await ingest.queue(library.folder)
    await ingest.walk(await ingest.claim_walk(first))
    for n in range(6):
        library.put(f"{n}.txt", b"lake")
    second = await ingest.queue(library.folder)
    await ingest.walk(await ingest.claim_walk(second))
    async with ingest.db.unit_of_work() as uow:
        one = list(await claims.claim(uow.sql, 1, 100))
    async with ingest.db.unit_of_work() as uow:
        other = list(await claims.claim(uow.sql, 1, 100))
    assert {c.row.batch_id for c in one} != {c.row.batch_id for c in other}
    lend = ingest.pool.child
    await asyncio.gather(*(Import(ingest.settings, ingest.db, c).run(lend) for c in (*one, *other)))
    for n in range(6):
        assert await library.tags(f"{n}.jpg") == {"lake"}
