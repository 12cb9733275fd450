"""Failed files through the real pipeline: tried again, ignored, changed, vanished, cancelled."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from appliance.core.errors import NotFound
from appliance.ingest import cancelling, claims, inbox, progress, scanning, services
from appliance.ingest.inbox import Which
from tests.ingest.conftest import Ingest
from tests.media_files import jpeg, put


async def outcomes(ingest: Ingest) -> dict[bytes, tuple[Any, Any, Any]]:
    rows: list[dict[str, Any]] = await ingest.rows(
        "SELECT path, outcome, reason, ignored FROM root_entry ORDER BY path"
    )
    return {r["path"]: (r["outcome"], r["reason"], r["ignored"]) for r in rows}


async def explained(ingest: Ingest, statement: str, *args: Any) -> str:
    """The plan that the server really follows."""
    async with ingest.db.unit_of_work() as uow:
        rows: Sequence[Any] = await uow.sql.fetch(f"EXPLAIN (ANALYZE, BUFFERS) {statement}", *args)
    return "\n".join(r[0] for r in rows)


async def test_repaired_file_comes_in_when_it_is_tried_again(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1)[:300])
    put(folder, "b.jpg", jpeg(2)[:300])
    await ingest.scan(folder)
    put(folder, "a.jpg", jpeg(1))

    result = await inbox.retry(Which(reason="truncated"))
    assert (result.queued, result.away) == (2, [])
    assert await ingest.drain() == {"imported": 1, "failed": 1}

    assert await outcomes(ingest) == {
        b"a.jpg": ("imported", None, False),
        b"b.jpg": ("failed", "truncated", False),
    }
    async with ingest.db.unit_of_work() as uow:
        (latest, *_) = await progress.history(uow.sql, 5)
        assert (latest.cause, latest.files, latest.imported, latest.failed) == ("retry", 2, 1, 1)
        assert latest.settled == latest.files
        assert latest.waiting == 0


async def test_nothing_is_tried_again_by_itself(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1)[:300])
    await ingest.scan(folder)
    again = await ingest.scan(folder)
    assert (again.failed, again.hashed) == (1, 0)
    async with ingest.db.unit_of_work() as uow:
        (group,) = await inbox.groups(uow.sql)
    assert (group.reason, group.count, group.samples[0].path) == ("truncated", 1, b"a.jpg")


async def test_file_that_vanished_is_said_to_be_gone(ingest: Ingest, folder: Path) -> None:
    path = put(folder, "a.jpg", jpeg(1)[:300])
    put(folder, "b.jpg", jpeg(2))
    await ingest.scan(folder)
    path.unlink()

    await inbox.retry(Which(reason="truncated"))
    await ingest.drain()
    assert (await outcomes(ingest))[b"a.jpg"] == ("failed", "vanished", False)

    # The next whole scan does not meet it: the cause is gone, and so is its line in the inbox.
    await ingest.scan(folder)
    async with ingest.db.unit_of_work() as uow:
        assert await inbox.groups(uow.sql) == []


async def test_retry_while_a_scan_of_the_same_folder_runs_counts_each_file_once(
    ingest: Ingest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "TELL_S", 0.0)
    put(folder, "a/bad.jpg", jpeg(1)[:300])
    put(folder, "b/bad.jpg", jpeg(2)[:300])
    put(folder, "c/good.jpg", jpeg(3))
    await ingest.scan(folder)
    batch_id = await ingest.queue(folder)
    walking = await ingest.claim_walk(batch_id)
    with pytest.raises(Exception, match="broke off"):
        # The walk has met a/bad.jpg and nothing else yet.
        await ingest.walk(walking, only=4)

    result = await inbox.retry(Which(reason="truncated"))
    assert result.queued == 2
    await ingest.walk(await ingest.claim_walk(batch_id))
    assert await ingest.drain() == {"failed": 2}

    for number in (batch_id, batch_id + 1):
        batch = await ingest.view(number)
        assert batch.finished
        assert batch.settled == batch.files
    assert set((await outcomes(ingest)).values()) == {
        ("failed", "truncated", False),
        ("imported", None, False),
    }


async def test_ignored_file_stays_ignored_until_it_changes(ingest: Ingest, folder: Path) -> None:
    path = put(folder, "a.jpg", jpeg(1)[:300])
    put(folder, "b.jpg", jpeg(2)[:300])
    await ingest.scan(folder)
    (entry,) = await ingest.rows("SELECT id FROM root_entry WHERE path = 'a.jpg'")

    assert await inbox.ignore(Which(id=int(str(entry["id"])))) == 1
    again = await ingest.scan(folder)
    assert (again.failed, again.skipped, again.hashed) == (1, 1, 0)
    assert (await outcomes(ingest))[b"a.jpg"] == ("failed", "truncated", True)
    assert again.settled == again.files

    path.write_bytes(jpeg(1))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    changed = await ingest.scan(folder)
    assert changed.imported == 1
    assert (await outcomes(ingest))[b"a.jpg"] == ("imported", None, False)


async def test_ignored_file_that_is_taken_back_can_be_tried(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1)[:300])
    await ingest.scan(folder)
    await inbox.ignore(Which(reason="truncated"))
    with pytest.raises(NotFound):
        await inbox.retry(Which(reason="truncated"))
    assert await inbox.take_back(Which()) == 1
    assert (await inbox.retry(Which())).queued == 1


async def test_cancelled_retry_leaves_its_files_failed_as_they_were(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1)[:300])
    put(folder, "new.jpg", jpeg(2))
    await ingest.scan(folder)
    await inbox.retry(Which())
    (batch,) = await ingest.rows("SELECT id FROM import_batch WHERE cause = 'retry'")

    await cancelling.cancel(int(str(batch["id"])))

    assert await ingest.drain() == {}
    assert (await outcomes(ingest))[b"a.jpg"] == ("failed", "truncated", False)
    with pytest.raises(Exception, match="is over already"):
        await cancelling.cancel(int(str(batch["id"])))


async def test_later_scan_finds_what_a_cancelled_one_left_out(ingest: Ingest, folder: Path) -> None:
    for number in range(5):
        put(folder, f"{number}.jpg", jpeg(number))
    batch_id = await ingest.queue(folder)
    await ingest.walk(await ingest.claim_walk(batch_id))
    async with ingest.db.unit_of_work() as uow:
        held = await claims.claim(uow.sql, 1, 2)

    await cancelling.cancel(batch_id)
    # A worker that stops gives its tasks back; they belong to nobody any more.
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute(
            "UPDATE import_task SET status = 'pending', claim = NULL WHERE id = ANY($1::bigint[])",
            [c.id for c in held],
        )
        await services.close_batches(uow.sql)
        left = await progress.batch(uow.sql, batch_id)
        assert await progress.active(uow.sql) == []
    assert (left.status, left.files, left.settled, left.waiting) == ("cancelled", 5, 0, 5)
    assert await ingest.rows("SELECT id FROM import_task") == []

    again = await ingest.scan(folder)
    assert (again.files, again.imported) == (5, 5)


async def test_walk_of_a_cancelled_batch_changes_nothing_more(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    batch_id = await ingest.queue(folder)
    walking = await ingest.claim_walk(batch_id)
    await cancelling.cancel(batch_id)
    with pytest.raises(scanning.LostWalk):
        await ingest.walk(walking)
    assert await ingest.rows("SELECT id FROM root_entry") == []


async def test_retried_folder_that_was_closed_is_walked_again(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    await ingest.scan(folder)
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, outcome, reason, seen_batch)"
            " SELECT id, 'closed', 0, 0, 0, 'failed', 'unreadable', 1 FROM root"
        )
    result = await inbox.retry(Which(reason="unreadable"))
    assert (result.queued, result.folders) == (0, 1)
    assert [
        r["status"] for r in await ingest.rows("SELECT status FROM import_batch ORDER BY id DESC LIMIT 1")
    ] == ["pending"]


async def sent(ingest: Ingest, folder: Path, name: str, content: bytes) -> None:
    """A sent file that failed, as it lies in the hidden folder."""
    put(folder, f"token/{name}", content)
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO root (path, mode, purpose) VALUES ($1, 'move', 'uploads') ON CONFLICT DO NOTHING",
            bytes(folder),
        )
        await uow.sql.execute(
            "INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, outcome, reason, seen_batch)"
            " SELECT id, $1, $2, 1, 1, 'failed', 'crashed', 1 FROM root",
            f"token/{name}".encode(),
            len(content),
        )


async def test_sent_file_is_tried_again_like_any_other(ingest: Ingest, folder: Path) -> None:
    await sent(ingest, folder, "a.jpg", jpeg(1))
    async with ingest.db.unit_of_work() as uow:
        (group,) = await inbox.groups(uow.sql)
    assert group.samples[0].shown == b"a.jpg"
    assert group.sent
    assert (await inbox.retry(Which(reason="crashed"))).queued == 1
    assert await ingest.drain() == {"imported": 1}
    assert (await outcomes(ingest))[b"token/a.jpg"][0] == "imported"


async def test_ignoring_a_sent_file_deletes_it(ingest: Ingest, folder: Path) -> None:
    await sent(ingest, folder, "a.jpg", b"nothing")
    await sent(ingest, folder, "b.jpg", b"else")
    (entry,) = await ingest.rows("SELECT id FROM root_entry WHERE path = 'token/a.jpg'")
    assert await inbox.ignore(Which(id=int(str(entry["id"])))) == 1
    assert sorted(p.name for p in (folder / "token").iterdir()) == ["b.jpg"]
    async with ingest.db.unit_of_work() as uow:
        assert await inbox.ignored(uow.sql, 10) == []
    assert await inbox.take_back(Which()) == 0
    assert await inbox.ignore(Which(reason="crashed")) == 1
    assert not (folder / "token").exists()


async def test_inbox_of_a_hundred_thousand_reads_a_page_of_it(ingest: Ingest, folder: Path) -> None:
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute("INSERT INTO root (path, mode) VALUES ('/media/many', 'in_place')")
        await uow.sql.execute(
            "INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, outcome, reason, seen_batch)"
            " SELECT 1, ('f' || n)::bytea, 1, 1, 1, CASE WHEN n % 2 = 0 THEN 'failed' ELSE 'imported' END,"
            " CASE WHEN n % 2 = 0 THEN 'truncated' END, 1 FROM generate_series(1, 60000) n"
        )
    async with ingest.db.engine.connect() as connection:
        await connection.exec_driver_sql("COMMIT")
        await connection.exec_driver_sql("ANALYZE root_entry")
    async with ingest.db.unit_of_work() as uow:
        (group,) = await inbox.groups(uow.sql)
        page = await inbox.files(uow.sql, "truncated", 100, after=40_000)
    assert group.more
    assert len(page) == 100
    assert page[0].id == 40_002
    for plan in (
        await explained(ingest, inbox._FILES, "truncated", 40_000, 100),
        await explained(ingest, inbox._GROUPS),
    ):
        assert "ix_root_entry_failed" in plan
        assert "Seq Scan on root_entry" not in plan
        assert "Bitmap Heap Scan on root_entry" not in plan


async def test_files_of_a_batch_by_outcome_are_read_by_their_index(ingest: Ingest, folder: Path) -> None:
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute("INSERT INTO root (path, mode) VALUES ('/media/many', 'in_place')")
        await uow.sql.execute(
            "INSERT INTO import_batch (root_id, mode, status) VALUES (1, 'in_place', 'done')"
        )
        await uow.sql.execute(
            "WITH e AS (INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, outcome, seen_batch)"
            " SELECT 1, ('f' || n)::bytea, 1, 1, 1, 'imported', 1"
            " FROM generate_series(1, 30000) n RETURNING id)"
            " INSERT INTO import_task (batch_id, root_id, entry_id, status, outcome, finished_at)"
            " SELECT 1, 1, id, 'complete', CASE WHEN id = 29000 THEN 'failed' ELSE 'imported' END, now()"
            " FROM e"
        )
    async with ingest.db.engine.connect() as connection:
        await connection.exec_driver_sql("COMMIT")
        await connection.exec_driver_sql("ANALYZE import_task")
    async with ingest.db.unit_of_work() as uow:
        (line,) = await progress.lines(uow.sql, 1, 100, outcome="failed")
    assert line.path == b"f29000"
    assert "ix_import_task_outcome" in await explained(ingest, progress._OF_OUTCOME, 1, 0, 100, "failed")
    assert "ix_import_task_batch" in await explained(ingest, progress._EACH, 1, 25_000, 100)
