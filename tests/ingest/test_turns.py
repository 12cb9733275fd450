"""Imports and merges that want the same rows hold them in one order, so that none is ended for another."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from appliance.core.drains import Claimed
from appliance.ingest import claims, describing
from appliance.ingest.importing import Import
from appliance.tagging import holding
from tests.ingest.conftest import Ingest
from tests.ingest.test_sidecars import Library, words
from tests.media import make
from tests.media_files import jpeg, picture
from tests.waiting import until


_WAITING = "SELECT count(*) AS n FROM pg_locks WHERE NOT granted"


@pytest.fixture
def library(ingest: Ingest, folder: Path) -> Library:
    return Library(ingest, folder)


def saved(image: Image.Image, **options: Any) -> bytes:
    return make.saved(image, "JPEG", quality=90, **options)


async def claimed(library: Library) -> dict[bytes, Claimed]:
    """What a scan finds, each file in hand."""
    ingest = library.ingest
    await ingest.walk(await ingest.claim_walk(await ingest.queue(library.folder)))
    async with ingest.db.unit_of_work() as uow:
        return {c.row.path: c for c in await claims.claim(uow.sql, 1, 100)}


async def waiting(ingest: Ingest, count: int) -> bool:
    (row,) = await ingest.rows(_WAITING)
    return row["n"] == count


async def test_a_copy_of_the_old_content_and_the_one_that_is_saved_again_take_turns(library: Library) -> None:
    ingest, scene = library.ingest, picture(1, size=(480, 360))
    library.put("a.jpg", saved(scene))
    library.put("b.jpg.txt", b"lake")
    await library.scan()
    library.put("b.jpg", (library.folder / "a.jpg").read_bytes())
    library.put("a.jpg", saved(scene, xmp=words("pier")))
    tasks = await claimed(library)
    works = {path: Import(ingest.settings, ingest.db, task) for path, task in tasks.items()}
    async with ingest.db.unit_of_work() as uow:
        # Neither can end before the other has begun.
        await uow.sql.execute("SELECT FROM import_batch FOR UPDATE")
        copy = asyncio.create_task(works[b"b.jpg"].run(ingest.pool.child))
        await until(lambda: waiting(ingest, 1), "the copy waits for its batch")
        again = asyncio.create_task(works[b"a.jpg"].run(ingest.pool.child))
        await until(lambda: waiting(ingest, 2), "the other one waits as well")

    assert (await copy, await again) == ("duplicate", "imported")
    # The name keeps the asset; what came with the copy goes with it.
    assert await ingest.drain() == {"imported": 1}
    assert (await library.asset("a.jpg"))["missing_since"] is None
    assert await library.tags("a.jpg") == {"pier"}
    assert await library.tags("b.jpg") == {"lake"}


async def test_a_described_file_that_returns_and_a_merge_of_its_tags_take_turns(library: Library) -> None:
    ingest = library.ingest
    library.put("a.jpg", jpeg(1))
    library.put("c.jpg", jpeg(2))
    for name in ("b.jpg.txt", "c.jpg.txt"):
        library.put(name, b"lake")
    await library.scan()
    asset, (tag,) = await library.asset("a.jpg"), await ingest.rows("SELECT id FROM tag")
    (library.folder / "a.jpg").unlink()
    assert (await library.scan()).missing == 1
    library.put("b.jpg", jpeg(1))
    work = Import(ingest.settings, ingest.db, (await claimed(library))[b"b.jpg"])

    async def merge() -> None:
        async with ingest.db.unit_of_work() as uow:
            await holding.names(uow.sql)
            await holding.alone(uow.sql, [tag["id"]])  # type: ignore[list-item]
            await holding.assets(uow.sql, [asset["id"]])

    async with ingest.db.unit_of_work() as uow:
        (root,) = await uow.sql.fetch("SELECT id FROM root")
        await describing.hold_families(uow.sql, root["id"], [b"b.jpg"])
        returning = asyncio.create_task(work.run(ingest.pool.child))
        await until(lambda: waiting(ingest, 1), "the file waits for its family")
        merging = asyncio.create_task(merge())
        await until(lambda: _ended_or_waits(ingest, merging), "the merge has what it can get")

    assert await returning == "returned"
    await merging
    assert await library.tags("b.jpg") == {"lake"}


async def _ended_or_waits(ingest: Ingest, task: asyncio.Task[None]) -> bool:
    return task.done() or await waiting(ingest, 2)
