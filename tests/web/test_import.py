"""The import page: what runs and why it waits, pauses, limits, history, and one batch."""

from __future__ import annotations

import httpx

from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.ingest import throttle
from appliance.ingest.throttle import Throttle
from queues import lanes
from tests.web.conftest import PARTIAL, statements


async def a_root(db: Database, path: str = "/media/pictures", **columns: object) -> int:
    async with db.unit_of_work() as uow:
        root_id: int = await uow.sql.fetchval(
            "INSERT INTO root (path, mode) VALUES ($1, 'in_place') RETURNING id", path.encode()
        )
        for name, value in columns.items():
            await uow.sql.execute(f"UPDATE root SET {name} = $2 WHERE id = $1", root_id, value)
    return root_id


async def a_batch(
    db: Database, root: int, *, waiting: int = 40, done: int = 58, status: str = "importing"
) -> int:
    """A batch with files that wait, and one that ended just now."""
    async with db.unit_of_work() as uow:
        batch: int = await uow.sql.fetchval(
            "INSERT INTO import_batch (root_id, mode, status, walked_at, files, imported, failed)"
            " VALUES ($1, 'in_place', $2, now(), $3, $4, 2) RETURNING id",
            root, status, waiting + done + 2, done,
        )  # fmt: skip
        await uow.sql.execute(
            "WITH e AS (INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, outcome, seen_batch)"
            " SELECT $2, ('b' || $1::bigint || '/' || n || '.jpg')::bytea, 1000000, 1, 1, 'pending',"
            " $1::bigint"
            " FROM generate_series(1, $3) n RETURNING id)"
            " INSERT INTO import_task (batch_id, root_id, entry_id) SELECT $1::bigint, $2, id FROM e",
            batch, root, waiting,
        )  # fmt: skip
        await uow.sql.execute(
            "WITH e AS (INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, outcome, seen_batch)"
            " SELECT $2, ('d' || $1::bigint || '/' || n || '.jpg')::bytea, 2000000, 1, 1, 'imported',"
            " $1::bigint"
            " FROM generate_series(1, $3) n RETURNING id)"
            " INSERT INTO import_task (batch_id, root_id, entry_id, status, outcome, finished_at)"
            " SELECT $1::bigint, $2, id, 'complete', 'imported', now() - interval '10 s' FROM e",
            batch, root, done,
        )  # fmt: skip
    return batch


async def test_running_import_shows_counts_rate_time_left_and_room(
    client: httpx.AsyncClient, db: Database
) -> None:
    batch = await a_batch(db, await a_root(db))
    page = (await client.get("/import")).text
    assert f'id="batch-{batch}"' in page
    assert "60%" in page
    assert "You may close this window" in page
    assert "5.8 <small>files/s" in page
    assert "less than a minute left" in page
    assert "They will write about" in page
    part = (await client.get("/import", headers=PARTIAL)).text
    assert part.lstrip().startswith('<div id="import-live"')
    assert "<html" not in part


async def test_pausing_stops_both_lanes_and_says_by_whom(client: httpx.AsyncClient, db: Database) -> None:
    await a_batch(db, await a_root(db))
    assert (await client.post("/import/pause")).status_code == 303
    page = (await client.get("/import")).text
    assert "Paused by anna." in page
    assert "Import paused" in page
    async with db.unit_of_work() as uow:
        paused = await uow.sql.fetch("SELECT lane FROM lane_state WHERE paused_at IS NOT NULL ORDER BY lane")
    assert [r["lane"] for r in paused] == sorted([lanes.IMPORT.name, lanes.SCAN.name])

    answer = await client.post("/import/resume", headers=PARTIAL)

    assert "Imports go on." in answer.text
    assert "Paused by" not in (await client.get("/import")).text


async def test_limits_are_kept_and_hours_are_said(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await a_batch(db, await a_root(db))
    hour = throttle.wall(settings.zone).hour
    begins, ends = (hour + 2) % 24, (hour + 4) % 24
    sent = {"cores": "1", "begins": str(begins), "ends": str(ends)}
    assert (await client.post("/import/limits", data=sent)).status_code == 303
    page = (await client.get("/import")).text
    assert f"Waits until {begins:02d}:00" in page
    async with db.unit_of_work() as uow:
        assert await throttle.read(uow.sql) == Throttle(1, begins, ends)
    refused = await client.post("/import/limits", data=sent | {"ends": ""})
    assert refused.status_code == 422
    assert "An hour is missing" in refused.text
    assert (await client.post("/import/limits", data={"cores": "999"})).status_code == 422


async def test_folder_that_is_away_is_why_its_import_waits(client: httpx.AsyncClient, db: Database) -> None:
    root = await a_root(db, status="unavailable", reason="No such device")
    await a_batch(db, root)
    page = (await client.get("/import")).text
    assert "Waits for its folder" in page
    assert "No such device" in page


async def test_history_goes_back_page_by_page(client: httpx.AsyncClient, db: Database) -> None:
    root = await a_root(db)
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO import_batch (root_id, mode, status, walked_at, finished_at, files, imported)"
            " SELECT $1, 'in_place', 'done', now(), now(), n, n FROM generate_series(1, 60) n",
            root,
        )
    seen: list[int] = []
    where: str | None = "/import/history"
    while where:
        page = (await client.get(where)).text
        seen += [n for n in range(60, 0, -1) if f'id="past-{n}"' in page]
        before = page.partition("/import/history?before=")[2].partition('"')[0]
        where = f"/import/history?before={before}" if before else None
    assert seen == list(range(60, 0, -1))


async def test_batch_page_lists_its_files_by_outcome(client: httpx.AsyncClient, db: Database) -> None:
    batch = await a_batch(db, await a_root(db), waiting=3, done=150)
    page = (await client.get(f"/import/{batch}")).text
    assert "Next files" in page
    added = (await client.get(f"/import/{batch}?shown=imported")).text
    assert f"d{batch}/1.jpg" in added
    assert f"b{batch}/1.jpg" not in added
    assert (await client.get("/import/999999")).status_code == 404


async def test_batch_page_says_which_sources_stayed(client: httpx.AsyncClient, db: Database) -> None:
    batch = await a_batch(db, await a_root(db), waiting=0, done=3)
    assert "stayed in the folder" not in (await client.get(f"/import/{batch}")).text
    async with db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE import_batch SET stayed = 2 WHERE id = $1", batch)
    assert "2 files were stored and stayed in the folder" in (await client.get(f"/import/{batch}")).text


async def test_cancelled_import_leaves_nothing_waiting(client: httpx.AsyncClient, db: Database) -> None:
    batch = await a_batch(db, await a_root(db))
    answer = await client.post(f"/import/{batch}/cancel", headers=PARTIAL)
    assert "was cancelled" in answer.text
    page = (await client.get("/import")).text
    assert "Nothing is being imported" in page
    assert "Cancelled" in page
    async with db.unit_of_work() as uow:
        left = await uow.sql.fetchval("SELECT count(*) FROM import_task WHERE status = 'pending'")
    assert left == 0
    again = await client.post(f"/import/{batch}/cancel", headers=PARTIAL)
    assert again.status_code == 409


async def test_page_and_top_bar_agree_on_what_is_over(client: httpx.AsyncClient, db: Database) -> None:
    """A batch whose last file has ended is over at once, before anybody closes it."""
    await a_batch(db, await a_root(db), waiting=0)
    page = (await client.get("/import")).text
    assert "Nothing is being imported" in page
    assert "Importing" not in (await client.get("/pulse", headers=PARTIAL)).text
    assert 'id="past-' in page


async def test_it_costs_a_fixed_number_of_statements(client: httpx.AsyncClient, db: Database) -> None:
    await a_batch(db, await a_root(db))
    await client.get("/import")
    with statements(db) as one:
        await client.get("/import", headers=PARTIAL)
    for number in range(3):
        await a_batch(db, await a_root(db, f"/media/more{number}"))
    with statements(db) as many:
        await client.get("/import", headers=PARTIAL)
    assert len(many) == len(one)
