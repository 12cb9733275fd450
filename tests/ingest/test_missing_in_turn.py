"""Who takes a file from an asset and who brings one at the same moment agree on whether it is missing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from appliance.core.db import UnitOfWork
from tests.ingest.conftest import Ingest
from tests.media_files import jpeg, put
from tests.waiting import until


_GO = "DELETE FROM asset_file WHERE path = $1"
_COME = "INSERT INTO asset_file (asset_id, root_id, path, size, mtime_ns) VALUES ($1, NULL, $2, 1, 1)"
_PAGE = (
    "INSERT INTO volume_page (volume_id, position, name, hops, mime, asset_id)"
    " VALUES ($1, 1, 'p', '[]', 'image/jpeg', $2)"
)
_WAITING = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@pytest.fixture
async def assets(ingest: Ingest, folder: Path) -> list[int]:
    """Three assets with a file each, `0` to `2`."""
    for n in range(3):
        put(folder, str(n), jpeg(n))
    await ingest.scan(folder)
    rows = await ingest.rows("SELECT asset_id FROM root_entry ORDER BY path")
    return [r["asset_id"] for r in rows]  # type: ignore[misc]


async def missing(ingest: Ingest) -> list[Any]:
    return [r["id"] for r in await ingest.rows("SELECT id FROM asset WHERE missing_since IS NOT NULL")]


async def do(ingest: Ingest, sql: str, *args: object) -> None:
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute(sql, *args)


async def after(ingest: Ingest, first: UnitOfWork, sql: str, *args: object) -> None:
    """Do it at the same moment as what `first` has done and not committed."""
    later = asyncio.create_task(do(ingest, sql, *args))
    await until(lambda: ingest.rows(_WAITING), "the later one waits for its turn")
    await first.commit()
    await later


async def test_a_file_that_came_elsewhere_is_seen_by_who_takes_the_first_away(
    ingest: Ingest, assets: list[int]
) -> None:
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute(_COME, assets[0], b"new")
        await after(ingest, uow, _GO, b"0")
    assert await missing(ingest) == []


async def test_a_file_that_comes_elsewhere_sees_that_the_first_is_gone(
    ingest: Ingest, assets: list[int]
) -> None:
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute(_GO, b"0")
        await after(ingest, uow, _COME, assets[0], b"new")
    assert await missing(ingest) == []


async def test_the_last_two_files_that_go_at_once_leave_nothing(ingest: Ingest, assets: list[int]) -> None:
    await do(ingest, _COME, assets[0], b"new")
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute(_GO, b"0")
        await after(ingest, uow, _GO, b"new")
    assert await missing(ingest) == [assets[0]]


async def test_a_path_that_changes_hands_takes_its_turn(ingest: Ingest, assets: list[int]) -> None:
    changed = "UPDATE asset_file SET asset_id = $1 WHERE path = $2"
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute(_GO, b"1")
        await after(ingest, uow, changed, assets[1], b"0")
    assert await missing(ingest) == [assets[0]]


async def test_what_is_new_and_what_is_checked_wait_for_nobody(ingest: Ingest, assets: list[int]) -> None:
    new = (
        "WITH made AS (INSERT INTO asset (kind, sha256, size, mime, width, height, date_source, effective_at)"
        " VALUES ('still', sha256('new'::bytea), 1, 'image/jpeg', 1, 1, 'import', now()) RETURNING id)"
        " INSERT INTO asset_file (asset_id, root_id, path, size, mtime_ns)"
        " SELECT id, NULL, 'n', 1, 1 FROM made"
    )
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute(_GO, b"0")
        async with ingest.db.unit_of_work() as other:
            await other.sql.execute("SET LOCAL lock_timeout = '5s'")
            await other.sql.execute(new)
            await other.sql.execute("UPDATE asset_file SET verified_at = now() WHERE path = '1'")
    assert await missing(ingest) == [assets[0]]


async def test_a_page_lies_in_the_file_of_its_volume(ingest: Ingest, assets: list[int]) -> None:
    page, volume, _ = assets
    await do(ingest, _PAGE, volume, page)
    await do(ingest, _GO, b"0")
    assert await missing(ingest) == []

    await do(ingest, _GO, b"1")
    assert sorted(await missing(ingest)) == sorted([page, volume])

    await do(ingest, _COME, volume, b"back")
    assert await missing(ingest) == []


async def test_what_was_missing_is_found_as_a_page_of_a_volume(ingest: Ingest, assets: list[int]) -> None:
    page, volume, gone = assets
    for path in (b"0", b"2"):
        await do(ingest, _GO, path)
    await do(ingest, _PAGE, gone, page)
    assert sorted(await missing(ingest)) == sorted([page, gone])

    await do(ingest, _PAGE, volume, page)
    assert await missing(ingest) == [gone]


async def test_a_deletion_for_good_judges_nothing_that_goes_with_it(
    ingest: Ingest, assets: list[int]
) -> None:
    page, volume, _ = assets
    await do(ingest, _PAGE, volume, page)
    await do(ingest, _GO, b"0")
    await do(ingest, "DELETE FROM asset WHERE id = $1", volume)
    assert await missing(ingest) == [page]
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute(_GO, b"2")
        async with ingest.db.unit_of_work() as other:
            await other.sql.execute("SET LOCAL lock_timeout = '5s'")
            await other.sql.execute("DELETE FROM asset WHERE id = $1", page)
