"""A film is made playable while somebody waits for it, and no longer."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from appliance.library import ondemand, playing, renditions
from appliance.media.decoder import ChildDied
from appliance.media.reasons import Reason
from queues import playing as lane
from tests.ingest.conftest import Ingest
from tests.library.films import film, frames_of, long_film, take, until_making, wish, work
from tests.media import make


async def sha(ingest: Ingest, asset_id: int) -> bytes:
    (row,) = await ingest.rows("SELECT sha256 FROM asset WHERE id = $1", asset_id)
    found = row["sha256"]
    assert isinstance(found, bytes)
    return found


async def folder_of(ingest: Ingest, asset_id: int) -> Path:
    return ingest.settings.home.rendition(await sha(ingest, asset_id), "play").parent


async def lapse(ingest: Ingest) -> None:
    await ingest.rows("UPDATE conversion SET wanted_until = now() - interval '1 second' RETURNING id")


async def test_a_wish_becomes_a_film_that_can_be_played(ingest: Ingest, folder: Path) -> None:
    asset = await film(ingest, folder, "a.mkv", make.film("mkv", audio=True))
    assert (await wish(ingest, asset)).state == "waits"
    (claimed,) = await take(ingest)
    assert (await wish(ingest, asset)).state == "making"

    assert await work(ingest, claimed) == "copied"

    assert (await wish(ingest, asset)).state == "ready"
    place = await folder_of(ingest, asset) / "play.mp4"
    (row,) = await ingest.rows("SELECT status, width, height, bytes FROM rendition WHERE name = 'play'")
    assert row == {"status": "complete", "width": 64, "height": 32, "bytes": place.stat().st_size}
    assert frames_of(place.read_bytes()) == 30
    assert [p.name for p in place.parent.glob("*.part")] == []


async def test_a_film_that_nobody_waits_for_any_more_is_stopped(ingest: Ingest, folder: Path) -> None:
    asset = await film(ingest, folder, "a.avi", long_film())
    await wish(ingest, asset)
    (claimed,) = await take(ingest)
    working = asyncio.create_task(work(ingest, claimed))
    await until_making(ingest, asset)
    (pid,) = ingest.pool.pids()
    place = await folder_of(ingest, asset)
    assert len(list(place.glob("play.*.part"))) == 1
    await lapse(ingest)

    assert await working == "left"

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert await ingest.rows("SELECT 1 FROM conversion") == []
    assert list(place.glob("play*")) == []


async def test_one_who_leaves_does_not_take_the_film_from_another(ingest: Ingest, folder: Path) -> None:
    asset = await film(ingest, folder, "a.mkv", make.film("mkv"))
    await wish(ingest, asset)
    async with ingest.db.unit_of_work() as uow:
        await playing.leave(uow, asset)
    (left,) = await ingest.rows("SELECT wanted_until - now() < interval '5 seconds' AS soon FROM conversion")
    assert left["soon"]
    await wish(ingest, asset)
    (left,) = await ingest.rows("SELECT wanted_until - now() < interval '5 seconds' AS soon FROM conversion")
    assert not left["soon"]


async def test_a_wish_that_lapsed_before_its_turn_is_forgotten(ingest: Ingest, folder: Path) -> None:
    asset = await film(ingest, folder, "a.mkv", make.film("mkv"))
    await wish(ingest, asset)
    await lapse(ingest)
    assert await take(ingest) == []
    assert await ingest.rows("SELECT 1 FROM conversion") == []


async def test_a_failure_says_why_until_somebody_tries_again(ingest: Ingest, folder: Path) -> None:
    asset = await film(ingest, folder, "a.mkv", make.film("mkv"))
    await wish(ingest, asset)
    (claimed,) = await take(ingest)
    (folder / "a.mkv").unlink()
    assert await work(ingest, claimed) == "failed"
    told = await wish(ingest, asset)
    assert (told.state, told.reason) == ("failed", "vanished")
    assert await take(ingest) == []
    assert (await wish(ingest, asset, again=True)).state == "waits"
    assert len(await take(ingest)) == 1


async def test_a_film_that_was_turned_meanwhile_is_made_again(ingest: Ingest, folder: Path) -> None:
    asset = await film(ingest, folder, "a.mkv", make.film("mkv"))
    await wish(ingest, asset)
    (claimed,) = await take(ingest)
    await ingest.rows("UPDATE asset SET turn = 90 WHERE id = $1 RETURNING id", asset)
    assert await work(ingest, claimed) == "turned"
    assert await ingest.rows("SELECT 1 FROM rendition WHERE name = 'play'") == []
    (again,) = await take(ingest)
    assert await work(ingest, again) == "encoded"
    (row,) = await ingest.rows("SELECT width, height FROM rendition WHERE name = 'play'")
    assert (row["width"], row["height"]) == (32, 64)


async def test_turning_lets_go_of_a_playable_film(ingest: Ingest, folder: Path) -> None:
    asset = await film(ingest, folder, "a.mkv", make.film("mkv"))
    await wish(ingest, asset)
    await work(ingest, (await take(ingest))[0])
    await ingest.rows(
        "UPDATE rendition SET status = 'pending', priority = 0 WHERE name = 'play' RETURNING id"
    )

    async def resting(_sql: object) -> bool:
        return True

    async with ingest.db.unit_of_work() as uow:
        taken = [c for c in await renditions.claim_when(resting)(uow.sql, 1, 10) if c.row.name == "play"]
    async with ingest.pool.child() as child:
        assert await renditions.render(ingest.settings, ingest.db, taken[0], child) == "let_go"
    assert not (await folder_of(ingest, asset) / "play.mp4").exists()
    assert (await wish(ingest, asset)).state == "waits"


async def test_a_late_finish_of_a_settled_film_changes_nothing(ingest: Ingest, folder: Path) -> None:
    asset = await film(ingest, folder, "a.mkv", make.film("mkv"))
    await wish(ingest, asset)
    (zombie,) = await take(ingest)
    await ingest.rows("UPDATE conversion SET status = 'pending', claim = NULL RETURNING id")
    (again,) = await take(ingest)
    outcome = await work(ingest, zombie)
    assert outcome in {"stale", "left"}
    (row,) = await ingest.rows("SELECT status, claim FROM conversion")
    assert row == {"status": "processing", "claim": again.claim}
    assert await ingest.rows("SELECT 1 FROM rendition WHERE name = 'play'") == []


async def test_a_killed_encoder_is_counted_against_its_film(ingest: Ingest, folder: Path) -> None:
    asset = await film(ingest, folder, "a.avi", long_film())
    await wish(ingest, asset)
    (claimed,) = await take(ingest)
    working = asyncio.create_task(work(ingest, claimed))
    await until_making(ingest, asset)
    os.kill(ingest.pool.pids()[0], signal.SIGKILL)
    with pytest.raises(ChildDied) as death:
        await working
    assert death.value.reason is Reason.CRASHED
    assert list((await folder_of(ingest, asset)).glob("play*")) == []


async def test_what_nobody_looked_at_for_two_weeks_is_removed(ingest: Ingest, folder: Path) -> None:
    asset = await film(ingest, folder, "a.mkv", make.film("mkv"))
    await wish(ingest, asset)
    await work(ingest, (await take(ingest))[0])
    place = await folder_of(ingest, asset) / "play.mp4"
    assert await ondemand.sweep(ingest.db, ingest.settings.home) == 0
    await ingest.rows(
        "UPDATE rendition SET used_at = now() - interval '15 days' WHERE name = 'play' RETURNING id"
    )
    assert await ondemand.sweep(ingest.db, ingest.settings.home) == 1
    assert not place.exists()
    assert (await wish(ingest, asset)).state == "waits"


async def test_beyond_the_room_for_them_the_ones_used_last_stay(ingest: Ingest, folder: Path) -> None:
    assets = [await film(ingest, folder, f"{n}.mkv", make.film("mkv", count=10 + n)) for n in range(3)]
    for hours, asset in enumerate(assets, start=2):
        await wish(ingest, asset)
        await work(ingest, (await take(ingest))[0])
        await ingest.rows(
            "UPDATE rendition SET used_at = now() - make_interval(hours => $2)"
            " WHERE asset_id = $1 AND name = 'play' RETURNING id",
            asset,
            hours,
        )
    (size,) = await ingest.rows("SELECT max(bytes)::bigint AS most FROM rendition WHERE name = 'play'")
    assert await ondemand.sweep(ingest.db, ingest.settings.home, most_bytes=int(str(size["most"]))) == 2
    (row,) = await ingest.rows("SELECT asset_id FROM rendition WHERE name = 'play'")
    assert row["asset_id"] == assets[0]


def test_the_film_fails_by_its_own_limit_before_the_task_does() -> None:
    assert lane.LIMIT.total_seconds() - lane.ENCODE_S > 0
    assert lane.FILMS.held(None) == 1  # type: ignore[arg-type]
