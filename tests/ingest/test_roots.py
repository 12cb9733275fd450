"""Folders of the library: daily scans, taking out, coming back, and looks that never hang."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from appliance.core.errors import Conflict
from appliance.ingest import folders, looking, roots, services
from appliance.ingest.errors import NotAFolder
from tests.ingest.conftest import Ingest, tree
from tests.media_files import jpeg, put


BERLIN = ZoneInfo("Europe/Berlin")


def test_next_hour_is_by_the_wall_clock_also_when_clocks_change() -> None:
    evening = datetime(2026, 10, 24, 20, tzinfo=UTC)
    due = roots.next_at(3, evening, BERLIN)
    assert (due.astimezone(BERLIN).day, due.astimezone(BERLIN).hour) == (25, 3)
    assert roots.next_at(3, due, BERLIN) > due


@pytest.mark.parametrize("path", ["/proc", "/proc/self", "/sys", "/dev", "/run"])
def test_folders_of_the_running_system_are_no_library(path: str) -> None:
    with pytest.raises(NotAFolder, match="belongs to the running system"):
        folders.folder(path)


def test_no_name_is_no_folder() -> None:
    # An empty variable in a script must not read whatever folder it runs in.
    with pytest.raises(NotAFolder, match="No folder was named"):
        folders.folder("")


def test_link_into_the_running_system_is_no_way_around(tmp_path: Path) -> None:
    (tmp_path / "pictures").symlink_to("/proc/self")

    with pytest.raises(NotAFolder, match="belongs to the running system"):
        folders.folder(tmp_path / "pictures")


MOUNTS = rb"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:5 / /dev rw - devtmpfs udev rw
24 22 0:22 / /run rw - tmpfs tmpfs rw
25 24 8:17 / /run/media/anna/My\040disk rw - vfat /dev/sdb1 rw
26 24 0:40 / /run/host rw - btrfs /dev/sdc rw
27 22 0:41 / /mnt/jail/kernel rw - proc proc rw
28 22 0:42 / /mnt/nas rw - autofs systemd-1 rw
29 28 0:43 / /mnt/nas rw - nfs4 nas:/ rw
30 22 0:44 / /mnt/lazy rw - autofs systemd-1 rw
"""


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        (b"/home/anna", False),
        (b"/devices", False),
        (b"/dev/shm", True),
        (b"/run/user/1000", True),
        (b"/run/media/anna/My disk/DCIM", False),
        (b"/run/host/home/anna", False),
        (b"/mnt/jail/kernel/1", True),
        (b"/mnt/nas/pictures", False),
        (b"/mnt/lazy", False),
    ],
)
def test_file_system_counts_where_names_do_not(tmp_path: Path, path: bytes, *, refused: bool) -> None:
    table = put(tmp_path, "mountinfo", MOUNTS)

    assert folders.is_of_the_system(path, folders.mounts(table)) is refused


async def test_daily_scan_is_asked_for_once_however_late(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    await ingest.scan(folder)
    async with ingest.db.unit_of_work() as uow:
        await roots.schedule(uow, 1, 3, zone=BERLIN)
        assert await roots.queue_due(uow, zone=BERLIN) == 0
        # The machine slept for three nights.
        await uow.sql.execute("UPDATE root SET next_scan_at = now() - interval '3 days'")
    async with ingest.db.unit_of_work() as uow:
        assert await roots.queue_due(uow, zone=BERLIN) == 1
        assert await roots.queue_due(uow, zone=BERLIN) == 0
        assert await uow.sql.fetchval("SELECT next_scan_at > now() FROM root")
    assert len(await ingest.rows("SELECT id FROM import_batch WHERE status = 'pending'")) == 1


async def test_folder_that_is_taken_out_keeps_everything_and_comes_back(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    put(folder, "bad.jpg", jpeg(2)[:300])
    await ingest.scan(folder)
    before = tree(folder)
    waiting = await ingest.queue(folder)
    await ingest.walk(await ingest.claim_walk(waiting))

    async with ingest.db.unit_of_work() as uow:
        await roots.retire(uow, 1)
        assert [r.status for r in await roots.roots(uow.sql)] == ["retired"]
        assert await services.places(uow) == []
        assert (await services.view_batch(uow.sql, waiting)).finished
        assert await services.imports_idle(uow.sql)
    assert len(await ingest.rows("SELECT id FROM asset")) == 1
    assert await ingest.rows("SELECT id FROM root_entry WHERE outcome = 'failed'") == []
    assert tree(folder) == before

    async with ingest.db.unit_of_work() as uow:
        batch_id = await roots.bring_back(uow, 1, zone=BERLIN)
    await ingest.walk(await ingest.claim_walk(batch_id))
    await ingest.drain()
    batch = await ingest.view(batch_id)
    assert (batch.files, batch.unchanged, batch.failed) == (2, 1, 1)


async def test_retired_folder_does_not_come_back_inside_another(ingest: Ingest, folder: Path) -> None:
    (folder / "inner").mkdir()
    put(folder / "inner", "a.jpg", jpeg(1))
    await ingest.scan(folder / "inner")
    async with ingest.db.unit_of_work() as uow:
        await roots.retire(uow, 1)
        await services.add_root(uow, folders.folder(folder))
    async with ingest.db.unit_of_work() as uow:
        with pytest.raises(Conflict, match="cannot come back beside"):
            await roots.bring_back(uow, 1, zone=BERLIN)


async def test_adding_a_retired_folder_again_is_the_same_folder(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    await ingest.scan(folder)
    async with ingest.db.unit_of_work() as uow:
        await roots.retire(uow, 1)
    again = await ingest.scan(folder)
    assert (again.root_id, again.unchanged, again.hashed) == (1, 1, 0)


async def test_looks_answer_or_refuse_in_words(tmp_path: Path) -> None:
    put(tmp_path / "a", "one.jpg", bytes(1000))
    put(tmp_path / "a", "deep/two.jpg", bytes(2000))
    (tmp_path / "empty").mkdir()
    found = await looking.check(bytes(tmp_path / "a"))
    assert (found.folders, found.files) == (1, 1)
    measured = await looking.measure(bytes(tmp_path / "a"))
    assert (measured.files, measured.bytes, measured.complete) == (2, 3000, True)
    inside = await looking.inside(bytes(tmp_path))
    assert inside.folders == [b"a", b"empty"]
    assert inside.parent == bytes(tmp_path.parent)
    with pytest.raises(NotAFolder):
        await looking.check(bytes(tmp_path / "nowhere"))
    gone = await looking.away([bytes(tmp_path / "a"), bytes(tmp_path / "empty"), bytes(tmp_path / "nowhere")])
    assert set(gone) == {bytes(tmp_path / "empty"), bytes(tmp_path / "nowhere")}
