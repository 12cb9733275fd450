"""Deleting for good takes our own files with it, and no file of anybody else."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from appliance.core import settings
from appliance.core.drains import Interrupted
from appliance.duplicates import services as duplicates
from appliance.ingest import claims
from appliance.ingest.importing import Import
from appliance.ingest.models import Mode
from appliance.library import sweeping
from appliance.operations import purging, services
from tests.ingest.conftest import Ingest, tree
from tests.media_files import jpeg, put
from tests.operations.conftest import Library


def ours(library: Library) -> list[Path]:
    home = settings.current().home
    return sorted(p for base in (home.originals, home.renditions) for p in base.rglob("*") if p.is_file())


async def all_ids(library: Library) -> list[int]:
    return [row["id"] for row in await library.rows("SELECT id FROM asset ORDER BY id")]


@pytest.fixture
async def three(ingest: Ingest, folder: Path) -> list[int]:
    for n in range(3):
        put(folder, f"{n}.jpg", jpeg(n))
    await ingest.scan(folder, Mode.COPY)
    return [int(str(row["id"])) for row in await ingest.rows("SELECT id FROM asset ORDER BY id")]


async def test_our_files_go_and_the_sources_stay(library: Library, three: list[int], folder: Path) -> None:
    before = tree(folder)
    kept = len(ours(library)) // 3
    await library.act("trash", three[:2])

    asked = await library.act("purge", three[:2])

    assert (asked.changed, asked.notes["files"]) == (2, 2 * kept)
    assert asked.notes["freed_bytes"] > 0
    assert len(ours(library)) == kept
    assert tree(folder) == before
    assert await all_ids(library) == three[2:]
    assert list(settings.current().home.tmp.iterdir()) == []


async def test_a_file_under_a_root_that_is_shown_in_place_is_never_touched(
    library: Library, ingest: Ingest, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(1))
    put(folder, "b.jpg", jpeg(1))
    await ingest.scan(folder)
    before = tree(folder)
    ids = await all_ids(library)
    await library.act("trash", ids)

    await library.act("purge", ids)

    assert tree(folder) == before
    assert ours(library) == []


@pytest.mark.parametrize("mode", [Mode.IN_PLACE, Mode.COPY])
async def test_what_was_deleted_for_good_does_not_come_in_again(
    library: Library, ingest: Ingest, folder: Path, mode: Mode
) -> None:
    put(folder, "a.jpg", jpeg(1))
    put(folder, "the same.jpg", jpeg(1))
    await ingest.scan(folder, mode)
    ids = await all_ids(library)
    await library.act("trash", ids)
    await library.act("purge", ids)

    again = await ingest.scan(folder, mode)

    assert await all_ids(library) == []
    assert (again.imported, again.failed, again.skipped) == (0, 0, 2)
    entries = await library.rows("SELECT DISTINCT outcome, reason FROM root_entry")
    assert [tuple(e) for e in entries] == [("skipped", "tombstoned")]


async def test_a_file_that_was_changed_after_the_deletion_is_new(
    library: Library, ingest: Ingest, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(1))
    await ingest.scan(folder)
    ids = await all_ids(library)
    await library.act("trash", ids)
    await library.act("purge", ids)

    put(folder, "a.jpg", jpeg(2))
    again = await ingest.scan(folder)

    assert again.imported == 1


async def test_a5_files_that_were_removed_by_hand_do_not_hold_the_rows(
    library: Library, three: list[int]
) -> None:
    await library.act("trash", three)
    for path in ours(library):
        path.unlink()

    asked = await library.act("purge", three)

    assert (asked.total, asked.changed, asked.notes["already_gone"]) == (3, 3, 3)
    assert await all_ids(library) == []
    assert await library.value("SELECT count(*) FROM asset_file") == 0


async def test_only_what_lies_in_the_trash_is_deleted(library: Library, three: list[int]) -> None:
    await library.act("trash", three[:1])
    asked = await library.act("purge", three)
    assert (asked.changed, asked.notes["not_in_trash"]) == (1, 2)
    assert await all_ids(library) == three[1:]


async def test_what_a_crash_left_after_the_commit_is_swept(library: Library, three: list[int]) -> None:
    await library.act("trash", three)
    async with library.db.unit_of_work() as uow:
        wish = await services.wish(uow, services.Kind.PURGE, {})
        await services.act(uow, services.Kind.PURGE, three, wish, person=None)
    # The process died here: the rows are gone, nothing was unlinked.
    home = settings.current().home
    left = ours(library)
    assert left

    async with library.db.unit_of_work() as uow:
        for base, unnamed in (
            (home.originals, sweeping.unnamed_originals),
            (home.renditions, sweeping.unnamed_renditions),
        ):
            paths = [os.fsencode(p.relative_to(base)) for p in base.rglob("*") if p.is_file()]
            assert sorted(await unnamed(uow.sql, paths)) == sorted(paths)


async def test_a_fresh_file_of_the_same_name_is_left_alone(
    library: Library, three: list[int], ingest: Ingest, folder: Path
) -> None:
    await library.act("trash", three)
    async with library.db.unit_of_work() as uow:
        asked = await services.act(uow, services.Kind.PURGE, three, {}, person=None)
    # Between the commit and the unlinking somebody wants the same bytes after all, from another folder.
    content = jpeg(1)
    async with library.db.unit_of_work() as uow:
        await duplicates.welcome(uow.sql, hashlib.sha256(content).digest(), len(content), person=None)
    other = folder.parent / "other"
    other.mkdir()
    put(other, "x.jpg", jpeg(1))
    await ingest.scan(other, Mode.COPY)
    fresh = await library.value("SELECT path FROM asset_file WHERE root_id IS NULL")

    purging.unlink(settings.current().home, asked.doomed)

    assert (settings.current().home.originals / os.fsdecode(fresh)).exists()
    assert len(ours(library)) == 3
    assert list(settings.current().home.tmp.iterdir()) == []


async def test_the_trash_is_emptied_of_what_lay_there_for_thirty_days(
    library: Library, three: list[int]
) -> None:
    await library.act("trash", three)
    await library.execute(
        "UPDATE asset SET trashed_at = now() - interval '31 days' WHERE id = ANY($1::bigint[])", three[:2]
    )
    async with library.db.unit_of_work() as uow:
        assert await services.expired(uow) == 2
        assert await services.expired(uow) == 0
    # Someone takes one out before the task comes to it.
    await library.act("restore", three[:1])
    operation = await library.value("SELECT id FROM operation WHERE kind = 'purge'")

    assert await library.carry_out(operation) == "done"

    assert await all_ids(library) == [three[0], three[2]]
    assert len(ours(library)) % 2 == 0


async def test_a_copy_that_comes_in_while_its_asset_is_deleted_is_tried_again(
    library: Library, ingest: Ingest, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(1))
    await ingest.scan(folder)
    ids = await all_ids(library)
    await library.act("trash", ids)
    put(folder, "b.jpg", jpeg(1))
    await ingest.walk(await ingest.claim_walk(await ingest.queue(folder)))
    async with library.db.unit_of_work() as uow:
        (claimed,) = await claims.claim(uow.sql, 1, 1)

    @asynccontextmanager
    async def lend() -> AsyncIterator[Any]:
        async with ingest.pool.child(fresh=False) as child:
            yield child
        # Known as a duplicate by now, and its row is not yet written.
        await library.act("purge", ids)

    with pytest.raises(Interrupted):
        await Import(ingest.settings, ingest.db, claimed).run(lend)

    await library.execute("UPDATE import_task SET status = 'pending', claim = NULL WHERE id = $1", claimed.id)
    # Deleted by then, it is kept out as every copy of it.
    assert await ingest.drain() == {"skipped": 1}
    entries = await library.rows("SELECT path, outcome, reason FROM root_entry ORDER BY path")
    assert [tuple(e) for e in entries] == [
        (b"a.jpg", "skipped", "tombstoned"),
        (b"b.jpg", "skipped", "tombstoned"),
    ]


async def test_a2_missing_asset_that_is_deleted_for_good_leaves_the_file_that_came_back(
    library: Library, ingest: Ingest, folder: Path
) -> None:
    one = put(folder, "a.jpg", jpeg(1))
    put(folder, "b.jpg", jpeg(2))
    await ingest.scan(folder)
    content = one.read_bytes()
    one.unlink()
    await ingest.scan(folder)
    (lost,) = [r["id"] for r in await library.rows("SELECT id FROM asset WHERE missing_since IS NOT NULL")]
    await library.act("trash", [lost])
    # It is there again, and nobody has looked.
    one.write_bytes(content)
    before = tree(folder)

    asked = await library.act("purge", [lost])

    assert asked.changed == 1
    assert tree(folder) == before
    assert lost not in await all_ids(library)


async def test_what_is_written_over_with_something_deleted_for_good_is_missing(
    library: Library, ingest: Ingest, folder: Path
) -> None:
    unwanted, wanted = put(folder, "a.jpg", jpeg(1)), put(folder, "b.jpg", jpeg(2))
    await ingest.scan(folder)
    first, second = await all_ids(library)
    if (await library.value("SELECT path FROM asset_file WHERE asset_id = $1", first)) != b"a.jpg":
        first, second = second, first
    await library.act("trash", [first])
    await library.act("purge", [first])

    wanted.write_bytes(unwanted.read_bytes())
    assert (await ingest.scan(folder)).skipped == 2

    assert await library.value("SELECT missing_since IS NOT NULL FROM asset WHERE id = $1", second)
