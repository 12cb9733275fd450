"""Volumes in the collection: one asset each, whose pages are assets that are shown within it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from appliance.ingest import away
from appliance.ingest.models import Mode
from appliance.ingest.services import imports_idle
from appliance.library import files, queries, renditions, unpacking, volumes
from appliance.media import hops
from appliance.media.decoder import Child
from appliance.media.hops import Hop
from appliance.media.wire import Read, Stat
from appliance.operations import services as operations
from appliance.operations.kinds import Kind
from appliance.tagging import services as tagging
from tests.ingest.conftest import Ingest
from tests.library.books import take, the_volume, unpack
from tests.media.make import corner, exif, saved
from tests.media.zips import comic, zipped
from tests.media_files import jpeg, put


async def test_volume_is_one_asset_with_its_cover_and_pages(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.cbz", comic(3))
    batch = await ingest.scan(folder)
    assert (batch.imported, batch.failed) == (1, 0)
    (row,) = await ingest.rows("SELECT kind, state, mime, frames, width, height FROM asset")
    assert row == {
        "kind": "volume", "state": "kept", "mime": "application/vnd.comicbook+zip", "frames": 3,
        "width": 64, "height": 48,
    }  # fmt: skip

    assert await unpack(ingest) == ["complete"]

    rows = await ingest.rows(
        "SELECT p.position, a.kind, a.state, a.size FROM volume_page p JOIN asset a ON a.id = p.asset_id"
        " ORDER BY p.position"
    )
    assert [tuple(r.values()) for r in rows] == [(i + 1, "still", "inside", len(jpeg(i))) for i in range(3)]
    grids = await ingest.rows(
        "SELECT count(*) AS n FROM rendition r JOIN asset a ON a.id = r.asset_id"
        " WHERE a.state = 'inside' AND r.status = 'complete'"
    )
    assert grids == [{"n": 6}]


async def test_pages_wait_until_imports_rest_unless_someone_reads(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.cbz", comic(2))
    await ingest.scan(folder)
    put(folder, "late.jpg", jpeg(9))
    await ingest.walk(await ingest.claim_walk(await ingest.queue(folder)))
    assert await take(ingest) == []

    async with ingest.db.unit_of_work() as uow:
        await volumes.want_pages(uow, await the_volume(ingest))
        assert [f.__name__ for f in uow._facts] == ["PagesWanted"]
    assert len(await take(ingest)) == 1


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("mode", [Mode.IN_PLACE, Mode.COPY])
async def test_preview_of_a_page_is_drawn_from_within_its_archive(
    ingest: Ingest, folder: Path, mode: Mode, packed: bool
) -> None:
    put(folder, "a.zip", zipped({"in.cbz": comic(2, packed=packed)}, packed=packed))
    await ingest.scan(folder, mode)
    await unpack(ingest)
    async with ingest.db.unit_of_work() as uow:
        taken = await renditions.claim_when(imports_idle)(uow.sql, 1, 10)

    async with ingest.pool.child() as child:
        drawn = [await renditions.render(ingest.settings, ingest.db, each, child) for each in taken]

    assert drawn == ["complete"] * 3


async def test_original_of_a_page_leads_into_its_archive(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.cbz", comic(2, packed=True))
    await ingest.scan(folder)
    await unpack(ingest)
    (row,) = await ingest.rows("SELECT asset_id FROM volume_page WHERE position = 2")
    async with ingest.db.unit_of_work() as uow:
        found = await files.original(uow.sql, ingest.settings.home, int(str(row["asset_id"])))

    with open(found.path, "rb") as file:
        assert hops.whole(file.fileno(), found.way) == jpeg(1)
    assert (found.mime, found.name) == ("image/jpeg", b"2.jpg")


async def test_a10_archives_that_begin_alike_are_two_items(ingest: Ingest, folder: Path) -> None:
    first = jpeg(1) + os.urandom(600_000)
    put(folder, "a.cbz", zipped({"1.jpg": first, "2.jpg": jpeg(2)}))
    put(folder, "b.cbz", zipped({"1.jpg": first, "2.jpg": jpeg(3)}))
    batch = await ingest.scan(folder)
    await unpack(ingest)

    assert (batch.imported, batch.duplicate) == (2, 0)
    pages = await ingest.rows("SELECT count(DISTINCT asset_id) AS n, count(*) AS of FROM volume_page")
    assert pages == [{"n": 3, "of": 4}]


async def test_a11_renamed_archive_stays_the_same_item(ingest: Ingest, folder: Path) -> None:
    path = put(folder, "a.cbz", comic(2))
    await ingest.scan(folder)
    before = await the_volume(ingest)
    path.rename(folder / "b.cbz")
    await ingest.scan(folder)

    assert await the_volume(ingest) == before
    (row,) = await ingest.rows("SELECT missing_since FROM asset WHERE id = $1", before)
    assert row["missing_since"] is None


async def tagged(ingest: Ingest, volume: int, *names: str) -> None:
    async with ingest.db.unit_of_work() as uow:
        tags = [await tagging.make(uow, name, kind="general") for name in names]
        await tagging.assign(uow, [volume], tags)


async def told(ingest: Ingest, volume: int) -> dict[str, object]:
    (row,) = await ingest.rows(
        "SELECT state, rating, favourite, title, missing_since IS NOT NULL AS missing, v.version_of,"
        " ARRAY(SELECT k.name FROM asset_tag t JOIN tag k ON k.id = t.tag_id WHERE t.asset_id = a.id"
        " ORDER BY 1) AS tags FROM asset a JOIN volume v ON v.asset_id = a.id WHERE a.id = $1",
        volume,
    )
    return row


@pytest.mark.parametrize("mode", [Mode.IN_PLACE, Mode.COPY])
async def test_a11_archive_that_got_a_page_is_a_new_version_with_what_people_said(
    ingest: Ingest, folder: Path, mode: Mode
) -> None:
    path = put(folder, "a.cbz", comic(4))
    await ingest.scan(folder, mode)
    before = await the_volume(ingest)
    await tagged(ingest, before, "sea")
    await ingest.rows("UPDATE asset SET rating = 4, favourite = true, title = 'Mine' WHERE id = $1", before)
    path.write_bytes(comic(5))
    await ingest.scan(folder, mode)

    (row,) = await ingest.rows("SELECT id FROM asset WHERE kind = 'volume' AND frames = 5")
    assert await told(ingest, int(str(row["id"]))) == {
        "state": "kept", "rating": 4, "favourite": True, "title": "Mine", "missing": False,
        "version_of": before, "tags": ["sea"],
    }  # fmt: skip
    lost = mode is Mode.IN_PLACE
    assert await told(ingest, before) == {
        "state": "archived" if lost else "kept", "rating": 4, "favourite": True, "title": "Mine",
        "missing": lost, "version_of": None, "tags": ["sea"],
    }  # fmt: skip


async def test_a_tag_that_was_taken_off_a_volume_stays_off_its_next_version(
    ingest: Ingest, folder: Path
) -> None:
    said = b"<ComicInfo><Genre>Sea, Pier</Genre></ComicInfo>"
    path = put(folder, "a.cbz", comic(4, ComicInfo__xml=said))
    await ingest.scan(folder)
    before = await the_volume(ingest)
    assert (await told(ingest, before))["tags"] == ["Pier", "Sea"]
    async with ingest.db.unit_of_work() as uow:
        await tagging.reject(uow, [before], await tagging.resolve(uow.sql, "sea"), user_id=None)

    path.write_bytes(comic(5, ComicInfo__xml=said))
    await ingest.scan(folder)

    (row,) = await ingest.rows("SELECT id FROM asset WHERE kind = 'volume' AND frames = 5")
    after = int(str(row["id"]))
    assert (await told(ingest, after))["tags"] == ["Pier"]
    assert await ingest.rows("SELECT 1 FROM tag_rejection WHERE asset_id = $1", after)


async def test_a_tag_that_a_person_put_on_a_volume_is_the_persons_on_its_next_version(
    ingest: Ingest, folder: Path
) -> None:
    path = put(folder, "a.cbz", comic(4))
    await ingest.scan(folder)
    await tagged(ingest, await the_volume(ingest), "Sea")
    path.write_bytes(comic(5, ComicInfo__xml=b"<ComicInfo><Genre>Sea, Pier</Genre></ComicInfo>"))
    await ingest.scan(folder)

    rows = await ingest.rows(
        "SELECT k.name, t.by FROM asset_tag t JOIN tag k ON k.id = t.tag_id"
        " JOIN asset a ON a.id = t.asset_id WHERE a.kind = 'volume' AND a.frames = 5 ORDER BY 1"
    )
    assert [(r["name"], r["by"]) for r in rows] == [("Pier", "sidecar"), ("Sea", "human")]


async def test_another_book_under_the_same_name_takes_nothing_over(ingest: Ingest, folder: Path) -> None:
    path = put(folder, "a.cbz", comic(4))
    await ingest.scan(folder)
    before = await the_volume(ingest)
    await tagged(ingest, before, "sea")
    path.write_bytes(comic(4, seed=7))
    await ingest.scan(folder)

    (row,) = await ingest.rows("SELECT id FROM asset WHERE kind = 'volume' AND id <> $1", before)
    found = await told(ingest, int(str(row["id"])))
    assert (found["version_of"], found["tags"]) == (None, [])
    assert (await told(ingest, before))["state"] == "kept"


async def test_comicinfo_gives_the_volume_its_title_and_tags(ingest: Ingest, folder: Path) -> None:
    said = (
        b"<ComicInfo><Title>The Lighthouse</Title><Series>Shores</Series><Writer>Ann</Writer>"
        b"<Genre>Sea</Genre><Characters>Kim, Bo</Characters></ComicInfo>"
    )
    put(folder, "a.cbz", comic(2, ComicInfo__xml=said))
    await ingest.scan(folder)
    await unpack(ingest)

    (row,) = await ingest.rows("SELECT title FROM asset WHERE kind = 'volume'")
    assert row == {"title": "The Lighthouse"}
    tags = await ingest.rows(
        "SELECT k.kind, k.name, t.by, a.kind AS of FROM asset_tag t JOIN tag k ON k.id = t.tag_id"
        " JOIN asset a ON a.id = t.asset_id ORDER BY 1, 2"
    )
    assert [(t["kind"], t["name"]) for t in tags] == [
        ("artist", "Ann"), ("character", "Bo"), ("character", "Kim"), ("general", "Sea"),
        ("series", "Shores"),
    ]  # fmt: skip
    assert {(t["by"], t["of"]) for t in tags} == {("sidecar", "volume")}


async def test_damaged_page_fails_alone_with_its_words(ingest: Ingest, folder: Path) -> None:
    content = bytearray(comic(3))
    content[content.find(jpeg(1)) + 200] ^= 0xFF
    put(folder, "a.cbz", bytes(content))
    await ingest.scan(folder)
    assert await unpack(ingest) == ["complete"]

    async with ingest.db.unit_of_work() as uow:
        found = await volumes.pages(uow.sql, await the_volume(ingest), 1, 9)
    assert [page.status for page in found] == ["complete", "failed", "complete"]
    assert (found[1].reason, found[1].detail) == (
        "corrupt", "damaged within its archive: the checksum does not fit"
    )  # fmt: skip
    async with ingest.db.unit_of_work() as uow:
        whole = await volumes.view(uow.sql, await the_volume(ingest), None)
    assert whole is not None
    assert (whole.pages, whole.failed, whole.first_failed) == (3, 1, 2)


@pytest.mark.parametrize("said", ["ends with \\u0000", "has \\u0000 within"])
async def test_words_that_spell_a_nul_keep_neither_page_nor_picture_out(
    ingest: Ingest, folder: Path, said: str
) -> None:
    # A backslash and five letters: text that somebody wrote, not the NUL that PostgreSQL refuses.
    put(folder, "a.cbz", zipped({"1.jpg": saved(corner((40, 60)), "JPEG", exif=exif(model=said))}))
    put(folder, "b.jpg", saved(corner((60, 40)), "JPEG", exif=exif(model=said)))
    assert (await ingest.scan(folder)).failed == 0
    assert await unpack(ingest) == ["complete"]

    rows = await ingest.rows("SELECT facts::text AS facts FROM asset WHERE kind = 'still'")
    assert [said in str(json.loads(str(row["facts"])).values()).replace("\\\\", "\\") for row in rows] == [
        True
    ] * 2


async def test_page_that_lies_loose_too_is_one_asset(ingest: Ingest, folder: Path) -> None:
    put(folder, "1.jpg", jpeg(0))
    put(folder, "a.cbz", comic(2))
    await ingest.scan(folder)
    await unpack(ingest)

    rows = await ingest.rows(
        "SELECT state, count(*) AS n FROM asset WHERE kind = 'still' GROUP BY 1 ORDER BY 1"
    )
    assert rows == [{"state": "inside", "n": 1}, {"state": "kept", "n": 1}]


async def test_loose_file_with_the_bytes_of_a_page_comes_onto_the_timeline(
    ingest: Ingest, folder: Path
) -> None:
    put(folder, "a.cbz", comic(2))
    await ingest.scan(folder)
    await unpack(ingest)
    put(folder, "2021-05-04 10.00.00.jpg", jpeg(1))
    await ingest.scan(folder)

    (row,) = await ingest.rows(
        "SELECT a.state, a.effective_at::text AS at, a.date_source FROM volume_page p"
        " JOIN asset a ON a.id = p.asset_id WHERE p.position = 2"
    )
    assert row == {"state": "kept", "at": "2021-05-04 10:00:00", "date_source": "name"}
    waiting = await ingest.rows(
        "SELECT f.status FROM fingerprint f JOIN asset a ON a.id = f.asset_id WHERE a.kind = 'still'"
    )
    assert waiting == [{"status": "pending"}]


async def test_viewers_see_pages_of_volumes_that_they_see(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.cbz", comic(2))
    await ingest.scan(folder)
    await unpack(ingest)
    (row,) = await ingest.rows("SELECT asset_id FROM volume_page WHERE position = 1")
    page, volume = int(str(row["asset_id"])), await the_volume(ingest)

    async def visible() -> tuple[bool, bool]:
        async with ingest.db.unit_of_work() as uow:
            served = (await queries.sendable(uow.sql, [page]))[page].visible
            return served, (await queries.asset(uow.sql, page)).visible

    assert await visible() == (True, True)
    for change in ("private = true", "private = false, state = 'archived'", "state = 'trashed'"):
        await ingest.rows(f"UPDATE asset SET {change} WHERE id = $1", volume)
        assert await visible() == (False, False), change
    await ingest.rows("UPDATE asset SET state = 'kept' WHERE id = $1", volume)
    await ingest.rows("UPDATE asset SET private = true WHERE id = $1", page)
    assert await visible() == (False, False)


async def test_volume_deleted_for_good_takes_its_own_pages_along(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.cbz", comic(3))
    put(folder, "b.cbz", zipped({"1.jpg": jpeg(0), "2.jpg": jpeg(77)}))
    put(folder, "loose.jpg", jpeg(1))
    await ingest.scan(folder)
    await unpack(ingest)
    (first,) = await ingest.rows("SELECT id FROM asset WHERE kind = 'volume' AND frames = 3")
    gone = await ingest.rows("SELECT sha256 FROM asset WHERE size = $1 AND state = 'inside'", len(jpeg(2)))
    async with ingest.db.unit_of_work() as uow:
        await operations.act(uow, Kind.TRASH, [int(str(first["id"]))], {}, person=None)
    async with ingest.db.unit_of_work() as uow:
        asked = await operations.act(uow, Kind.PURGE, [int(str(first["id"]))], {}, person=None)
    await operations.unlink(asked.doomed)

    left = await ingest.rows("SELECT state, count(*) AS n FROM asset GROUP BY 1 ORDER BY 1")
    assert left == [{"state": "inside", "n": 2}, {"state": "kept", "n": 2}]
    for row in gone:
        assert not ingest.settings.home.rendition(bytes(row["sha256"]), "grid-240").exists()  # type: ignore[call-overload]


async def test_turn_that_was_taken_over_writes_nothing(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.cbz", comic(2))
    await ingest.scan(folder)
    (zombie,) = await take(ingest)
    await ingest.rows("UPDATE volume SET status = 'pending', claim = NULL")
    lend = partial(ingest.pool.child, fresh=False)

    assert await unpacking.unpack(ingest.settings, ingest.db, zombie, lend, away.went) == "stale"
    assert await ingest.rows("SELECT count(*) AS n FROM asset WHERE state = 'inside'") == [{"n": 0}]
    assert await unpack(ingest) == ["complete"]


async def test_archive_that_is_gone_fails_with_its_reason_and_is_tried_when_read(
    ingest: Ingest, folder: Path
) -> None:
    path = put(folder, "a.cbz", comic(2))
    await ingest.scan(folder)
    path.rename(folder / "away")
    assert await unpack(ingest) == ["failed"]
    (row,) = await ingest.rows("SELECT status, reason FROM volume")
    assert row == {"status": "failed", "reason": "vanished"}

    (folder / "away").rename(path)
    async with ingest.db.unit_of_work() as uow:
        await volumes.want_pages(uow, await the_volume(ingest))
    assert await unpack(ingest) == ["complete"]


async def test_page_that_brings_its_decoder_down_twice_costs_itself_alone(
    ingest: Ingest, folder: Path
) -> None:
    put(folder, "a.cbz", comic(3))
    await ingest.scan(folder)
    (taken,) = await take(ingest)

    @contextlib.asynccontextmanager
    async def lend() -> AsyncIterator[Child]:
        async with ingest.pool.child() as child:
            opened, deadly = child.read, (await paths(ingest))[1]

            async def read(
                path: bytes, *, expect: Stat | None, member: Sequence[Hop], timeout: float
            ) -> Read:
                if tuple(member) == deadly and await child.tier() and child.pid:
                    # Nobody knows a page that crashes the decoders shipped: a sound one is made to.
                    os.kill(child.pid, signal.SIGKILL)
                return await opened(path, expect=expect, member=member, timeout=timeout)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(child, "read", read)
                yield child

    assert await unpacking.unpack(ingest.settings, ingest.db, taken, lend, away.went) == "complete"

    rows = await ingest.rows("SELECT status, reason FROM volume_page ORDER BY position")
    assert [(row["status"], row["reason"]) for row in rows] == [
        ("complete", None), ("failed", "crashed"), ("complete", None)
    ]  # fmt: skip


async def paths(ingest: Ingest) -> list[tuple[Hop, ...]]:
    rows = await ingest.rows("SELECT hops::text AS way FROM volume_page ORDER BY position")
    return [hops.way(str(row["way"])) for row in rows]


async def test_claim_walks_the_waiting_volumes_by_their_index(ingest: Ingest) -> None:
    async with ingest.db.unit_of_work() as uow:
        await uow.sql.execute("SET LOCAL enable_seqscan = off")
        plan = await uow.sql.fetch(
            "EXPLAIN SELECT v.id FROM volume v WHERE v.status = 'pending' AND v.priority <= 5"
            " ORDER BY v.priority, v.queued_at, v.id LIMIT 1 FOR UPDATE SKIP LOCKED"
        )
    assert any("ix_volume_pending" in row[0] for row in plan)
