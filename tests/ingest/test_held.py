"""What a person answers to a scan that found too much gone, and what taking a folder out means."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from appliance.core.errors import Conflict
from appliance.ingest import held, retiring, roots, scanning, services
from appliance.ingest.identity import OTHER
from tests.ingest.conftest import Ingest
from tests.ingest.test_missing import fill, missing
from tests.media_files import jpeg, put


async def held_batch(ingest: Ingest) -> Any:
    return (await ingest.rows("SELECT held_batch FROM root WHERE id = 1"))[0]["held_batch"]


async def test_confirmed_files_are_missing_after_one_more_look(ingest: Ingest, folder: Path) -> None:
    files = fill(folder, 30)
    await ingest.scan(folder)
    for path in files[:20]:
        path.unlink()
    finding = await ingest.scan(folder)
    assert await held_batch(ingest) == finding.id

    async with ingest.db.unit_of_work() as uow:
        again = await held.confirm(uow, 1, finding.id)
    await ingest.walk(await ingest.claim_walk(again))

    assert (await ingest.view(again)).missing == 20
    assert len(await missing(ingest)) == 20
    assert await held_batch(ingest) is None


async def test_confirmation_is_for_its_finding_only(ingest: Ingest, folder: Path) -> None:
    files = fill(folder, 40)
    await ingest.scan(folder)
    for path in files[:12]:
        path.unlink()
    finding = await ingest.scan(folder)
    async with ingest.db.unit_of_work() as uow:
        again = await held.confirm(uow, 1, finding.id)
    # Before it is looked at once more, another part of it goes.
    for path in files[12:36]:
        path.unlink()

    await ingest.walk(await ingest.claim_walk(again))

    assert (await ingest.view(again)).held == 24
    assert await missing(ingest) == []
    async with ingest.db.unit_of_work() as uow:
        with pytest.raises(Conflict, match="in the meantime"):
            await held.confirm(uow, 1, finding.id)


async def test_files_that_are_there_again_end_the_question(ingest: Ingest, folder: Path) -> None:
    fill(folder / "disk", 15)
    for number in range(5):
        put(folder, f"stays{number}.jpg", jpeg(100 + number))
    await ingest.scan(folder)
    (folder / "disk").rename(folder.with_name("unplugged"))
    assert (await ingest.scan(folder)).held == 15
    folder.with_name("unplugged").rename(folder / "disk")

    back = await ingest.scan(folder)

    assert (back.unchanged, back.hashed, back.held) == (20, 0, 0)
    assert await held_batch(ingest) is None


async def test_much_that_moved_where_inodes_say_nothing_is_no_question_for_long(
    ingest: Ingest, folder: Path
) -> None:
    fill(folder / "before", 15)
    await ingest.scan(folder)
    shutil.copytree(folder / "before", folder / "after", copy_function=shutil.copyfile)
    shutil.rmtree(folder / "before")
    finding = await ingest.scan(folder)
    assert (finding.held, finding.duplicate, finding.decoded) == (15, 15, 0)

    async with ingest.db.unit_of_work() as uow:
        assert await services.close_batches(uow.sql) > 0
    (again,) = await ingest.rows("SELECT id FROM import_batch WHERE status = 'pending'")
    await ingest.walk(await ingest.claim_walk(again["id"]))  # type: ignore[arg-type]

    assert await held_batch(ingest) is None
    assert await missing(ingest) == []
    assert len(await ingest.rows("SELECT FROM asset_file")) == 15
    async with ingest.db.unit_of_work() as uow:
        await services.close_batches(uow.sql)
    assert await ingest.rows("SELECT FROM import_batch WHERE status = 'pending'") == []


async def test_other_disk_is_read_when_a_person_says_so(ingest: Ingest, folder: Path) -> None:
    fill(folder, 3)
    await ingest.scan(folder)
    shutil.rmtree(folder)
    put(folder, "other.jpg", jpeg(77))
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE root SET identity = 'ext4:1:2'")
        batch_id = await held.accept(uow, 1)

    await ingest.walk(await ingest.claim_walk(batch_id))
    await ingest.drain()

    batch = await ingest.view(batch_id)
    assert (batch.imported, batch.missing) == (1, 3)


async def test_a4_folder_whose_path_is_gone_is_taken_out_with_its_count(
    ingest: Ingest, folder: Path, tmp_path: Path
) -> None:
    fill(folder, 4)
    put(tmp_path / "elsewhere", "copy.jpg", jpeg(0))
    await ingest.scan(folder)
    await ingest.scan(tmp_path / "elsewhere")
    (folder / "p03.jpg").unlink()
    await ingest.scan(folder)
    shutil.rmtree(folder)

    async with ingest.db.unit_of_work() as uow:
        leaving = await retiring.preview(uow.sql, 1)
        assert (leaving.files, leaving.only_here, leaving.missing) == (3, 3, 1)
        assert leaving.pictures > 0
        await roots.retire(uow, 1)

    assert (await ingest.rows("SELECT status FROM root WHERE id = 1")) == [{"status": "retired"}]
    assert len(await ingest.rows("SELECT FROM asset")) == 4


async def test_other_disk_is_not_accepted_while_a_scan_knows_the_old_one(
    ingest: Ingest, folder: Path
) -> None:
    fill(folder, 1)
    await ingest.scan(folder)
    await ingest.claim_walk(await ingest.queue(folder))

    async with ingest.db.unit_of_work() as uow:
        with pytest.raises(Conflict, match="being scanned at the moment"):
            await held.accept(uow, 1)


async def test_who_knew_the_old_disk_does_not_set_the_accepted_one_aside(
    ingest: Ingest, folder: Path
) -> None:
    fill(folder, 1)
    await ingest.scan(folder)
    walking = await ingest.claim_walk(await ingest.queue(folder))
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE root SET identity = NULL")
        await scanning.mark_away(uow.sql, walking, OTHER)

    assert await ingest.rows("SELECT status FROM root") == [{"status": "ready"}]


async def test_first_scan_of_an_accepted_disk_believes_no_inode(ingest: Ingest, folder: Path) -> None:
    one, *_others = fill(folder, 3)
    await ingest.scan(folder)
    async with ingest.db.unit_of_work() as uow:
        batch_id = await held.accept(uow, 1)
    one.rename(folder / "other name.jpg")

    await ingest.walk(await ingest.claim_walk(batch_id))
    await ingest.drain()

    # By its number alone it would have been the same file; on another disk that may be any.
    batch = await ingest.view(batch_id)
    assert (batch.hashed, batch.decoded, batch.missing + batch.moved) == (1, 0, 1)
