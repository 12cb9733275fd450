"""Pictures on demand: what someone looks at comes first, the rest while imports rest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from PIL import Image

from appliance.core.drains import Claimed
from appliance.core.facts import Fact
from appliance.ingest.models import Mode
from appliance.ingest.services import imports_idle
from appliance.library import files, renditions
from appliance.library.services import want_preview
from appliance.operations import services as operations
from appliance.operations.kinds import Kind
from appliance.web.sending import open_recorded
from tests.ingest.conftest import Ingest
from tests.media_files import jpeg, put


claim = renditions.claim_when(imports_idle)


async def take(ingest: Ingest, count: int = 10) -> list[Claimed]:
    async with ingest.db.unit_of_work() as uow:
        return list(await claim(uow.sql, 1, count))


async def three_assets(ingest: Ingest, folder: Path) -> list[int]:
    for number in range(3):
        put(folder, f"{number}.jpg", jpeg(number, size=(1800, 1200)))
    await ingest.scan(folder)
    # By name: which of them is imported first is nobody's promise.
    rows = await ingest.rows("SELECT asset_id FROM provenance ORDER BY path")
    return [int(str(r["asset_id"])) for r in rows]


async def test_previews_wait_while_a_file_waits_for_its_import(ingest: Ingest, folder: Path) -> None:
    await three_assets(ingest, folder)
    put(folder, "late.jpg", jpeg(9))
    await ingest.walk(await ingest.claim_walk(await ingest.queue(folder)))

    assert await take(ingest) == []

    await ingest.drain()
    assert len(await take(ingest)) == 4


async def test_wanted_preview_is_taken_first_even_during_an_import(ingest: Ingest, folder: Path) -> None:
    ids = await three_assets(ingest, folder)
    put(folder, "late.jpg", jpeg(9))
    await ingest.walk(await ingest.claim_walk(await ingest.queue(folder)))
    async with ingest.db.unit_of_work() as uow:
        assert await want_preview(uow, ids[2], neighbours=[ids[1]]) == "pending"
        rung: list[type[Fact]] = list(uow._facts)
    assert [f.__name__ for f in rung] == ["PreviewWanted"]

    taken = await take(ingest)

    assert [t.row.asset_id for t in taken] == [ids[2], ids[1]]


async def test_rendered_preview_is_a_file_of_the_recorded_size(ingest: Ingest, folder: Path) -> None:
    await three_assets(ingest, folder)
    taken = await take(ingest, 1)

    async with ingest.pool.child() as child:
        assert await renditions.render(ingest.settings, ingest.db, taken[0], child) == "complete"

    (row,) = await ingest.rows("SELECT width, height, bytes FROM rendition WHERE id = $1", taken[0].id)
    place = ingest.settings.home.rendition(taken[0].row.sha256, "preview")
    assert (row["width"], row["height"]) == (1440, 960)
    assert place.stat().st_size == row["bytes"]


async def test_preview_of_a_changed_original_fails_with_its_reason(ingest: Ingest, folder: Path) -> None:
    (first, *_) = await three_assets(ingest, folder)
    put(folder, "0.jpg", jpeg(77))
    (taken,) = [t for t in await take(ingest) if t.row.asset_id == first]

    async with ingest.pool.child() as child:
        assert await renditions.render(ingest.settings, ingest.db, taken, child) == "failed"

    (row,) = await ingest.rows("SELECT status, reason FROM rendition WHERE id = $1", taken.id)
    assert row == {"status": "failed", "reason": "changed"}


@pytest.mark.parametrize("mode", [Mode.COPY, Mode.MOVE])
async def test_copy_of_an_old_file_is_drawn_and_sent_like_any_other(
    ingest: Ingest, folder: Path, mode: Mode
) -> None:
    os.utime(put(folder, "old.jpg", jpeg(1, size=(1800, 1200))), ns=(10**18, 10**18))
    await ingest.scan(folder, mode)
    taken = await take(ingest)

    async with ingest.pool.child() as child:
        assert await renditions.render(ingest.settings, ingest.db, taken[0], child) == "complete"

    async with ingest.db.unit_of_work() as uow:
        found = await files.original(uow.sql, ingest.settings.home, taken[0].row.asset_id)
    number = open_recorded(found)
    assert os.fstat(number).st_size == found.size
    os.close(number)


async def test_late_finish_of_a_settled_rendition_changes_nothing(ingest: Ingest, folder: Path) -> None:
    await three_assets(ingest, folder)
    zombie = (await take(ingest, 1))[0]
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute(
            "UPDATE rendition SET status = 'pending', claim = NULL WHERE id = $1", zombie.id
        )
    (again,) = await take(ingest, 1)

    async with ingest.pool.child() as child:
        await renditions.render(ingest.settings, ingest.db, zombie, child)

    (row,) = await ingest.rows("SELECT status, claim FROM rendition WHERE id = $1", zombie.id)
    assert row == {"status": "processing", "claim": again.claim}


async def test_a_late_drawing_of_a_turned_picture_is_drawn_over(ingest: Ingest, folder: Path) -> None:
    await three_assets(ingest, folder)
    (late,) = await take(ingest, 1)
    async with ingest.db.unit_of_work() as uow:
        done = await operations.act(uow, Kind.TURN, [late.row.asset_id], {"by": 90}, person=None)
        assert done.changed == 1
    taken = [t for t in await take(ingest) if t.id == late.id]
    assert [t.row.turn for t in taken] == [90]
    async with ingest.pool.child() as child:
        assert await renditions.render(ingest.settings, ingest.db, taken[0], child) == "complete"
        assert await renditions.render(ingest.settings, ingest.db, late, child) == "stale"

    again = [t for t in await take(ingest) if t.id == late.id]
    async with ingest.pool.child() as child:
        assert await renditions.render(ingest.settings, ingest.db, again[0], child) == "complete"
    (row,) = await ingest.rows("SELECT width, height FROM rendition WHERE id = $1", late.id)
    assert (row["width"], row["height"]) == (960, 1440)
    with Image.open(ingest.settings.home.rendition(late.row.sha256, "preview")) as shown:
        assert shown.size == (960, 1440)
