"""Files that go, come back, move and swap: nothing is lost, nothing is done twice."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from appliance.ingest import changes, recording, scanning, vanished
from appliance.ingest.walking import inside
from tests.ingest.conftest import Ingest
from tests.media_files import jpeg, picture, put


OLD = 1_600_000_000
_STATE = """
SELECT (SELECT jsonb_agg(to_jsonb(a) ORDER BY a.id) FROM asset a)::text AS assets,
       (SELECT jsonb_agg(to_jsonb(f) ORDER BY f.id) FROM asset_file f)::text AS files,
       (SELECT jsonb_agg(to_jsonb(r) ORDER BY r.id) FROM rendition r)::text AS renditions,
       (SELECT jsonb_agg(to_jsonb(e) - 'seen_batch' ORDER BY e.id) FROM root_entry e)::text AS entries
"""


def fill(folder: Path, count: int) -> list[Path]:
    """Pictures with a time of their own."""
    return [put(folder, f"p{n:02d}.jpg", jpeg(n)) for n in range(count)]


async def state(ingest: Ingest) -> dict[str, Any]:
    return (await ingest.rows(_STATE))[0]


async def places(ingest: Ingest) -> dict[bytes, int]:
    """Which asset lies where."""
    return {r["path"]: r["asset_id"] for r in await ingest.rows("SELECT path, asset_id FROM asset_file")}  # type: ignore[misc]


async def missing(ingest: Ingest) -> list[Any]:
    rows = await ingest.rows("SELECT id FROM asset WHERE missing_since IS NOT NULL ORDER BY id")
    return [r["id"] for r in rows]


async def test_a1_root_that_is_away_changes_nothing_and_its_return_costs_nothing(
    ingest: Ingest, folder: Path
) -> None:
    fill(folder, 20)
    await ingest.scan(folder)
    before = await state(ingest)
    aside = folder.with_name("unplugged")

    batch_id = await ingest.queue(folder)
    folder.rename(aside)
    with pytest.raises(scanning.RootUnavailable):
        await ingest.walk(await ingest.claim_walk(batch_id))
    folder.mkdir()
    with pytest.raises(scanning.RootUnavailable, match="as if its disk were not connected"):
        await ingest.walk(await ingest.claim_walk(batch_id))
    assert await state(ingest) == before

    folder.rmdir()
    aside.rename(folder)
    again = await ingest.scan(folder)
    assert (again.unchanged, again.missing, again.hashed, again.decoded) == (20, 0, 0, 0)
    assert await state(ingest) == before


async def test_a1_folder_that_nobody_may_read_is_away(ingest: Ingest, folder: Path) -> None:
    fill(folder, 3)
    await ingest.scan(folder)
    before = await state(ingest)
    walking = await ingest.claim_walk(await ingest.queue(folder))
    folder.chmod(0)
    try:
        with as_nobody(), pytest.raises(scanning.RootUnavailable, match="Permission denied"):
            await ingest.walk(walking)
    finally:
        folder.chmod(0o755)

    assert await state(ingest) == before


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Root may read everything; for a moment the tests are somebody else."""
    mine = os.geteuid()
    if mine == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(mine)


async def test_another_disk_in_its_place_changes_nothing(ingest: Ingest, folder: Path) -> None:
    fill(folder, 4)
    await ingest.scan(folder)
    before = await state(ingest)
    shutil.rmtree(folder)
    put(folder, "of somebody else.jpg", jpeg(99))
    await _remembered(ingest, "ext4:1:2")

    with pytest.raises(scanning.RootUnavailable, match="another disk"):
        await ingest.walk(await ingest.claim_walk(await ingest.queue(folder)))

    assert await state(ingest) == before


async def test_same_library_on_a_new_disk_is_taken_as_it_is(ingest: Ingest, folder: Path) -> None:
    fill(folder, 4)
    await ingest.scan(folder)
    await _remembered(ingest, "ext4:1:2")

    again = await ingest.scan(folder)

    assert (again.unchanged, again.hashed) == (4, 0)
    assert (await ingest.rows("SELECT identity FROM root"))[0]["identity"] != "ext4:1:2"


async def _remembered(ingest: Ingest, known_as: str) -> None:
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE root SET identity = $1", known_as)


async def test_a2_missing_file_keeps_everything_and_returns_as_itself(ingest: Ingest, folder: Path) -> None:
    one, *_others = fill(folder, 20)
    await ingest.scan(folder)
    before = await state(ingest)
    content, times = one.read_bytes(), os.stat(one)
    one.unlink()

    gone = await ingest.scan(folder)

    assert (gone.files, gone.missing) == (19, 1)
    lost = await missing(ingest)
    assert len(lost) == 1
    assert (await state(ingest))["renditions"] == before["renditions"]

    one.write_bytes(content)
    os.utime(one, ns=(times.st_atime_ns, times.st_mtime_ns))
    back = await ingest.scan(folder)

    assert (back.files, back.unchanged, back.returned, back.hashed, back.decoded) == (20, 19, 1, 0, 0)
    assert await missing(ingest) == []
    assert (await places(ingest))[b"p00.jpg"] == lost[0]


async def test_missing_file_is_known_again_by_its_content_anywhere(
    ingest: Ingest, folder: Path, tmp_path: Path
) -> None:
    one, *_others = fill(folder, 3)
    await ingest.scan(folder)
    content = one.read_bytes()
    one.unlink()
    await ingest.scan(folder)
    lost = await missing(ingest)
    elsewhere = tmp_path / "elsewhere"
    put(elsewhere, "found.jpg", content)

    back = await ingest.scan(elsewhere)

    assert (back.files, back.returned, back.decoded, back.settled) == (1, 1, 0, 1)
    assert await missing(ingest) == []
    assert (await places(ingest))[b"found.jpg"] == lost[0]


async def test_file_that_was_written_over_is_missing_and_the_new_one_is_itself(
    ingest: Ingest, folder: Path
) -> None:
    one, *_others = fill(folder, 2)
    await ingest.scan(folder)
    one.write_bytes(jpeg(50, size=(90, 60)))

    again = await ingest.scan(folder)

    assert (again.imported, again.unchanged) == (1, 1)
    assert len(await missing(ingest)) == 1


async def test_file_that_was_written_over_with_rubbish_is_a_failure_and_its_asset_missing(
    ingest: Ingest, folder: Path
) -> None:
    one, *_others = fill(folder, 2)
    await ingest.scan(folder)
    content = one.read_bytes()
    one.write_bytes(jpeg(50, size=(90, 60))[:300])

    again = await ingest.scan(folder)
    assert (again.failed, again.unchanged) == (1, 1)
    lost = await missing(ingest)
    assert len(lost) == 1

    one.write_bytes(content)
    back = await ingest.scan(folder)
    assert (back.returned, back.decoded) == (1, 0)
    assert (await places(ingest))[b"p00.jpg"] == lost[0]


async def test_copy_that_is_deleted_leaves_its_asset_where_the_other_lies(
    ingest: Ingest, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(1))
    copy = put(folder, "b.jpg", jpeg(1))
    await ingest.scan(folder)
    copy.unlink()

    again = await ingest.scan(folder)

    assert again.missing == 1
    assert await missing(ingest) == []


@pytest.mark.parametrize("alike", [False, True], ids=["different", "same size and time"])
async def test_a37_swapped_files_keep_their_ids(ingest: Ingest, folder: Path, *, alike: bool) -> None:
    a = put(folder, "A.bmp", _bitmap(1))
    b = put(folder, "B.bmp", _bitmap(2))
    os.utime(a, (OLD, OLD))
    os.utime(b, (OLD, OLD) if alike else (OLD + 9, OLD + 9))
    await ingest.scan(folder)
    first = await places(ingest)
    a.rename(folder / "aside")
    b.rename(a)
    (folder / "aside").rename(b)

    again = await ingest.scan(folder)

    assert await places(ingest) == {b"A.bmp": first[b"B.bmp"], b"B.bmp": first[b"A.bmp"]}
    assert (again.moved, again.duplicate, again.hashed, again.decoded) == (2, 0, 0, 0)
    assert await missing(ingest) == []


async def test_a37_swap_that_is_told_in_two_pieces_reads_one_of_them(
    ingest: Ingest, folder: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(scanning, "TELL_S", 0.0)
    a, b = put(folder, "1/A.bmp", _bitmap(1)), put(folder, "2/B.bmp", _bitmap(2))
    for path in (a, b):
        os.utime(path, (OLD, OLD))
    await ingest.scan(folder)
    first = await places(ingest)
    a.rename(folder / "aside")
    b.rename(a)
    (folder / "aside").rename(b)

    again = await ingest.scan(folder)

    assert await places(ingest) == {b"1/A.bmp": first[b"2/B.bmp"], b"2/B.bmp": first[b"1/A.bmp"]}
    assert (again.hashed, again.decoded) == (1, 0)
    assert await missing(ingest) == []


def _bitmap(seed: int) -> bytes:
    """Every one as long as any other."""
    out = io.BytesIO()
    picture(seed).save(out, "BMP")
    return out.getvalue()


async def test_a38_moved_folder_costs_no_work(ingest: Ingest, folder: Path) -> None:
    fill(folder / "before" / "deep", 15)
    put(folder, "stays.jpg", jpeg(80))
    await ingest.scan(folder)
    first = await places(ingest)
    before = await state(ingest)
    (folder / "before").rename(folder / "after")

    again = await ingest.scan(folder)

    assert (again.files, again.moved, again.unchanged, again.missing, again.duplicate) == (16, 15, 1, 0, 0)
    assert (again.hashed, again.decoded, again.settled, again.held) == (0, 0, 16, 0)
    after = await places(ingest)
    assert after == {path.replace(b"before/", b"after/"): asset for path, asset in first.items()}
    assert (await state(ingest))["renditions"] == before["renditions"]
    # Where it came from first stays told, and its new name can be searched for.
    moved = first[b"before/deep/p00.jpg"]
    names = await ingest.rows("SELECT path FROM provenance WHERE asset_id = $1 ORDER BY id", moved)
    assert [n["path"] for n in names] == [b"before/deep/p00.jpg", b"after/deep/p00.jpg"]


async def test_a38_moved_file_is_known_by_its_content_where_inodes_say_nothing(
    ingest: Ingest, folder: Path
) -> None:
    one, *_others = fill(folder, 3)
    await ingest.scan(folder)
    first = (await places(ingest))[b"p00.jpg"]
    shutil.copy(one, folder / "new name.jpg")
    one.unlink()

    again = await ingest.scan(folder)

    assert (again.moved, again.missing, again.duplicate, again.decoded) == (1, 0, 0, 0)
    assert (again.settled, again.files) == (3, 3)
    assert (await places(ingest))[b"new name.jpg"] == first


async def test_hard_link_is_a_second_place_and_nothing_is_opened(ingest: Ingest, folder: Path) -> None:
    one, *_others = fill(folder, 2)
    await ingest.scan(folder)
    os.link(one, folder / "linked.jpg")

    again = await ingest.scan(folder)

    assert (again.duplicate, again.moved, again.hashed) == (1, 0, 0)
    found = await places(ingest)
    assert found[b"linked.jpg"] == found[b"p00.jpg"]


async def test_many_that_go_at_once_are_held_until_a_person_says_so(ingest: Ingest, folder: Path) -> None:
    files = fill(folder, 30)
    await ingest.scan(folder)
    for path in files[:12]:
        path.unlink()
    put(folder, "new.jpg", jpeg(70))

    held = await ingest.scan(folder)

    assert (held.held, held.held_known, held.missing, held.imported) == (12, 30, 0, 1)
    assert await missing(ingest) == []


async def test_few_that_go_are_judged_one_by_one(ingest: Ingest, folder: Path) -> None:
    files = fill(folder, 12)
    await ingest.scan(folder)
    for path in files[:10]:
        path.unlink()

    assert (await ingest.scan(folder)).missing == 10


async def test_nothing_in_a_closed_folder_is_judged(
    ingest: Ingest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder / "disk", 3)
    fill(folder / "open", 1)
    await ingest.scan(folder)
    before = await state(ingest)
    _broken_disk(monkeypatch, b"/disk")

    again = await ingest.scan(folder)

    assert (again.missing, again.failed) == (0, 1)
    assert (await state(ingest))["assets"] == before["assets"]
    assert (await state(ingest))["files"] == before["files"]


def _broken_disk(monkeypatch: pytest.MonkeyPatch, name: bytes) -> None:
    """From now on a folder answers as one on a broken disk does."""
    honest = os.scandir

    def scandir(path: bytes) -> Any:
        if path.endswith(name):
            raise OSError(5, "Input/output error")
        return honest(path)

    monkeypatch.setattr(os, "scandir", scandir)


async def test_disk_that_goes_while_it_is_read_changes_nothing(ingest: Ingest, folder: Path) -> None:
    fill(folder / "a", 3)
    fill(folder / "b", 3)
    await ingest.scan(folder)
    before = await state(ingest)
    walking = await ingest.claim_walk(await ingest.queue(folder))

    def unmounted() -> None:
        folder.rename(folder.with_name("unplugged"))
        folder.mkdir()
        put(folder, "below the mount point", b"")

    with pytest.raises(scanning.RootUnavailable, match="while it was read"):
        await ingest.walk(walking, meanwhile=unmounted)

    assert (await state(ingest))["assets"] == before["assets"]
    assert (await state(ingest))["files"] == before["files"]


async def test_part_that_is_gone_is_judged_and_its_root_stays_ready(ingest: Ingest, folder: Path) -> None:
    fill(folder / "part", 2)
    fill(folder / "rest", 1)
    put(folder, "rest/more.jpg", jpeg(44))
    await ingest.scan(folder)
    batch_id = await ingest.queue(folder / "part")
    shutil.rmtree(folder / "part")

    await ingest.walk(await ingest.claim_walk(batch_id))

    assert (await ingest.view(batch_id)).missing == 2
    assert (await ingest.rows("SELECT status FROM root")) == [{"status": "ready"}]


async def test_many_are_judged_in_pieces(
    ingest: Ingest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = fill(folder, 8)
    await ingest.scan(folder)
    for path in files[:5]:
        path.unlink()
    monkeypatch.setattr(vanished, "CHUNK", 2)

    again = await ingest.scan(folder)

    assert again.missing == 5
    assert len(await missing(ingest)) == 5


async def test_chunk_is_compared_through_indexes_however_much_a_root_holds(
    ingest: Ingest, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(1))
    await ingest.scan(folder)
    walking = await ingest.claim_walk(await ingest.queue(folder))
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, outcome, asset_id, seen_batch)"
            " SELECT 1, ('d' || n % 300 || '/' || n)::bytea, n, n, 1000000 + n, 'imported', 1, 1"
            " FROM generate_series(1, 30000) n"
        )
        await uow.sql.execute("ANALYZE root_entry")
        told = [[f"new/{n}".encode() for n in range(50)], *([list(range(50))] * 3), [""] * 50, [0] * 50]
        rows = await uow.sql.fetch(
            f"EXPLAIN {recording._RECORD}", walking.batch_id, walking.claim, 1, *told, True
        )
        plan = "\n".join(r[0] for r in rows)
        gone = await uow.sql.fetch(f"EXPLAIN {changes._LEFT}", 1, *inside(b"d7"), [b"d7/7", b"d7/307"])

    assert "ix_root_entry_inode" in plan
    # Only where the inode is another one is anybody looked for.
    assert "One-Time Filter" in plan
    assert "Seq Scan on root_entry" not in plan
    assert "Seq Scan on root_entry" not in "\n".join(r[0] for r in gone)
