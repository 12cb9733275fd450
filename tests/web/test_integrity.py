"""The integrity page: what is not as it came in, in words, and checks by hand."""

from __future__ import annotations

import httpx

from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.library import verifying
from tests.seed import seed
from tests.web.conftest import PARTIAL, statements


async def rotten(db: Database, settings: Settings, count: int = 2) -> None:
    await seed(db, settings.home, 5)
    async with db.unit_of_work() as uow:
        root = await uow.sql.fetchval(
            "INSERT INTO root (path, mode) VALUES ('/media/rotten', 'in_place') RETURNING id"
        )
        await uow.sql.execute(
            "INSERT INTO asset_file (asset_id, root_id, path, size, mtime_ns, fault, fault_detail, fault_at)"
            " SELECT (SELECT min(id) FROM asset), $1, ('deep/<b>' || n || '.jpg')::bytea, 1000, 1,"
            " CASE n % 2 WHEN 0 THEN 'altered' ELSE 'missing' END, 'what was seen', now()"
            " FROM generate_series(1, $2::int) n",
            root,
            count,
        )


async def test_each_faulty_file_is_listed_with_its_class_and_words(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    await rotten(db, settings)
    page = (await client.get("/admin/integrity")).text
    assert "2 originals are not as they came in." in page
    for words in ("Changed bytes", "Missing", "/media/rotten", "deep/&lt;b&gt;1.jpg", "what was seen"):
        assert words in page
    activity = (await client.get("/admin/activity")).text
    assert "2 originals are" in activity
    assert "1 thing wants a look." in activity


async def test_many_faults_come_in_pages(client: httpx.AsyncClient, db: Database, settings: Settings) -> None:
    await rotten(db, settings, 130)
    first = (await client.get("/admin/integrity")).text
    assert first.count('id="file-') == 100
    (after,) = {part.split('"')[0] for part in first.split("?after=")[1:]}
    second = (await client.get(f"/admin/integrity?after={after}")).text
    assert second.count('id="file-') == 30


async def test_a_quiet_page_says_so_in_few_statements(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    assert "There are no originals yet." in (await client.get("/admin/integrity")).text
    await seed(db, settings.home, 5)
    async with db.unit_of_work() as uow:
        assert await verifying.oldest(uow.sql) is not None
    with statements(db) as seen:
        part = (await client.get("/admin/integrity", headers=PARTIAL)).text
    assert "Every original that was checked is as it came in." in part
    assert "<html" not in part
    assert len(seen) < 12


async def test_a_check_can_be_asked_for_and_only_once(client: httpx.AsyncClient, db: Database) -> None:
    for _ in range(2):
        answer = await client.post("/admin/integrity/run?task=integrity.verify_integrity", headers=PARTIAL)
        assert "It begins in a moment." in answer.text
    async with db.unit_of_work() as uow:
        rows = await uow.sql.fetch("SELECT task, status, asked_by FROM task_run")
    assert [tuple(r) for r in rows] == [("integrity.verify_integrity", "pending", "anna")]
    assert "Waits" in (await client.get("/admin/integrity")).text
    refused = await client.post("/admin/integrity/run?task=ingest.scan")
    assert refused.status_code == 409
    plain = await client.post("/admin/integrity/run?task=integrity.backfill_renditions")
    assert (plain.status_code, plain.headers["location"]) == (303, "/admin/integrity")
