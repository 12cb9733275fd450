"""The activity page: what runs, what waits, what failed and why."""

from __future__ import annotations

import json

import httpx

from appliance.core.db import Database
from appliance.core.settings import Settings
from tests.web.conftest import PARTIAL, statements


async def import_under_way(db: Database) -> None:
    async with db.unit_of_work() as uow:
        root = await uow.sql.fetchval(
            "INSERT INTO root (path, mode) VALUES ('/media/pictures', 'in_place') RETURNING id"
        )
        batch = await uow.sql.fetchval(
            "INSERT INTO import_batch (root_id, mode, status, walked_at, files, imported, failed)"
            " VALUES ($1, 'in_place', 'importing', now(), 100, 58, 3) RETURNING id",
            root,
        )
        for number, reason in enumerate(["truncated", "truncated", "crashed"]):
            entry = await uow.sql.fetchval(
                "INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, outcome, reason, seen_batch)"
                " VALUES ($1, $2, 1, 1, 1, 'failed', $3, $4) RETURNING id",
                root, f"holiday/dr{number}".encode() + b"\xe9.jpg", reason, batch,
            )  # fmt: skip
            await uow.sql.execute(
                "INSERT INTO import_task (batch_id, root_id, entry_id) VALUES ($1, $2, $3)",
                batch,
                root,
                entry,
            )
        await uow.sql.execute(
            """
            INSERT INTO task_run (task, lane, kind, status, claimed_at, finished_at, error, trace, counts)
            VALUES
            ('ingest.scan', 'scan', 'run', 'error', now() - interval '41 s', now(), 'The disk vanished',
             'Traceback …', '{}'),
            ('library.render_pictures', 'thumbnail', 'drain', 'done', now(), now(), NULL, NULL,
             '{"complete": 812}')
            """
        )


async def test_it_shows_imports_failures_lanes_and_runs(client: httpx.AsyncClient, db: Database) -> None:
    await import_under_way(db)
    page = (await client.get("/admin/activity")).text
    assert "/media/pictures" in page
    assert "61%" in page
    assert "The disk vanished" in page
    assert "Traceback …" in page
    assert "812 complete" in page
    for lane in ("scan", "import", "thumbnail", "maintenance_long"):
        assert f'id="lane-{lane}"' in page
    assert "Importing 61%" in page
    only = (await client.get("/admin/activity?state=error")).text
    assert "812 complete" not in only


async def test_what_failed_is_counted_and_found_in_the_one_inbox(
    client: httpx.AsyncClient, db: Database
) -> None:
    await import_under_way(db)
    page = (await client.get("/admin/activity")).text
    inbox = (await client.get("/import/failures")).text
    assert "3 files could not be read.</strong> In 2 groups." in page
    assert 'href="/import/failures"' in page
    assert "1 thing wants a look." in page
    for told in ("File ends early", "copy or download it again", r"holiday/dr0\xe9.jpg"):
        assert told in inbox
        assert told not in page


async def test_more_failures_than_are_counted_are_more_than(client: httpx.AsyncClient, db: Database) -> None:
    await import_under_way(db)
    async with db.unit_of_work() as uow:
        await uow.sql.execute(
            "INSERT INTO root_entry (root_id, path, size, mtime_ns, inode, outcome, reason, seen_batch)"
            " SELECT root_id, convert_to('many/' || n, 'UTF8'), 1, 1, 1, 'failed', 'empty', id"
            " FROM import_batch, generate_series(1, 1100) n"
        )
    for url in ("/admin/activity", "/import"):
        assert "More than 1,003 files could not be read" in (await client.get(url)).text


async def test_the_live_part_is_what_the_page_includes(client: httpx.AsyncClient, db: Database) -> None:
    await import_under_way(db)
    page = (await client.get("/admin/activity")).text
    part = (await client.get("/admin/activity", headers=PARTIAL)).text
    assert part.lstrip().startswith('<div id="activity"')
    assert "<html" not in part
    assert 'id="activity"' in page


async def test_troubles_of_the_house_are_said_in_words(client: httpx.AsyncClient, settings: Settings) -> None:
    web = {"name": "web", "pid": 1, "state": "running", "restarts": 0, "last_exit": "", "since": ""}
    heavy = web | {"name": "heavy", "state": "restarting", "restarts": 4, "last_exit": "killed by signal 9"}
    written = {"state": "degraded", "processes": [web, heavy], "disk_free_mb": 900}
    written["imports_paused_reason"] = "Only 900 MB are free."
    settings.home.run.joinpath("health.json").write_text(json.dumps(written))
    page = (await client.get("/admin/activity")).text
    assert "Imports are paused." in page
    assert "Only 900 MB are free." in page
    assert "killed by signal 9" in page
    pulse = (await client.get("/pulse", headers=PARTIAL)).text
    assert "health bad" in pulse
    assert "2" in pulse
    assert "to look at" in pulse


async def test_without_trouble_it_is_calm(client: httpx.AsyncClient) -> None:
    assert "All well" in (await client.get("/")).text
    assert "Everything runs." in (await client.get("/admin/activity")).text


async def test_it_costs_a_fixed_number_of_statements(client: httpx.AsyncClient, db: Database) -> None:
    await client.get("/admin/activity")
    with statements(db) as empty:
        await client.get("/admin/activity")
    await import_under_way(db)
    with statements(db) as full:
        await client.get("/admin/activity")
    assert len(full) == len(empty)
