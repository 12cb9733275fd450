"""Originals are checked again and missing pictures drawn again, by the real tasks over real files."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from appliance.core.settings import Settings
from appliance.ingest.models import Mode
from appliance.ingest.services import imports_idle
from appliance.library import backfilling, renditions, verifying
from queues import clock, decoders, integrity, runs
from queues.declare import Task, load
from queues.doorbell import Doorbell
from queues.process import Contact, Process
from queues.valkey import connect
from tests.ingest.conftest import Ingest, folder, ingest, tree
from tests.library.books import unpack
from tests.media.zips import comic
from tests.media_files import jpeg, put


__all__ = ["folder", "ingest"]

OLD = "UPDATE asset_file SET verified_at = now() - interval '40 days' - id * interval '1 second'"


class Long:
    """A worker of the long group, which runs one task to its end."""

    def __init__(self, ingest: Ingest, process: Process) -> None:
        self.ingest = ingest
        self.process = process

    async def run(self, task: Task, *, by: str | None = None) -> dict[str, int]:
        """Run a task as its schedule or a person would; what it counted."""
        async with self.ingest.db.unit_of_work() as uow:
            ring = await clock.queue(uow, task, asked_by=by, silence=60)
        assert isinstance(ring, clock.Ring)
        await runs.execute(self.process, task, ring.row)
        (row,) = await self.ingest.rows("SELECT status, counts, error FROM task_run ORDER BY id DESC LIMIT 1")
        assert (row["status"], row["error"]) == ("done", None)
        return dict(row["counts"])  # type: ignore[call-overload, no-any-return]

    async def night(self, *, by: str | None = None) -> dict[str, int]:
        """One run of the check."""
        return await self.run(integrity.verify_integrity, by=by)

    async def faults(self) -> dict[bytes, str]:
        """The list that people see."""
        async with self.ingest.db.unit_of_work() as uow:
            return {each.path: each.fault for each in await verifying.listed(uow.sql, 100)}


@pytest.fixture
async def long(ingest: Ingest, settings: Settings, redis_url: str) -> AsyncIterator[Long]:
    bell = Doorbell(connect(redis_url, blocking=False), "test", load())
    process = Process(settings, "long", bell.register, ingest.db, bell, Contact(30))
    await process.enrol()
    decoders.pool.cache_clear()
    yield Long(ingest, process)
    await decoders.pool().close()
    decoders.pool.cache_clear()
    await bell.close()


def rot(path: Path) -> None:
    """Other bytes under the same size and time, as a failing disk gives them."""
    seen, content = path.stat(), bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))


async def old_pictures(ingest: Ingest, folder: Path, count: int = 3, mode: Mode = Mode.IN_PLACE) -> None:
    for number in range(count):
        put(folder, f"{number}.jpg", jpeg(number))
    await ingest.scan(folder, mode)
    await ingest.rows(OLD)


async def test_a_file_whose_bytes_rot_is_listed_and_leaves_the_list_when_it_is_mended(
    long: Long, ingest: Ingest, folder: Path
) -> None:
    await old_pictures(ingest, folder)
    rot(folder / "1.jpg")
    before = tree(folder)

    assert await long.night() == {"checked": 3, "megabytes": 0, "altered": 1}
    assert await long.faults() == {b"1.jpg": "altered"}
    assert tree(folder) == before

    # Known faults are looked at every night, whatever else is due.
    assert (await long.night())["checked"] == 1
    seen = (folder / "1.jpg").stat()
    put(folder, "1.jpg", jpeg(1))
    os.utime(folder / "1.jpg", ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert (await long.night())["checked"] == 1
    assert await long.faults() == {}


async def test_files_of_ours_are_checked_as_well(long: Long, ingest: Ingest, folder: Path) -> None:
    await old_pictures(ingest, folder, mode=Mode.COPY)
    (stored, *_rest) = sorted(ingest.settings.home.originals.rglob("*.jpg"))
    rot(stored)
    # Nobody else writes there: also a new time is no excuse.
    os.utime(stored)

    assert (await long.night())["altered"] == 1
    assert list((await long.faults()).values()) == ["altered"]


async def test_what_somebody_wrote_is_no_fault(long: Long, ingest: Ingest, folder: Path) -> None:
    await old_pictures(ingest, folder)
    put(folder, "0.jpg", jpeg(77))
    os.utime(folder / "0.jpg")

    assert await long.night() == {"checked": 3, "megabytes": 0}


async def test_missing_and_undecodable_files_are_listed_each_with_its_class(
    long: Long, ingest: Ingest, folder: Path
) -> None:
    await old_pictures(ingest, folder)
    (folder / "0.jpg").unlink()
    (folder / "1.jpg").unlink()
    (folder / "1.jpg").symlink_to("2.jpg")
    half = jpeg(2)[:400]
    put(folder, "2.jpg", half)
    # The bytes that came in, as a decoder of today sees them that is stricter than the one of then.
    await ingest.rows(
        "UPDATE asset SET sha256 = sha256($1::bytea), size = 400 WHERE id ="
        " (SELECT asset_id FROM asset_file WHERE path = '2.jpg')",
        half,
    )
    await ingest.rows(
        "UPDATE asset_file SET size = 400, mtime_ns = $1 WHERE path = '2.jpg'",
        (folder / "2.jpg").stat().st_mtime_ns,
    )

    await long.night()
    assert await long.faults() == {b"0.jpg": "missing", b"1.jpg": "missing", b"2.jpg": "undecodable"}
    (shown,) = [each for each in await _listed(ingest) if each.fault == "undecodable"]
    assert "truncated" in str(shown.detail)


async def _listed(ingest: Ingest) -> list[verifying.Faulty]:
    async with ingest.db.unit_of_work() as uow:
        return await verifying.listed(uow.sql, 10)


async def test_a_root_that_goes_away_blames_none_of_its_files(
    long: Long, ingest: Ingest, folder: Path, tmp_path: Path
) -> None:
    await old_pictures(ingest, folder)
    folder.rename(tmp_path / "elsewhere")

    assert await long.night() == {"roots_away": 1}
    assert await long.faults() == {}
    assert await long.night() == {}
    # Nothing of it counts as checked: it goes on where it stood when the root is back.
    (tmp_path / "elsewhere").rename(folder)
    await ingest.rows("UPDATE root SET status = 'ready'")
    assert (await long.night())["checked"] == 3


async def test_a_pass_goes_on_behind_what_was_checked(long: Long, ingest: Ingest, folder: Path) -> None:
    await old_pictures(ingest, folder)
    async with ingest.db.unit_of_work() as uow:
        before = await verifying.moment(uow.sql, integrity._REST)
        (first, _, _) = await verifying.due(uow.sql, ingest.settings.home, before=before, without=[], limit=9)
        await verifying.note(uow.sql, first, verifying.Found())
    # That is all that a killed run leaves behind.
    assert (await long.night())["checked"] == 2
    assert await long.night() == {}


async def test_a_night_without_minutes_checks_nothing_but_a_person_may_ask(
    long: Long, ingest: Ingest, folder: Path
) -> None:
    await old_pictures(ingest, folder)
    long.process.settings = ingest.settings.with_(verify_minutes=0)
    assert await long.night() == {}
    assert (await long.night(by="anna"))["checked"] == 3
    # What was checked a moment ago is checked again when a person asks.
    assert (await long.night(by="anna"))["checked"] == 3


async def plan(ingest: Ingest, statement: str, *args: object) -> str:
    rows = await ingest.rows(f"EXPLAIN (ANALYZE, BUFFERS) {statement}", *args)
    return "\n".join(str(r["QUERY PLAN"]) for r in rows)


async def many(ingest: Ingest, count: int = 20_000) -> None:
    """Assets with a file each; those of the second root, which is away, were checked longest ago."""
    for statement in (
        (
            "INSERT INTO root (path, mode, status) VALUES ('/a', 'in_place', 'ready'),"
            " ('/b', 'in_place', 'unavailable')"
        ),
        (
            "INSERT INTO asset (kind, sha256, size, mime, width, height, date_source, effective_at)"
            " SELECT 'still', sha256(n::text::bytea), n, 'image/jpeg', 1, 1, 'mtime', now()"
            f" FROM generate_series(1, {count}) n"
        ),
        (
            "INSERT INTO asset_file (asset_id, root_id, path, size, mtime_ns, verified_at)"
            " SELECT id, CASE WHEN id % 2 = 0 THEN r.away ELSE r.here END, id::text::bytea, size, 1,"
            " now() - interval '40 days' - (id % 2 = 0)::int * interval '90 days'"
            " FROM asset, (SELECT min(id) AS here, max(id) AS away FROM root) r"
        ),
        (
            "INSERT INTO rendition (asset_id, name, status, bytes) SELECT id, name, 'complete', 9 FROM asset,"
            " unnest(ARRAY['grid-240', 'grid-480', 'preview']) name"
        ),
    ):
        await ingest.rows(statement)
    async with ingest.db.engine.connect() as connection:
        raw: Any = (await connection.get_raw_connection()).driver_connection
        await raw.execute("ANALYZE asset, asset_file, rendition, root")


def buffers(found: str) -> int:
    """Pages that the whole statement touched."""
    words = next(line for line in found.splitlines() if "Buffers:" in line).split()
    return sum(int(word.partition("=")[2]) for word in words if word.startswith(("hit=", "read=")))


async def test_the_next_files_cost_the_same_however_many_wait_in_a_root_that_is_away(ingest: Ingest) -> None:
    await many(ingest)
    async with ingest.db.unit_of_work() as uow:
        before = await verifying.moment(uow.sql, integrity._REST)
    found = await plan(ingest, verifying._DUE, b"/originals", [], before, 50)
    assert "Seq Scan on asset_file" not in found
    assert "Seq Scan on asset " not in found
    assert buffers(found) < 600, found


async def test_a_step_of_the_pass_over_pictures_reads_its_own_assets_alone(ingest: Ingest) -> None:
    await many(ingest)
    middle = (await ingest.rows("SELECT min(id) + 10000 AS id FROM asset"))[0]["id"]
    found = await plan(ingest, backfilling._CHUNK, middle, 100, list(backfilling.EVERY))
    for table in ("asset", "asset_file", "rendition"):
        assert f"Seq Scan on {table} " not in found, found
    assert buffers(found) < 3000, found


async def drawn(ingest: Ingest) -> None:
    """Draw whatever waits."""
    claim = renditions.claim_when(imports_idle)
    while True:
        async with ingest.db.unit_of_work() as uow:
            taken = await claim(uow.sql, 1, 50)
        if not taken:
            return
        for claimed in taken:
            async with ingest.pool.child() as child:
                await renditions.render(ingest.settings, ingest.db, claimed, child)


def pictures_of(ingest: Ingest) -> dict[str, int]:
    base = ingest.settings.home.renditions
    return {str(p.relative_to(base)): p.stat().st_size for p in base.rglob("*.webp")}


async def test_lost_empty_and_unwritten_pictures_are_drawn_again(
    long: Long, ingest: Ingest, folder: Path
) -> None:
    await old_pictures(ingest, folder, count=4)
    await drawn(ingest)
    whole = pictures_of(ingest)
    assert len(whole) == 12
    lost, empty, *_ = sorted(ingest.settings.home.renditions.rglob("grid-480.webp"))
    lost.unlink()
    empty.write_bytes(b"")
    await ingest.rows("DELETE FROM rendition WHERE name = 'grid-240' AND asset_id % 4 = 0")
    await ingest.rows(
        "UPDATE rendition SET status = 'failed', reason = CASE asset_id % 2 WHEN 0 THEN 'no_space'"
        " ELSE 'corrupt' END WHERE name = 'preview' AND asset_id IN"
        " (SELECT id FROM asset ORDER BY id LIMIT 2)"
    )
    for path in ingest.settings.home.renditions.rglob("preview.webp"):
        path.unlink()

    counted = await long.run(integrity.backfill_renditions, by="anna")
    # Two grid pictures without their file, one without its row, one preview that failed for want of disk,
    # two whose files are lost; the one whose original is corrupt stays as it is.
    assert counted == {"assets": 4, "to_draw": 6}
    await drawn(ingest)
    assert pictures_of(ingest).items() < whole.items()
    assert len(pictures_of(ingest)) == 11
    assert await long.run(integrity.backfill_renditions) == {"assets": 4, "to_draw": 0}


async def test_what_cannot_be_drawn_now_is_left_alone(long: Long, ingest: Ingest, folder: Path) -> None:
    await old_pictures(ingest, folder)
    await ingest.rows("UPDATE rendition SET status = 'failed', reason = 'vanished'")
    await ingest.rows("UPDATE root SET status = 'unavailable'")
    assert (await long.run(integrity.backfill_renditions))["to_draw"] == 0
    await ingest.rows("UPDATE root SET status = 'ready'")
    assert (await long.run(integrity.backfill_renditions))["to_draw"] == 9


async def test_lost_pictures_of_pages_are_drawn_again_from_their_volume(
    long: Long, ingest: Ingest, folder: Path
) -> None:
    put(folder, "comic.cbz", comic(3))
    os.utime(folder / "comic.cbz", (1_600_000_000, 1_600_000_000))
    await ingest.scan(folder)
    assert await unpack(ingest) == ["complete"]
    await drawn(ingest)
    whole = pictures_of(ingest)
    assert await ingest.rows("SELECT FROM asset WHERE state = 'inside'")
    assert (await long.run(integrity.backfill_renditions))["to_draw"] == 0
    for path in ingest.settings.home.renditions.rglob("*.webp"):
        path.unlink()

    await ingest.rows("UPDATE root SET status = 'unavailable'")
    assert (await long.run(integrity.backfill_renditions))["to_draw"] == 0
    await ingest.rows("UPDATE root SET status = 'ready'")
    assert (await long.run(integrity.backfill_renditions))["to_draw"] == len(whole)
    await drawn(ingest)
    assert pictures_of(ingest) == whole
    await ingest.rows(OLD)
    assert await long.night() == {"checked": 1, "megabytes": 0}


async def test_a_pass_over_pictures_goes_on_where_it_was_cut_off(
    long: Long, ingest: Ingest, folder: Path
) -> None:
    await old_pictures(ingest, folder)
    (first, *_) = await ingest.rows("SELECT id FROM asset ORDER BY id")
    async with ingest.db.unit_of_work() as uow:
        assert await backfilling.begin(uow.sql) == 0
        await backfilling.move_on(uow.sql, int(str(first["id"])))
    assert (await long.run(integrity.backfill_renditions))["assets"] == 2
    assert (await long.run(integrity.backfill_renditions))["assets"] == 3
