"""Checks and passes share their time, and what failed by the moment is tried again by night."""

from __future__ import annotations

from pathlib import Path

import pytest

from queues import integrity
from tests.ingest.conftest import Ingest, folder, ingest
from tests.library.books import unpack
from tests.media.zips import comic
from tests.media_files import put
from tests.queues.test_integrity import OLD, Long, drawn, long, old_pictures, rot


__all__ = ["folder", "ingest", "long"]


async def test_bytes_that_came_in_are_whole_whatever_the_decoders_of_today_call_them(
    long: Long, ingest: Ingest, folder: Path
) -> None:
    await old_pictures(ingest, folder, count=1)
    text = b"this was a picture to the decoders of then"
    path = put(folder, "0.jpg", text)
    await ingest.rows("UPDATE asset SET sha256 = sha256($1::bytea), size = $2", text, len(text))
    await ingest.rows("UPDATE asset_file SET size = $1, mtime_ns = $2", len(text), path.stat().st_mtime_ns)
    await long.night()
    assert await long.faults() == {b"0.jpg": "undecodable"}


async def test_known_faults_leave_time_for_what_nobody_has_looked_at(
    long: Long, ingest: Ingest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await old_pictures(ingest, folder)
    rot(folder / "0.jpg")
    await long.night()
    await ingest.rows(f"{OLD} WHERE path <> '0.jpg'")
    monkeypatch.setattr(integrity, "_SHARE_OF_FAULTS", 0.0)
    assert (await long.night())["checked"] == 2
    monkeypatch.undo()
    # Each once in a run.
    assert (await long.night())["checked"] == 1


async def test_volumes_and_pages_that_failed_by_the_moment_are_tried_again_by_night(
    long: Long, ingest: Ingest, folder: Path
) -> None:
    put(folder, "a.cbz", comic(2))
    await ingest.scan(folder)
    await ingest.rows("UPDATE volume SET status = 'failed', reason = 'unreadable', finished_at = now()")
    assert (await long.run(integrity.backfill_renditions))["volumes"] == 1
    assert await unpack(ingest) == ["complete"]

    await ingest.rows("UPDATE volume_page SET status = 'failed', reason = 'unwritable' WHERE position = 1")
    await ingest.rows("UPDATE volume_page SET status = 'failed', reason = 'corrupt' WHERE position = 2")
    assert (await long.run(integrity.backfill_renditions))["volumes"] == 1
    assert await unpack(ingest) == ["complete"]
    rows = await ingest.rows("SELECT status FROM volume_page ORDER BY position")
    assert [row["status"] for row in rows] == ["complete", "failed"]
    assert "volumes" not in await long.run(integrity.backfill_renditions)


async def test_pages_of_a_volume_that_is_missing_are_not_asked_for(
    long: Long, ingest: Ingest, folder: Path
) -> None:
    put(folder, "a.cbz", comic(2))
    put(folder, "b.cbz", comic(2, seed=2))
    await ingest.scan(folder)
    await unpack(ingest)
    await drawn(ingest)
    (folder / "a.cbz").unlink()
    await ingest.scan(folder)
    assert await ingest.rows("SELECT count(*) AS n FROM asset_file") == [{"n": 1}]
    for path in ingest.settings.home.renditions.rglob("grid-240.webp"):
        path.unlink()
    # The volume that is there, and its two pages.
    assert (await long.run(integrity.backfill_renditions))["to_draw"] == 3


async def test_a_picture_whose_place_cannot_be_looked_at_does_not_end_the_pass(
    long: Long, ingest: Ingest, folder: Path
) -> None:
    await old_pictures(ingest, folder, count=2)
    await drawn(ingest)
    (lost, *_) = sorted(ingest.settings.home.renditions.rglob("grid-240.webp"))
    for path in lost.parent.iterdir():
        path.unlink()
    lost.parent.rmdir()
    lost.parent.write_bytes(b"no folder")
    assert (await long.run(integrity.backfill_renditions)) == {"assets": 2, "to_draw": 3}
