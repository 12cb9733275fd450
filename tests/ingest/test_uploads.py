"""Sent files become assets like any other, and the uploads folder keeps nothing that nobody wants."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from appliance.core import clock
from appliance.core.clock import Clock
from appliance.core.paths import Home
from appliance.core.settings import Settings
from appliance.ingest import parts, results, services, sweeps, uploads
from appliance.ingest.keeping import Keeping
from appliance.ingest.parts import Busy, NoPart, Part
from appliance.ingest.uploads import Sending
from appliance.library import files
from appliance.web.media import open_recorded
from tests.ingest.conftest import Ingest
from tests.media_files import jpeg


async def announced(ingest: Ingest, name: str, size: int, *, modified_ms: int | None = None) -> Sending:
    home = ingest.settings.home
    async with ingest.db.unit_of_work() as uow:
        batch_id = await uploads.session_of(uow, home, user_id=1, title="Sent by tests")
        return await uploads.begin(uow, batch_id, name=name, size=size, user_id=1, modified_ms=modified_ms)


async def send(ingest: Ingest, name: str, body: bytes, *, modified_ms: int | None = None) -> Sending:
    sending = await announced(ingest, name, len(body), modified_ms=modified_ms)
    part = Part.made(ingest.settings.home, sending.token)
    part.append(body)
    part.close()
    assert await sweeps.finish_if_whole(ingest.settings.home, sending)
    return sending


def lying(settings: Settings) -> list[str]:
    """Files that are in the uploads folder."""
    base = settings.home.uploads
    return sorted(p.name for p in base.rglob("*") if p.is_file())


async def result(ingest: Ingest, sending: Sending) -> results.Result:
    async with ingest.db.unit_of_work() as uow:
        (found,) = await results.of(uow.sql, [sending.token])
        return found


async def test_sent_file_becomes_an_asset_among_our_originals(ingest: Ingest) -> None:
    body = jpeg(1)
    sending = await send(ingest, "holiday/IMG_20190704_101112.jpg", body)

    assert await ingest.drain() == {"imported": 1}

    (row,) = await ingest.rows(
        "SELECT a.date_source, a.effective_at, f.root_id, f.path, p.how, p.root_id AS from_root,"
        " p.path AS named, p.batch_id FROM asset a JOIN asset_file f ON f.asset_id = a.id"
        " JOIN provenance p ON p.asset_id = a.id"
    )
    assert (row["how"], row["from_root"], row["root_id"]) == ("upload", None, None)
    assert row["named"] == b"holiday/IMG_20190704_101112.jpg"
    assert (row["date_source"], row["effective_at"]) == ("name", datetime(2019, 7, 4, 10, 11, 12))  # noqa: DTZ001
    assert (ingest.settings.home.originals / os.fsdecode(row["path"])).read_bytes() == body  # type: ignore[arg-type]
    assert lying(ingest.settings) == []
    found = await result(ingest, sending)
    assert (found.outcome, found.settled, found.pictured) == ("imported", True, True)
    async with ingest.db.unit_of_work() as uow:
        original = await files.original(uow.sql, ingest.settings.home, found.asset_id or 0)
    os.close(open_recorded(original))
    assert list(ingest.settings.home.tmp.iterdir()) == []


async def test_sent_file_is_not_copied_when_a_second_name_does(ingest: Ingest) -> None:
    sending = await send(ingest, "a.jpg", jpeg(1))
    inode = (ingest.settings.home.uploads / sending.entry_path).stat().st_ino

    await ingest.drain()

    (stored,) = [p for p in ingest.settings.home.originals.rglob("*") if p.is_file()]
    assert stored.stat().st_ino == inode


async def test_sent_file_is_copied_where_names_cannot_be_added(
    ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_paths: object) -> None:
        raise OSError(1, "not permitted")

    monkeypatch.setattr(os, "link", refused)
    sending = await send(ingest, "a.jpg", jpeg(1))

    assert await ingest.drain() == {"imported": 1}

    assert lying(ingest.settings) == []
    assert (await result(ingest, sending)).outcome == "imported"


async def test_same_bytes_again_name_the_asset_that_is_there(ingest: Ingest) -> None:
    first = await send(ingest, "a.jpg", jpeg(1))
    await ingest.drain()
    second = await send(ingest, "other name.jpg", jpeg(1))

    assert await ingest.drain() == {"duplicate": 1}

    here, again = await result(ingest, first), await result(ingest, second)
    assert again.outcome == "duplicate"
    assert again.asset_id == here.asset_id
    assert lying(ingest.settings) == []
    named = await ingest.rows("SELECT path FROM provenance ORDER BY id")
    assert [r["path"] for r in named] == [b"a.jpg", b"other name.jpg"]


async def test_senders_clock_dates_a_file_and_the_arrival_does_not(ingest: Ingest) -> None:
    await send(ingest, "a.jpg", jpeg(1), modified_ms=1_500_000_000_000)
    await send(ingest, "b.jpg", jpeg(2))

    await ingest.drain()

    found = await ingest.rows("SELECT date_source, effective_at FROM asset ORDER BY effective_at")
    assert [r["date_source"] for r in found] == ["mtime", "import"]
    assert found[0]["effective_at"].year == 2017  # type: ignore[attr-defined]


async def test_empty_file_fails_and_stays_for_another_try(ingest: Ingest) -> None:
    sending = await send(ingest, "nothing.jpg", b"")

    assert await ingest.drain() == {"failed": 1}

    found = await result(ingest, sending)
    assert (found.outcome, found.reason) == ("failed", "empty")
    assert "copy it again" in found.plain
    assert lying(ingest.settings) == ["nothing.jpg"]


async def test_what_is_no_picture_is_passed_over_and_not_kept(ingest: Ingest) -> None:
    sending = await send(ingest, "notes.txt", b"milk, bread")

    assert await ingest.drain() == {"skipped": 1}

    assert (await result(ingest, sending)).outcome == "skipped"
    assert lying(ingest.settings) == []


async def test_uploads_folder_is_no_folder_for_people(ingest: Ingest, tmp_path: Path) -> None:
    await send(ingest, "a.jpg", jpeg(1))

    async with ingest.db.unit_of_work() as uow:
        assert await services.places(uow) == []
        place = await services.add_root(uow, bytes(tmp_path))
    assert place.new


async def test_moved_data_directory_takes_its_uploads_along(ingest: Ingest, tmp_path: Path) -> None:
    await send(ingest, "a.jpg", jpeg(1))
    moved = Home(tmp_path / "elsewhere")
    moved.data.mkdir()

    async with ingest.db.unit_of_work() as uow:
        await uploads.open_batch(uow, moved, "x")

    assert await ingest.rows("SELECT path FROM root") == [{"path": bytes(moved.uploads)}]


async def test_file_is_handed_over_once_whenever_the_last_step_was_cut_off(ingest: Ingest) -> None:
    home, body = ingest.settings.home, jpeg(1)
    whole = await announced(ingest, "a.jpg", len(body))
    renamed = await announced(ingest, "b.jpg", len(body))
    half = await announced(ingest, "c.jpg", len(body))
    for sending, content in ((whole, body), (renamed, jpeg(2)[: len(body)]), (half, body[:5])):
        part = Part.made(home, sending.token)
        part.append(content.ljust(len(content), b"x"))
        if sending is renamed:
            part.place(home.uploads / renamed.entry_path)
        part.close()
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE upload SET touched_at = now() - interval '2 minutes'")

    assert await sweeps.hand_over_arrived(home) == 2
    assert await sweeps.hand_over_arrived(home) == 0

    found = await ingest.rows("SELECT status, entry_id IS NOT NULL AS entry FROM upload ORDER BY id")
    assert found == [
        {"status": "received", "entry": True},
        {"status": "received", "entry": True},
        {"status": "receiving", "entry": False},
    ]
    assert len(await ingest.rows("SELECT 1 FROM import_task")) == 2


async def test_two_hands_complete_a_file_once(ingest: Ingest) -> None:
    body = jpeg(1)
    sending = await announced(ingest, "a.jpg", len(body))
    part = Part.made(ingest.settings.home, sending.token)
    part.append(body)
    stat = part.place(ingest.settings.home.uploads / sending.entry_path)
    part.close()

    async def once() -> bool:
        async with ingest.db.unit_of_work() as uow:
            return await uploads.complete(uow, sending, stat)

    assert sorted(await asyncio.gather(once(), once(), once())) == [False, False, True]
    assert await ingest.rows("SELECT files FROM import_batch") == [{"files": 1}]


async def test_silent_sessions_end_and_patient_ones_wait(ingest: Ingest) -> None:
    await send(ingest, "a.jpg", jpeg(1))
    await ingest.drain()

    async def age(minutes: int) -> int:
        async with ingest.db.unit_of_work() as uow:
            by = timedelta(minutes=minutes)
            await uow.sql.execute("UPDATE import_batch SET queued_at = now() - $1::interval", by)
            await uow.sql.execute("UPDATE upload SET touched_at = now() - $1::interval", by)
            return await uploads.seal_silent(uow.sql)

    assert await age(4) == 0
    waiting = await announced(ingest, "b.jpg", 10)
    assert await age(59) == 0
    async with ingest.db.unit_of_work() as uow:
        await uploads.cancel(uow.sql, waiting)
    assert await age(6) == 1
    async with ingest.db.unit_of_work() as uow:
        await services.close_batches(uow.sql)
    assert await ingest.rows("SELECT status FROM import_batch") == [{"status": "done"}]


async def test_abandoned_and_ignored_files_are_dropped(ingest: Ingest) -> None:
    home = ingest.settings.home
    lost = await announced(ingest, "lost.jpg", 10)
    Part.made(home, lost.token).close()
    kept = await announced(ingest, "kept.jpg", 10)
    Part.made(home, kept.token).close()
    broken = await send(ingest, "broken.jpg", jpeg(1)[:200])
    await ingest.drain()
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute(
            "UPDATE upload SET touched_at = now() - interval '25 hours' WHERE id = $1", lost.id
        )
        await uow.sql.execute("UPDATE root_entry SET ignored = true WHERE reason = 'truncated'")

    assert await sweeps.drop_abandoned(home) == 1
    assert await sweeps.drop_ignored(home) == 1

    assert lying(ingest.settings) == [f"{kept.token}.part"]
    assert (await result(ingest, lost)).status == "abandoned"
    assert (await result(ingest, broken)).outcome is None


async def test_file_that_a_dying_worker_left_behind_goes_and_a_failed_one_stays(
    ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Keeping, "release_source", _dies)
    await send(ingest, "whole.jpg", jpeg(1))
    await send(ingest, "broken.jpg", jpeg(2)[:200])
    await ingest.drain()
    waiting = await send(ingest, "waiting.jpg", jpeg(3))
    home = ingest.settings.home
    assert lying(ingest.settings) == ["broken.jpg", "waiting.jpg", "whole.jpg"]
    old = (datetime.now(UTC) - timedelta(hours=2)).timestamp()
    for folder in home.uploads.iterdir():
        os.utime(folder, (old, old))

    async with ingest.db.unit_of_work() as uow:
        assert await sweeps.drop_left_behind(uow.sql, home) == 1

    assert lying(ingest.settings) == ["broken.jpg", "waiting.jpg"]
    assert (await result(ingest, waiting)).outcome == "pending"


async def _dies(*_arguments: object) -> None:
    """The worker is gone before its last step."""


async def test_part_files_without_a_row_and_empty_folders_go_when_they_are_old(ingest: Ingest) -> None:
    home = ingest.settings.home
    known = await announced(ingest, "a.jpg", 10)
    for token in (known.token, uploads.new_token(), uploads.new_token()):
        Part.made(home, token).close()
    (home.uploads / "empty").mkdir()
    old = (datetime.now(UTC) - timedelta(hours=25)).timestamp()
    strays = sorted(home.uploads.glob("*.part"))
    young = next(p for p in strays if p.stem != known.token)
    for path in (*strays, home.uploads / "empty"):
        if path != young:
            os.utime(path, (old, old))

    async with ingest.db.unit_of_work() as uow:
        assert await sweeps.drop_strays(uow.sql, home) == 1

    assert sorted(p.name for p in home.uploads.iterdir()) == sorted([f"{known.token}.part", young.name])


async def test_folder_that_hung_is_opened_again_without_a_scan(ingest: Ingest) -> None:
    await send(ingest, "a.jpg", jpeg(1))
    async with ingest.db.unit_of_work() as uow:
        root_id = await uow.sql.fetchval("SELECT id FROM root")
        await services.mark_unavailable(uow.sql, root_id, "hung")
    assert await ingest.drain() == {}

    async with ingest.db.unit_of_work() as uow:
        await uploads.find_again(uow.sql)

    assert await ingest.drain() == {"imported": 1}


def test_part_is_in_one_hand_at_a_time(settings: Settings) -> None:
    token = uploads.new_token()
    part = Part.made(settings.home, token)
    with pytest.raises(Busy):
        Part.opened(settings.home, token)
    part.append(b"abc")
    part.close()

    again = Part.opened(settings.home, token)

    assert again.size == 3
    again.place(settings.home.uploads / "x" / "y.jpg")
    again.close()
    with pytest.raises(NoPart):
        Part.opened(settings.home, token)
    with pytest.raises(NoPart):
        parts.path_of(settings.home, "../../etc/passwd")


class LaterBoot(Clock):
    """The machine was started after everything that is on its disk was written."""

    def boottime(self) -> float:
        return -3600.0


def test_after_a_power_cut_only_synced_bytes_count(settings: Settings) -> None:
    token = uploads.new_token()
    part = Part.made(settings.home, token)
    part.append(b"x" * 1000)
    part.trust(400)
    assert part.size == 1000, "the program was killed, the machine went on"

    restore = clock.use(LaterBoot())
    try:
        part.trust(400)
    finally:
        restore()

    assert part.size == 400
    part.close()


def test_piece_that_a_full_disk_refused_is_not_half_there(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = Part.made(settings.home, uploads.new_token())
    part.append(b"first")
    real = os.pwrite

    def short(descriptor: int, data: bytes, at: int) -> int:
        if at > 8:
            raise OSError(28, "No space left on device")
        return real(descriptor, bytes(data)[:4], at)

    monkeypatch.setattr(os, "pwrite", short)
    with pytest.raises(parts.DiskFull):
        part.append(b"second piece")

    assert part.size == 5
    assert part.path.read_bytes() == b"first"
    part.close()
