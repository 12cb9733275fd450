"""Keeping one of two: never the one without a file, and no word of a person is lost on either way."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from appliance.core.errors import Conflict
from appliance.operations import history, services
from appliance.operations.kinds import Kind
from tests.duplicates.conftest import Doubles, jpeg, scene
from tests.duplicates.test_deciding import bring, decide, state
from tests.duplicates.test_review import shown_pair
from tests.media import packets
from tests.media_files import put


async def tags(doubles: Doubles, asset_id: int) -> dict[str, str]:
    rows = await doubles.lib.rows(
        "SELECT t.name, x.by FROM asset_tag x JOIN tag t ON t.id = x.tag_id WHERE x.asset_id = $1", asset_id
    )
    return {row["name"]: row["by"] for row in rows}


async def say(doubles: Doubles, folder: Path, name: str, *words: str) -> None:
    """Write a sidecar beside a picture, and have it read."""
    put(folder, f"{name}.xmp", packets.xmp(dc_subject=list(words)))
    await doubles.imports.scan(folder)


async def without_file(doubles: Doubles, folder: Path, name: str) -> None:
    (folder / name).unlink()
    await doubles.imports.scan(folder)


async def test_the_one_whose_file_is_missing_is_never_proposed_and_not_kept(
    client: httpx.AsyncClient, doubles: Doubles, folder: Path
) -> None:
    put(folder, "large.jpg", jpeg(scene(1)))
    put(folder, "small.jpg", jpeg(scene(1, (320, 240)), 85))
    await doubles.imports.scan(folder)
    await doubles.search()
    large, small = await doubles.ids("large.jpg", "small.jpg")
    await without_file(doubles, folder, "large.jpg")

    page = await client.get("/duplicates")
    letter = "A" if small < large else "B"
    assert f"<h2>Keep {letter}</h2>" in page.text
    assert f"{letter} has its file; that of the other one is missing." in page.text
    assert "Missing. It was " in page.text
    pair = shown_pair(page)
    answer = await client.post(f"/duplicates/{pair}", data={"kind": "keep_one", "keep": str(large)})

    assert answer.status_code == 409
    assert "The file of large.jpg is missing" in answer.text
    assert await doubles.lib.value("SELECT count(*) FROM asset WHERE state = 'trashed'") == 0
    assert (await decide(doubles, "keep_one", small, large)).changed == 2


async def test_of_two_without_files_one_may_be_kept(doubles: Doubles, folder: Path) -> None:
    keep, drop = await bring(doubles, folder, "a.jpg", "b.jpg")
    put(folder, "other.jpg", jpeg(scene(2)))
    await doubles.imports.scan(folder)
    await doubles.lib.execute("UPDATE asset SET missing_since = now()")

    assert (await decide(doubles, "keep_one", keep, drop)).changed == 2


async def test_what_was_said_stays_with_the_one_that_is_left_when_the_other_is_deleted_for_good(
    doubles: Doubles, folder: Path
) -> None:
    keep, drop = await bring(doubles, folder, "a.jpg", "b.jpg")
    await doubles.lib.act("tag", [drop], tags="sea")
    await doubles.lib.act("title", [drop], title="A day")
    asked = await decide(doubles, "keep_one", keep, drop)
    await doubles.lib.act("purge", [drop])
    before = await state(doubles)

    with pytest.raises(Conflict) as refused:
        await doubles.lib.undo(asked.id)

    assert "The other one was deleted for good since" in refused.value.hint
    assert await state(doubles) == before
    assert await tags(doubles, keep) == {"sea": "human"}


async def test_the_key_passes_over_keeping_one_whose_other_one_is_gone(
    doubles: Doubles, folder: Path, account: int
) -> None:
    keep, drop = await bring(doubles, folder, "a.jpg", "b.jpg")
    before = await doubles.lib.act("rate", [keep], person=account, rating="3")
    async with doubles.lib.db.unit_of_work() as uow:
        kept = await services.act(uow, Kind.KEEP_ONE, [keep, drop], {"pair": [keep, drop]}, person=account)
        last = await history.last_undoable(uow.sql, account)
        assert last is not None
        assert last.id == kept.id
    await doubles.lib.act("purge", [drop])

    async with doubles.lib.db.unit_of_work() as uow:
        last = await history.last_undoable(uow.sql, account)

    assert last is not None
    assert last.id == before.id


async def test_a_tag_that_was_taken_off_the_one_that_stays_does_not_come_from_the_other(
    client: httpx.AsyncClient, doubles: Doubles, folder: Path
) -> None:
    keep, drop = await bring(doubles, folder, "a.jpg", "b.jpg")
    await doubles.lib.act("tag", [keep], tags="sea")
    await doubles.lib.act("untag", [keep], tags="sea")
    await say(doubles, folder, "b.jpg", "sea", "pier")
    page = (await client.get("/duplicates")).text
    before = await state(doubles)

    asked = await decide(doubles, "keep_one", keep, drop)

    assert "pier, from" in page
    assert "sea, from" not in page
    assert await tags(doubles, keep) == {"pier": "human"}
    await doubles.lib.undo(asked.id)
    assert await state(doubles) == before
    assert await doubles.lib.value("SELECT count(*) FROM tag_rejection WHERE asset_id = $1", keep) == 1


async def test_a_persons_tag_stands_above_that_of_a_sidecar_and_stays_when_the_sidecar_goes(
    doubles: Doubles, folder: Path
) -> None:
    keep, drop = await bring(doubles, folder, "a.jpg", "b.jpg")
    await say(doubles, folder, "a.jpg", "sea")
    await doubles.lib.act("tag", [drop], tags="sea")
    before = await state(doubles)
    asked = await decide(doubles, "keep_one", keep, drop)
    assert await tags(doubles, keep) == {"sea": "human"}

    await doubles.lib.undo(asked.id)
    assert await state(doubles) == before

    await decide(doubles, "keep_one", keep, drop)
    (folder / "a.jpg.xmp").unlink()
    await doubles.imports.scan(folder)
    assert await tags(doubles, keep) == {"sea": "human"}
