"""Turns at volumes: nothing that happens to one page, one root or one volume holds the others for good."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from appliance.core.drains import Claimed
from appliance.ingest import away
from appliance.library import unpacking, volumes
from appliance.library.unpacking import Unpacking
from appliance.media.decoder import Child
from appliance.media.hops import Hop
from appliance.media.wire import Stat
from appliance.operations import purging
from appliance.operations import services as operations
from appliance.operations.kinds import Kind
from tests.ingest.conftest import Ingest
from tests.library.books import take, the_volume, unpack
from tests.media.zips import comic, zipped
from tests.media_files import jpeg, put


async def turn(ingest: Ingest, taken: Claimed) -> str:
    """One turn at a claimed volume."""
    lend = partial(ingest.pool.child, fresh=taken.alone)
    return await unpacking.unpack(ingest.settings, ingest.db, taken, lend, away.went)


async def pages(ingest: Ingest) -> list[tuple[object, object]]:
    rows = await ingest.rows("SELECT status, reason FROM volume_page ORDER BY volume_id, position")
    return [(row["status"], row["reason"]) for row in rows]


async def act(ingest: Ingest, kind: Kind, ids: list[int]) -> None:
    async with ingest.db.unit_of_work() as uow:
        asked = await operations.act(uow, kind, ids, {}, person=None)
    await operations.unlink(asked.doomed)


async def test_a_turn_that_is_over_writes_what_it_has_and_goes_on_later(
    ingest: Ingest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, "a.cbz", comic(3))
    await ingest.scan(folder)
    monkeypatch.setattr(unpacking, "TURN_S", 0.0)
    (taken,) = await take(ingest)
    assert await turn(ingest, taken) == "in_part"
    assert await pages(ingest) == [("complete", None), ("pending", None), ("pending", None)]
    assert await unpack(ingest) == ["in_part", "in_part", "complete"]


async def hangs(ingest: Ingest) -> tuple[str, int]:
    """One turn in which every decoder hangs over its page; the outcome and how often one was asked."""
    asked = 0

    @contextlib.asynccontextmanager
    async def lend() -> AsyncIterator[Child]:
        async with ingest.pool.child() as child:
            opened = child.read

            async def read(
                path: bytes, *, expect: Stat | None, member: Sequence[Hop], timeout: float
            ) -> unpacking.Read:
                nonlocal asked
                asked += 1
                if await child.tier() and child.pid:
                    # Nobody knows a page over which the decoders shipped hang.
                    os.kill(child.pid, signal.SIGSTOP)
                return await opened(path, expect=expect, member=member, timeout=timeout)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(child, "read", read)
                yield child

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unpacking, "READ_S", 0.1)
        (taken,) = await take(ingest)
        outcome = await unpacking.unpack(ingest.settings, ingest.db, taken, lend, away.went)
    return outcome, asked


async def test_a_page_that_meets_a_limit_is_not_tried_again_and_costs_itself_alone(
    ingest: Ingest, folder: Path
) -> None:
    put(folder, "a.cbz", comic(3))
    await ingest.scan(folder)
    assert await hangs(ingest) == ("complete", 3)
    assert await pages(ingest) == [("failed", "timeout")] * 3


async def test_pages_that_failed_by_the_moment_are_tried_again_when_someone_reads(
    ingest: Ingest, folder: Path
) -> None:
    put(folder, "a.cbz", comic(2))
    await ingest.scan(folder)
    await hangs(ingest)
    volume = await the_volume(ingest)

    async def read() -> list[str]:
        async with ingest.db.unit_of_work() as uow:
            await volumes.want_pages(uow, volume)
        return await unpack(ingest)

    # Not with every look: what meets a limit holds a decoder for minutes.
    assert await read() == []
    await ingest.rows("UPDATE volume SET finished_at = now() - interval '2 hours' RETURNING id")
    assert await read() == ["complete"]
    assert await pages(ingest) == [("complete", None)] * 2
    await ingest.rows("UPDATE volume SET finished_at = now() - interval '2 hours' RETURNING id")
    assert await read() == []


async def test_a_root_that_goes_away_leaves_its_volumes_waiting(
    ingest: Ingest, folder: Path, tmp_path: Path
) -> None:
    put(folder, "a.cbz", comic(2))
    put(folder, "b.cbz", comic(2, seed=3))
    await ingest.scan(folder)
    folder.rename(tmp_path / "elsewhere")
    assert await unpack(ingest) == ["in_part"]
    assert await ingest.rows("SELECT DISTINCT status FROM volume") == [{"status": "pending"}]
    assert await ingest.rows("SELECT status FROM root") == [{"status": "unavailable"}]
    assert await take(ingest) == []

    (tmp_path / "elsewhere").rename(folder)
    await ingest.scan(folder)
    assert await unpack(ingest) == ["complete", "complete"]


async def test_a_volume_that_is_deleted_while_it_is_unpacked_leaves_no_page(
    ingest: Ingest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, "a.cbz", comic(2))
    await ingest.scan(folder)
    volume = await the_volume(ingest)
    (taken,) = await take(ingest)
    made = Unpacking._make

    async def meanwhile(self: Unpacking, *args: object) -> list[unpacking.Page]:
        found = await made(self, *args)  # type: ignore[arg-type]
        await act(ingest, Kind.TRASH, [volume])
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Unpacking, "_make", meanwhile)
        assert await turn(ingest, taken) == "in_part"
    assert await pages(ingest) == [("pending", None)] * 2
    assert await take(ingest) == []
    await act(ingest, Kind.PURGE, [volume])
    assert await ingest.rows("SELECT id FROM asset") == []


async def test_what_was_deleted_for_good_does_not_come_back_as_a_page(ingest: Ingest, folder: Path) -> None:
    put(folder, "1.jpg", jpeg(0))
    await ingest.scan(folder)
    (row,) = await ingest.rows("SELECT id FROM asset")
    await act(ingest, Kind.TRASH, [int(str(row["id"]))])
    await act(ingest, Kind.PURGE, [int(str(row["id"]))])
    put(folder, "a.cbz", comic(2))
    await ingest.scan(folder)
    assert await unpack(ingest) == ["complete"]

    async with ingest.db.unit_of_work() as uow:
        found = await volumes.pages(uow.sql, await the_volume(ingest), 1, 2)
    assert [(page.status, page.asset_id is None) for page in found] == [
        ("complete", True),
        ("complete", False),
    ]
    assert not list(ingest.settings.home.renditions.rglob(f"*{_sha(jpeg(0))}*"))


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def test_a_page_whose_asset_went_meanwhile_without_a_word_is_made_anew(
    ingest: Ingest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, "1.jpg", jpeg(0))
    await ingest.scan(folder)
    put(folder, "a.cbz", comic(1))
    await ingest.scan(folder)
    known = Unpacking._is_known

    async def gone(self: Unpacking, read: unpacking.Read) -> bool:
        found = await known(self, read)
        await ingest.rows("DELETE FROM asset WHERE kind = 'still' RETURNING id")
        return found

    (taken,) = await take(ingest)
    with monkeypatch.context() as patch:
        patch.setattr(Unpacking, "_is_known", gone)
        assert await turn(ingest, taken) == "complete"
    (row,) = await ingest.rows("SELECT status, asset_id IS NOT NULL AS made FROM volume_page")
    assert row == {"status": "complete", "made": True}


async def test_volumes_take_turns(ingest: Ingest, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder, "a.cbz", comic(3))
    await ingest.scan(folder)
    put(folder, "b.cbz", zipped({"1.jpg": jpeg(50), "2.jpg": jpeg(51)}))
    await ingest.scan(folder)
    monkeypatch.setattr(unpacking, "TURN_S", 0.0)
    order = []
    while taken := await take(ingest):
        order.append(taken[0].id)
        await turn(ingest, taken[0])
    first, second = sorted(set(order))
    assert order[:5] == [first, second, first, second, first]


async def test_volumes_are_deleted_a_few_hundred_pages_at_a_time(
    ingest: Ingest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        put(folder, f"{number}.cbz", comic(2, seed=number + 1))
    put(folder, "0.jpg", jpeg(0))
    await ingest.scan(folder)
    await unpack(ingest)
    rows = await ingest.rows("SELECT id, kind FROM asset WHERE state = 'kept' ORDER BY id")
    ids = [int(str(row["id"])) for row in rows]
    await act(ingest, Kind.TRASH, ids)
    for most, expected in ((4, 2), (1, 1), (500, 3)):
        monkeypatch.setattr(purging, "PAGES", most)
        async with ingest.db.unit_of_work() as uow:
            await uow.sql.execute("UPDATE operation_item SET changed = NULL")
            found = await purging.next_ids(uow.sql, await uow.sql.fetchval("SELECT max(id) FROM operation"))
            volumes_of = [row for row in rows if row["id"] in found and row["kind"] == "volume"]
            assert len(volumes_of) == expected
            await uow.connection.rollback()
    monkeypatch.setattr(purging, "PAGES", 4)
    async with ingest.db.unit_of_work() as uow:
        asked = await operations.act(uow, Kind.PURGE, ids, {}, person=None)
    assert (asked.status, asked.changed, asked.total) == ("pending", 0, 4)
