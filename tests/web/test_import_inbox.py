"""The failure inbox over HTTP: groups, names, and what a person may do."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from appliance.core.db import Database
from tests.web.conftest import PARTIAL
from tests.web.test_import import a_root


async def failures(
    db: Database, root: int, count: int, reason: str = "truncated", name: str = "f"
) -> list[int]:
    async with db.unit_of_work() as uow:
        rows = await uow.sql.fetch(
            "INSERT INTO root_entry"
            " (root_id, path, size, mtime_ns, inode, outcome, reason, detail, seen_batch)"
            " SELECT $1, ($4 || '/' || n || '.jpg')::bytea, 3100000, 1, 1, 'failed', $3, 'ends at byte 9', 1"
            " FROM generate_series(1, $2) n RETURNING id",
            root, count, reason, name,
        )  # fmt: skip
    return [r["id"] for r in rows]


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A folder that can be read and is not empty."""
    made = tmp_path / "photos"
    made.mkdir()
    (made / "something").write_bytes(b"x")
    return made


async def test_failures_are_grouped_with_plain_names_and_samples(
    client: httpx.AsyncClient, db: Database
) -> None:
    root = await a_root(db)
    await failures(db, root, 38)
    await failures(db, root, 17, "not_media", "g")
    page = (await client.get("/import")).text
    assert "55 files could not be read" in page
    assert "In 2 groups." in page
    assert "Retry 38" in page
    assert "Ignore 17" in page
    assert "f/1.jpg" in page
    assert "ends at byte 9" in page
    names = (await client.get("/import/failures?reason=truncated")).text
    assert names.count("data-leaves") == 2 * 38
    assert (await client.get("/import/failures?reason=nonsense")).status_code == 422


async def test_retrying_a_class_is_one_batch(client: httpx.AsyncClient, db: Database, there: Path) -> None:
    root = await a_root(db, str(there))
    await failures(db, root, 38)
    answer = await client.post("/import/failures/retry?reason=truncated", headers=PARTIAL)
    assert "38 files are tried again." in answer.text
    async with db.unit_of_work() as uow:
        batches = await uow.sql.fetch("SELECT cause, files, status, interactive FROM import_batch")
        tasks = await uow.sql.fetchval("SELECT count(*) FROM import_task WHERE status = 'pending'")
    assert [tuple(b) for b in batches] == [("retry", 38, "importing", True)]
    assert tasks == 38
    page = (await client.get("/import")).text
    assert "photos, tried again" in page
    assert "could not be read" not in page


async def test_retry_explains_a_folder_that_is_not_there(
    client: httpx.AsyncClient, db: Database, tmp_path: Path
) -> None:
    empty = tmp_path / "mnt"
    empty.mkdir()
    await failures(db, await a_root(db, str(empty)), 3)
    await failures(db, await a_root(db, str(tmp_path / "gone")), 2, name="h")
    page = (await client.post("/import/failures/retry")).text
    assert "3 files stay as they are" in page
    assert "as if its disk were not connected" in page
    assert "No such file or directory" in page
    async with db.unit_of_work() as uow:
        assert await uow.sql.fetchval("SELECT count(*) FROM import_task") == 0
        assert await uow.sql.fetchval("SELECT count(*) FROM root_entry WHERE outcome = 'failed'") == 5


async def test_ignored_files_leave_the_inbox_and_can_be_taken_back(
    client: httpx.AsyncClient, db: Database
) -> None:
    entries = await failures(db, await a_root(db), 4)
    assert (await client.post(f"/import/failures/ignore?entry={entries[0]}")).status_code == 303
    assert "3 files could not be read" in (await client.get("/import")).text
    answer = await client.post("/import/failures/ignore?reason=truncated", headers=PARTIAL)
    assert "3 files are left alone until they change." in answer.text
    page = (await client.get("/import")).text
    assert "could not be read" not in page
    assert "Ignored files" in page
    listed = (await client.get("/import/failures/ignored")).text
    assert listed.count("Take back") == 4
    await client.post(f"/import/failures/take-back?entry={entries[0]}")
    assert "1 file could not be read" in (await client.get("/import")).text


async def test_names_go_on_page_by_page(client: httpx.AsyncClient, db: Database) -> None:
    entries = await failures(db, await a_root(db), 250)
    seen: list[int] = []
    where: str | None = "/import/failures?reason=truncated"
    while where:
        page = (await client.get(where)).text
        seen += [e for e in entries if f'id="file-{e}"' in page]
        after = page.partition("&amp;after=")[2].partition('"')[0]
        where = f"/import/failures?reason=truncated&after={after}" if after else None
    assert seen == entries


async def test_class_that_is_too_large_to_count_says_so(client: httpx.AsyncClient, db: Database) -> None:
    await failures(db, await a_root(db), 1_200)
    page = (await client.get("/import")).text
    assert "More than 1,000 files could not be read" in page
    assert "1,000+" in page
    assert "Retry all" in page
