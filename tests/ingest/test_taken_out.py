"""A folder that is taken out while something works on it: nothing of that brings it back."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest

from appliance.core import settings as settings_module
from appliance.core.drains import Interrupted
from appliance.core.errors import Conflict
from appliance.ingest import (
    cancelling,
    changes,
    claims,
    inbox,
    letting_in,
    roots,
    scanning,
    services,
    telling,
    walk,
    watching,
)
from appliance.ingest.importing import Import
from appliance.ingest.inbox import Which
from tests.ingest.conftest import Ingest
from tests.ingest.test_missing import fill, missing
from tests.ingest.test_watching import batches, rest
from tests.media_files import jpeg, put


@pytest.fixture(autouse=True)
def home(ingest: Ingest) -> None:
    settings_module.use(ingest.settings)
    ingest.settings.home.tmp.mkdir(parents=True, exist_ok=True)


async def retire(ingest: Ingest) -> None:
    async with ingest.db.unit_of_work() as uow:
        await roots.retire(uow, 1)


async def status(ingest: Ingest) -> Any:
    return (await ingest.rows("SELECT status FROM root WHERE id = 1"))[0]["status"]


async def turn(ingest: Ingest) -> changes.Watched:
    """The folder's turn to be looked at has come."""
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute("UPDATE root SET watch_at = now()")
    (root,) = await watching.due(ingest.db)
    return root


async def test_look_at_a_folder_that_was_taken_out_and_unplugged_leaves_it_out(
    ingest: Ingest, folder: Path
) -> None:
    fill(folder, 2)
    await ingest.scan(folder)
    root = await turn(ingest)
    await retire(ingest)
    folder.rename(folder.with_name("unplugged"))

    await watching.look(ingest.settings, ingest.db, root, 1)

    assert await status(ingest) == "retired"


async def test_look_at_a_folder_that_was_taken_out_finds_nothing_new_or_gone(
    ingest: Ingest, folder: Path
) -> None:
    first, *_others = fill(folder, 3)
    rest(folder)
    await ingest.scan(folder)
    root = await turn(ingest)
    await retire(ingest)
    first.unlink()
    put(folder, "new.jpg", jpeg(70))

    await watching.look(ingest.settings, ingest.db, root, 1)

    assert await batches(ingest) == []
    assert await missing(ingest) == []
    assert await status(ingest) == "retired"


async def test_disk_that_comes_back_after_its_folder_was_taken_out_is_not_scanned(
    ingest: Ingest, folder: Path
) -> None:
    fill(folder, 1)
    await ingest.scan(folder)
    async with ingest.db.unit_of_work() as uow:
        await services.mark_unavailable(uow.sql, 1, "No such file or directory")
    root = await turn(ingest)
    await retire(ingest)

    assert await watching.look(ingest.settings, ingest.db, root, 1) == 0

    assert await ingest.rows("SELECT FROM import_batch WHERE status = 'pending'") == []


async def test_file_in_work_of_a_folder_that_was_taken_out_does_not_bring_it_back(
    ingest: Ingest, folder: Path
) -> None:
    fill(folder, 1)
    await ingest.walk(await ingest.claim_walk(await ingest.queue(folder)))
    async with ingest.db.unit_of_work() as uow:
        (taken,) = await claims.claim(uow.sql, 1, 1)
    await retire(ingest)
    folder.rename(folder.with_name("unplugged"))

    with pytest.raises(Interrupted):
        await Import(ingest.settings, ingest.db, taken).run(ingest.pool.child)

    assert await status(ingest) == "retired"


async def test_end_of_a_walk_does_not_bring_back_what_was_taken_out(ingest: Ingest, folder: Path) -> None:
    fill(folder, 1)
    await ingest.scan(folder)
    walking = await ingest.claim_walk(await ingest.queue(folder))
    await retire(ingest)

    with pytest.raises(scanning.LostWalk):
        async with ingest.db.unit_of_work() as uow:
            await scanning.mark_read(uow.sql, walking)

    assert await status(ingest) == "retired"


async def test_scan_of_a_folder_that_was_taken_out_is_refused_in_words(ingest: Ingest, folder: Path) -> None:
    fill(folder, 1)
    await ingest.scan(folder)
    async with ingest.db.unit_of_work() as uow:
        place = (await roots.root(uow.sql, 1)).place
    await retire(ingest)

    async with ingest.db.unit_of_work() as uow:
        with pytest.raises(Conflict, match="taken out of the library"):
            await services.queue_scan(uow, place)


async def test_retiring_waits_for_who_asks_for_a_scan_and_ends_it(ingest: Ingest, folder: Path) -> None:
    fill(folder, 1)
    await ingest.scan(folder)
    async with ingest.db.unit_of_work() as uow:
        await services.queue_scan(uow, (await roots.root(uow.sql, 1)).place)
        meanwhile = asyncio.create_task(retire(ingest))
        done, _ = await asyncio.wait([meanwhile], timeout=0.2)
        assert not done
    await meanwhile

    assert await ingest.rows("SELECT FROM import_batch WHERE status IN ('pending', 'walking')") == []


async def test_failures_that_are_tried_again_leave_the_inbox_with_their_folder(
    ingest: Ingest, folder: Path
) -> None:
    put(folder, "bad.jpg", jpeg(1)[:300])
    await ingest.scan(folder)
    await inbox.retry(Which(reason="truncated"))

    await retire(ingest)
    async with ingest.db.unit_of_work() as uow:
        await cancelling.drop_waiting(uow.sql)

    assert await ingest.rows("SELECT outcome, reason FROM root_entry") == [
        {"outcome": "pending", "reason": None}
    ]


@pytest.mark.parametrize("how", ["cancelled", "retired"])
async def test_file_that_is_let_in_and_given_up_stays_kept_out(
    ingest: Ingest, folder: Path, how: str
) -> None:
    put(folder, "deleted.jpg", jpeg(1))
    await ingest.walk(await ingest.claim_walk(await ingest.queue(folder)))
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute("DELETE FROM import_task")
        await uow.sql.execute("UPDATE root_entry SET outcome = 'skipped', reason = 'tombstoned'")
        await letting_in.let_in(uow, 1, person=None)
    if how == "retired":
        await retire(ingest)
    else:
        (batch,) = await ingest.rows("SELECT id FROM import_batch WHERE cause = 'retry'")
        await cancelling.cancel(batch["id"])  # type: ignore[arg-type]
    async with ingest.db.unit_of_work() as uow:
        await cancelling.drop_waiting(uow.sql)

    assert await ingest.rows("SELECT outcome, reason FROM root_entry") == [
        {"outcome": "skipped", "reason": "tombstoned"}
    ]


def told(folder: Path) -> asyncio.StreamReader:
    """What the child of a look says of a folder, but not its end."""
    frames = io.BytesIO()
    for record in walk.Walk(bytes(folder), None, frozenset()).records(b""):
        if not isinstance(record, telling.End):
            telling.write(record, frames)
    stream = asyncio.StreamReader()
    stream.feed_data(frames.getvalue())
    return stream


async def test_look_that_fails_leaves_what_it_began_to_a_scan(ingest: Ingest, folder: Path) -> None:
    fill(folder, 1)
    rest(folder)
    await ingest.scan(folder)
    look = changes.Look(ingest.db, await turn(ingest), 1)
    put(folder, "new.jpg", jpeg(70))
    stream = told(folder)
    stream.feed_data(telling.LENGTH.pack(3) + b"???")

    with pytest.raises(Exception, match="Expected"):
        await look.follow(stream)

    assert [b["status"] for b in await batches(ingest)] == ["pending"]


async def test_look_that_is_out_of_time_leaves_what_it_began_to_a_scan(ingest: Ingest, folder: Path) -> None:
    fill(folder, 1)
    rest(folder)
    await ingest.scan(folder)
    look = changes.Look(ingest.db, await turn(ingest), 1)
    put(folder, "new.jpg", jpeg(70))
    stream = told(folder)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as limit:
            running = asyncio.create_task(look.follow(stream))
            # A child that says nothing more: all it told is written down.
            while not await batches(ingest):
                await asyncio.sleep(0)
            limit.reschedule(0)
            await running

    assert [b["status"] for b in await batches(ingest)] == ["pending"]
