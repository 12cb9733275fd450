"""A still and its film belong together by the mark that both bear, and by nothing else."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from pathlib import Path

import pytest

from appliance.core.drains import Claimed
from appliance.ingest import claims
from appliance.ingest.importing import Import
from appliance.ingest.models import Mode
from appliance.library import motion
from appliance.tagging import services as tagging
from tests.ingest.conftest import Ingest
from tests.library.films import frames_of, take, wish, work
from tests.media import living, make
from tests.media_files import jpeg, put


async def states(ingest: Ingest) -> dict[str, str]:
    rows = await ingest.rows("SELECT p.path, a.state FROM asset a JOIN provenance p ON p.asset_id = a.id")
    return {os.fsdecode(bytes(row["path"])): str(row["state"]) for row in rows}  # type: ignore[call-overload]


async def number(ingest: Ingest, name: str) -> int:
    (row,) = await ingest.rows("SELECT asset_id FROM provenance WHERE path = $1", os.fsencode(name))
    return int(str(row["asset_id"]))


async def bring(ingest: Ingest, folder: Path, *files: tuple[str, bytes]) -> None:
    """Import files one after the other."""
    for name, content in files:
        put(folder, name, content)
        await ingest.scan(folder)


async def set_(ingest: Ingest, name: str, what: str) -> None:
    await ingest.rows(f"UPDATE asset SET {what} WHERE id = $1 RETURNING id", await number(ingest, name))


STILL, FILM = ("IMG_1.HEIC", living.apple_still(format_="HEIF")), ("IMG_1.MOV", living.apple_film())


@pytest.mark.parametrize("order", [(STILL, FILM), (FILM, STILL)], ids=["still first", "film first"])
async def test_a_still_and_its_film_are_one_whichever_comes_first(
    ingest: Ingest, folder: Path, order: tuple[tuple[str, bytes], ...]
) -> None:
    await bring(ingest, folder, *order)
    assert await states(ingest) == {"IMG_1.HEIC": "kept", "IMG_1.MOV": "inside"}
    still, film = await number(ingest, "IMG_1.HEIC"), await number(ingest, "IMG_1.MOV")
    async with ingest.db.unit_of_work() as uow:
        found = await motion.of(uow.sql, still, everything=False)
        assert await motion.of(uow.sql, film, everything=False) is None
    assert found is not None
    assert (found.asset_id, found.mime, found.part, found.played(0)) == (
        film, "video/quicktime", None, "original",
    )  # fmt: skip


async def test_both_halves_at_the_same_moment_find_each_other(ingest: Ingest, folder: Path) -> None:
    for name, content in (STILL, FILM):
        put(folder, name, content)
    await ingest.walk(await ingest.claim_walk(await ingest.queue(folder)))
    async with ingest.db.unit_of_work() as uow:
        taken = await claims.claim(uow.sql, 1, 16)

    async def imported(claimed: Claimed) -> str:
        return await Import(ingest.settings, ingest.db, claimed).run(partial(ingest.pool.child))

    assert await asyncio.gather(*map(imported, taken)) == ["imported", "imported"]
    assert await states(ingest) == {"IMG_1.HEIC": "kept", "IMG_1.MOV": "inside"}


async def test_a35_neither_names_nor_moments_make_a_pair(ingest: Ingest, folder: Path) -> None:
    moment = "2020:01:02 03:04:05"
    for name, seed in (("IMG_1.jpg", 1), ("IMG_1_2.jpg", 2), ("IMG_1 (1).jpg", 3)):
        put(folder, name, jpeg(seed, taken=moment))
    put(folder, "IMG_1.mov", make.film("mov", metadata={"creation_time": "2020-01-02T03:04:05Z"}))
    other = living.PAIR.replace("6", "7")
    put(folder, "IMG_2.HEIC", living.apple_still())
    put(folder, "IMG_2.MOV", living.apple_film(other))
    await ingest.scan(folder)
    assert set((await states(ingest)).values()) == {"kept"}
    assert len(await states(ingest)) == 6
    assert await ingest.rows("SELECT * FROM live_pair") == []


async def test_a34_a_broken_film_does_not_keep_its_still_out(ingest: Ingest, folder: Path) -> None:
    put(folder, *STILL)
    put(folder, "IMG_1.MOV", FILM[1][: len(FILM[1]) // 2])
    view = await ingest.scan(folder)
    assert (view.imported, view.failed) == (1, 1)
    assert await states(ingest) == {"IMG_1.HEIC": "kept"}


async def test_an_edited_copy_shares_the_film(ingest: Ingest, folder: Path) -> None:
    await bring(ingest, folder, STILL, FILM, ("IMG_E1.JPG", living.apple_still(seed=60)))
    await set_(ingest, "IMG_1.HEIC", "state = 'trashed', trashed_from = state, trashed_at = now()")
    assert (await states(ingest))["IMG_1.MOV"] == "inside"
    await set_(ingest, "IMG_E1.JPG", "state = 'trashed', trashed_from = state, trashed_at = now()")
    assert (await states(ingest))["IMG_1.MOV"] == "kept"


@pytest.mark.parametrize(("was", "then"), [("kept", "kept"), ("inbox", "kept"), ("archived", "archived")])
async def test_throwing_the_still_away_shows_the_film_again(
    ingest: Ingest, folder: Path, was: str, then: str
) -> None:
    await bring(ingest, folder, STILL, FILM)
    await set_(ingest, "IMG_1.HEIC", f"state = '{was}', private = true")
    await set_(ingest, "IMG_1.HEIC", "state = 'trashed', trashed_from = state, trashed_at = now()")
    assert (await states(ingest))["IMG_1.MOV"] == then
    (film,) = await ingest.rows("SELECT private FROM asset WHERE kind = 'video'")
    assert film["private"] is True
    await set_(ingest, "IMG_1.HEIC", "state = trashed_from, trashed_from = NULL, trashed_at = NULL")
    assert await states(ingest) == {"IMG_1.HEIC": was, "IMG_1.MOV": "inside"}


async def test_deleting_the_still_for_good_keeps_the_film(ingest: Ingest, folder: Path) -> None:
    await bring(ingest, folder, STILL, FILM)
    await set_(ingest, "IMG_1.HEIC", "state = 'trashed', trashed_from = state, trashed_at = now()")
    await ingest.rows("DELETE FROM asset WHERE state = 'trashed' RETURNING id")
    assert await states(ingest) == {"IMG_1.MOV": "kept"}
    assert await ingest.rows("SELECT * FROM live_pair") == []


async def test_a_film_that_went_with_its_still_is_not_lost_when_it_comes_back_alone(
    ingest: Ingest, folder: Path
) -> None:
    await bring(ingest, folder, STILL, FILM)
    await ingest.rows(
        "UPDATE asset SET state = 'trashed', trashed_from = state, trashed_at = now() RETURNING id"
    )
    await ingest.rows("DELETE FROM asset WHERE kind = 'still' RETURNING id")
    await set_(ingest, "IMG_1.MOV", "state = trashed_from, trashed_from = NULL, trashed_at = NULL")
    assert await states(ingest) == {"IMG_1.MOV": "kept"}


@pytest.mark.parametrize("what", ["rating = 3", "favourite = true", "note = 'ours'", "state = 'trashed'"])
async def test_a_film_that_somebody_cared_about_stays_where_it_is(
    ingest: Ingest, folder: Path, what: str
) -> None:
    await bring(ingest, folder, FILM)
    await set_(ingest, "IMG_1.MOV", what)
    before = (await states(ingest))["IMG_1.MOV"]
    await bring(ingest, folder, STILL)
    assert (await states(ingest))["IMG_1.MOV"] == before


@pytest.mark.parametrize("what", ["title", "tag"])
async def test_a_film_that_somebody_named_stays_where_it_is(ingest: Ingest, folder: Path, what: str) -> None:
    await bring(ingest, folder, FILM)
    film = await number(ingest, "IMG_1.MOV")
    if what == "title":
        await set_(ingest, "IMG_1.MOV", "title = 'Ours'")
    else:
        async with ingest.db.unit_of_work() as uow:
            await tagging.assign(uow, [film], [await tagging.make(uow, "sea", kind="general")])
    await bring(ingest, folder, STILL)
    assert (await states(ingest))["IMG_1.MOV"] == "kept"


async def test_a_title_that_the_film_brought_along_is_nobodys_care(ingest: Ingest, folder: Path) -> None:
    await bring(ingest, folder, FILM)
    film = await number(ingest, "IMG_1.MOV")
    await set_(ingest, "IMG_1.MOV", "title = 'IMG 1'")
    await ingest.rows(
        "INSERT INTO asset_words (asset_id, own, given) VALUES ($1, '{}', '{\"title\": \"IMG 1\"}')"
        " ON CONFLICT (asset_id) DO UPDATE SET given = excluded.given RETURNING asset_id",
        film,
    )
    await bring(ingest, folder, STILL)
    assert (await states(ingest))["IMG_1.MOV"] == "inside"


async def test_a_private_film_is_not_put_into_a_still_that_everybody_sees(
    ingest: Ingest, folder: Path
) -> None:
    await bring(ingest, folder, FILM)
    await set_(ingest, "IMG_1.MOV", "private = true")
    await bring(ingest, folder, STILL)
    assert (await states(ingest))["IMG_1.MOV"] == "kept"
    still = await number(ingest, "IMG_1.HEIC")
    async with ingest.db.unit_of_work() as uow:
        assert await motion.of(uow.sql, still, everything=False) is None
        assert await motion.of(uow.sql, still, everything=True) is not None


async def test_a_pair_that_is_sent_twice_stays_one(ingest: Ingest, folder: Path) -> None:
    for name, content in (STILL, FILM):
        put(folder, name, content)
    await ingest.scan(folder, Mode.COPY)
    for name, content in (STILL, FILM):
        put(folder.with_name("again"), name, content)
    assert (await ingest.scan(folder.with_name("again"), Mode.COPY)).duplicate == 2
    assert await states(ingest) == {"IMG_1.HEIC": "kept", "IMG_1.MOV": "inside"}


async def test_the_timeline_counts_the_pair_once(ingest: Ingest, folder: Path) -> None:
    await bring(ingest, folder, FILM, STILL)
    (row,) = await ingest.rows("SELECT sum(assets)::int AS n FROM month_delta")
    assert row["n"] == 1


async def test_a_motion_that_browsers_do_not_play_is_made_playable(ingest: Ingest, folder: Path) -> None:
    strange = make.film("mov", codec="mpeg4", count=10)
    await bring(ingest, folder, ("a.jpg", living.google(strange)))
    still = await number(ingest, "a.jpg")
    async with ingest.db.unit_of_work() as uow:
        found = await motion.of(uow.sql, still, everything=False)
    assert found is not None
    assert (found.asset_id, found.played(0)) == (still, "wish")
    await wish(ingest, still)
    assert await work(ingest, (await take(ingest))[0]) == "encoded"
    (row,) = await ingest.rows("SELECT sha256 FROM asset")
    made = ingest.settings.home.rendition(bytes(row["sha256"]), "play")  # type: ignore[call-overload]
    assert frames_of(made.read_bytes()) == 10


async def test_finding_the_other_half_reads_no_other_asset(ingest: Ingest, folder: Path) -> None:
    await bring(ingest, folder, STILL, FILM)
    await ingest.rows(
        "INSERT INTO asset (kind, sha256, size, mime, width, height, date_source, effective_at)"
        " SELECT 'still', decode(md5(n::text) || md5(n::text), 'hex'), n, 'image/jpeg', 1, 1, 'import', now()"
        " FROM generate_series(1, 5000) n RETURNING id"
    )
    await ingest.rows("ANALYZE asset")
    plan = await ingest.rows(
        "EXPLAIN SELECT min(id) FROM asset WHERE facts ->> 'live_id' = 'x' AND kind = 'video'"
    )
    assert any("ix_asset_live" in str(line["QUERY PLAN"]) for line in plan)
