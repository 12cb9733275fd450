"""Hashing and searching by the real tasks: what is older than hashes is found, a little at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance.duplicates import backfilling, hashing
from appliance.media import phash
from queues import duplicates
from queues.drain import Runner
from tests.duplicates.conftest import Doubles, doubles, film, jpeg, library, scene
from tests.media_files import put
from tests.queues.test_integrity import Long, folder, ingest, long, plan


__all__ = ["doubles", "folder", "ingest", "library", "long"]


async def hash_all(long: Long) -> None:
    """One wake of the drain."""
    await Runner(long.process, duplicates.hash_pictures, duplicates.UNHASHED).wake()


async def forget_hashes(doubles: Doubles) -> None:
    """As a library stands that was imported before there were hashes."""
    await doubles.lib.execute("DELETE FROM phash")
    await doubles.lib.execute("DELETE FROM fingerprint")


async def hashes(doubles: Doubles) -> dict[int, int]:
    rows = await doubles.lib.rows("SELECT asset_id, hash FROM phash ORDER BY asset_id")
    return {row["asset_id"]: row["hash"] for row in rows}


async def test_pictures_from_before_there_were_hashes_get_theirs(
    long: Long, doubles: Doubles, folder: Path
) -> None:
    for seed in range(12):
        put(folder, f"{seed}.jpg", jpeg(scene(seed, (1600, 1200))))
    put(folder, "copy.jpg", jpeg(scene(3), 70))
    await doubles.imports.scan(folder)
    imported = await hashes(doubles)
    assert len(imported) == 13
    await forget_hashes(doubles)

    assert await long.run(duplicates.backfill_phash, by="anna") == {"assets": 13, "to_hash": 13}
    await hash_all(long)

    again = await hashes(doubles)
    assert again.keys() == imported.keys()
    # Read from the small pictures, whose loss hardly shows.
    assert all(phash.distance(again[i], imported[i]) <= 4 for i in imported)
    assert await long.run(duplicates.backfill_phash) == {"assets": 13, "to_hash": 0}
    assert await long.run(duplicates.find_duplicates) == {"compared": 13, "pairs": 1, "crowds": 0}
    assert await doubles.shown() == [await doubles.pair("3.jpg", "copy.jpg")]


async def test_turned_pictures_are_hashed_as_their_files_are(
    long: Long, doubles: Doubles, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder)
    before = await hashes(doubles)
    await doubles.lib.act("turn", await doubles.ids("a.jpg"), by="90")
    await forget_hashes(doubles)

    await long.run(duplicates.backfill_phash)
    await hash_all(long)

    assert await hashes(doubles) == before


async def test_films_are_hashed_by_their_frames_when_imports_rest(
    long: Long, doubles: Doubles, folder: Path
) -> None:
    put(folder, "a.mp4", film(range(10)))
    await doubles.imports.scan(folder)
    assert await doubles.lib.value("SELECT count(*) FROM phash") == 0

    await hash_all(long)

    rows = await doubles.lib.rows("SELECT at_ms FROM phash ORDER BY at_ms")
    assert len(rows) == hashing.FRAMES
    assert len({row["at_ms"] for row in rows}) == hashing.FRAMES
    assert await doubles.lib.value("SELECT status FROM fingerprint") == "complete"


async def test_a_picture_that_was_lost_is_hashed_from_its_original_and_one_without_file_fails(
    long: Long, doubles: Doubles, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    put(folder, "b.jpg", jpeg(scene(2)))
    await doubles.imports.scan(folder)
    before = await hashes(doubles)
    await forget_hashes(doubles)
    for path in doubles.imports.settings.home.renditions.rglob("*.webp"):
        path.unlink()
    (folder / "b.jpg").unlink()

    await long.run(duplicates.backfill_phash)
    await hash_all(long)

    a, b = await doubles.ids("a.jpg", "b.jpg")
    assert await hashes(doubles) == {a: before[a]}
    status = await doubles.lib.rows("SELECT status, reason FROM fingerprint WHERE asset_id = $1", b)
    assert [tuple(row) for row in status] == [("failed", "vanished")]
    # Gone today may be back tomorrow: the next pass asks again.
    assert (await long.run(duplicates.backfill_phash))["to_hash"] == 1


async def test_hashes_of_an_older_version_are_made_anew(long: Long, doubles: Doubles, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    put(folder, "b.jpg", jpeg(scene(2)))
    await doubles.imports.scan(folder)
    (a,) = await doubles.ids("a.jpg")
    await doubles.lib.execute("UPDATE fingerprint SET version = 0 WHERE asset_id = $1", a)
    await doubles.lib.execute("UPDATE phash SET hash = 0 WHERE asset_id = $1", a)

    assert (await long.run(duplicates.backfill_phash))["to_hash"] == 1
    await hash_all(long)

    assert (await hashes(doubles))[a] != 0
    assert await doubles.lib.value("SELECT min(version) FROM fingerprint") == phash.VERSION


async def test_a_pass_ends_after_its_share_and_the_next_goes_on_behind_it(
    long: Long, doubles: Doubles, monkeypatch: pytest.MonkeyPatch
) -> None:
    await doubles.lib.fill(2500)
    monkeypatch.setattr(backfilling, "MOST", 1500)

    assert await long.run(duplicates.backfill_phash) == {"assets": 2000, "to_hash": 2000}
    assert await long.run(duplicates.backfill_phash) == {"assets": 500, "to_hash": 500}
    assert await long.run(duplicates.backfill_phash) == {"assets": 2500, "to_hash": 0}


async def test_pages_and_volumes_are_not_asked_for(long: Long, doubles: Doubles) -> None:
    await doubles.lib.fill(3)
    await doubles.lib.execute("UPDATE asset SET state = 'inside' WHERE id = (SELECT min(id) FROM asset)")
    await doubles.lib.execute("UPDATE asset SET kind = 'volume' WHERE id = (SELECT max(id) FROM asset)")

    assert await long.run(duplicates.backfill_phash) == {"assets": 3, "to_hash": 1}


async def test_a_step_reads_its_own_assets_alone(long: Long, doubles: Doubles) -> None:
    await doubles.lib.fill(40_000)
    await doubles.lib.execute(
        "INSERT INTO fingerprint (asset_id, version, status) SELECT id, 1, 'complete' FROM asset"
    )
    for table in ("asset", "fingerprint"):
        await doubles.lib.execute(f"ANALYZE {table}")

    found = await plan(doubles.imports, backfilling._STEP, 20_000, 500, phash.VERSION, backfilling._OUTSIDE)

    assert "Seq Scan on asset " not in found
    assert "Seq Scan on fingerprint " not in found
