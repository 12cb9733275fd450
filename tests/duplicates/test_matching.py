"""What looks alike becomes a pair, once, whenever it comes in; what does not never does."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageOps

from appliance.duplicates import matching
from tests.duplicates.conftest import Doubles, film, jpeg, png, scene
from tests.media import make
from tests.media_files import put


async def test_copies_become_pairs_and_others_do_not(doubles: Doubles, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    put(folder, "a2.jpg", jpeg(scene(1, (320, 240)), 70))
    put(folder, "b.png", png(scene(2)))
    for seed in range(10, 30):
        put(folder, f"{seed}.jpg", jpeg(scene(seed, (320, 240))))
    await doubles.imports.scan(folder)

    found = await doubles.search()

    assert await doubles.shown() == [await doubles.pair("a.jpg", "a2.jpg")]
    assert (found.searched, found.pairs, found.crowds) == (23, 1, 0)


async def test_what_comes_in_later_is_compared_with_what_is_there(doubles: Doubles, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    put(folder, "b.jpg", jpeg(scene(2)))
    await doubles.imports.scan(folder)
    assert (await doubles.search()).pairs == 0

    put(folder, "b2.png", png(scene(2)))
    await doubles.imports.scan(folder)
    found = await doubles.search()

    assert await doubles.shown() == [await doubles.pair("b.jpg", "b2.png")]
    assert found.searched == 1
    assert (await doubles.search()).searched == 0


async def test_a_picture_seen_in_a_mirror_is_found(doubles: Doubles, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    put(folder, "b.jpg", jpeg(ImageOps.mirror(scene(1)), 80))
    await doubles.imports.scan(folder)

    await doubles.search()

    assert len(await doubles.shown()) == 1
    assert await doubles.lib.value("SELECT mirrored FROM duplicate_pair")


async def test_a68_flat_pictures_and_short_clips_do_not_match(doubles: Doubles, folder: Path) -> None:
    for colour in ("red", "white", "black"):
        put(folder, f"{colour}.png", png(Image.new("RGB", (640, 480), colour)))
        flat = [Image.new("RGB", (64, 48), colour)] * 8
        put(folder, f"{colour}.mp4", make.film(size=(64, 48), shown=flat))
    for seed in range(4):
        shown = [Image.new("RGB", (64, 48)), *[scene(seed, (64, 48))] * 6]
        put(folder, f"clip{seed}.mp4", make.film(size=(64, 48), shown=shown))
    await doubles.imports.scan(folder)
    assert set(await doubles.hash_films()) == {"complete"}

    assert (await doubles.search()).pairs == 0


async def test_copies_of_a_film_match_by_most_of_their_frames(doubles: Doubles, folder: Path) -> None:
    put(folder, "a.mp4", film(range(10)))
    put(folder, "a2.mkv", film(range(10), (160, 120), crf=32, gop=250))
    put(folder, "half.mp4", film([*range(5), *range(40, 45)]))
    put(folder, "longer.mp4", film(range(14)))
    await doubles.imports.scan(folder)
    await doubles.hash_films()

    await doubles.search()

    assert await doubles.shown() == [await doubles.pair("a.mp4", "a2.mkv")]


async def test_a_still_and_a_moving_picture_are_no_pair(doubles: Doubles, folder: Path) -> None:
    moving = io.BytesIO()
    scene(1, (320, 240)).save(moving, "WEBP", save_all=True, append_images=[scene(2, (320, 240))])
    put(folder, "a.webp", moving.getvalue())
    put(folder, "a.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder)

    assert (await doubles.search()).pairs == 0


async def test_animations_match_by_cover_and_length(doubles: Doubles, folder: Path) -> None:
    def moving(delay: int) -> bytes:
        out = io.BytesIO()
        more = [scene(n, (160, 120)) for n in (2, 3)]
        scene(1, (160, 120)).save(out, "WEBP", save_all=True, append_images=more, duration=delay, quality=60)
        return out.getvalue()

    put(folder, "a.webp", moving(300))
    put(folder, "b.webp", moving(310))
    put(folder, "slow.webp", moving(2000))
    await doubles.imports.scan(folder)

    await doubles.search()

    assert await doubles.shown() == [await doubles.pair("a.webp", "b.webp")]


async def test_pages_within_a_volume_take_no_part(doubles: Doubles, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    put(folder, "b.jpg", jpeg(scene(1), 80))
    await doubles.imports.scan(folder)
    await doubles.lib.execute("UPDATE asset SET state = 'inside'")

    assert (await doubles.search()).searched == 0

    await doubles.lib.execute("UPDATE asset SET state = 'kept'")
    assert (await doubles.search()).pairs == 1


async def test_pairs_leave_with_what_is_hidden_and_come_back_with_it(doubles: Doubles, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(scene(1)))
    put(folder, "b.jpg", jpeg(scene(1), 80))
    await doubles.imports.scan(folder)
    await doubles.search()
    pair = await doubles.shown()
    ids = await doubles.ids("a.jpg")

    for away, back in (("trash", "restore"), ("private", "public")):
        await doubles.lib.act(away, ids)
        assert await doubles.shown() == []
        await doubles.lib.act(back, ids)
        assert await doubles.shown() == pair


async def test_what_comes_back_from_the_trash_is_compared_with_what_came_in_meanwhile(
    doubles: Doubles, folder: Path
) -> None:
    put(folder, "small.jpg", jpeg(scene(1, (320, 240))))
    await doubles.imports.scan(folder)
    await doubles.search()
    ids = await doubles.ids("small.jpg")
    await doubles.lib.act("trash", ids)
    put(folder, "large.jpg", jpeg(scene(1)))
    await doubles.imports.scan(folder)
    assert (await doubles.search()).pairs == 0

    await doubles.lib.act("restore", ids)

    assert (await doubles.search()).pairs == 1


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


async def fill(doubles: Doubles, hashes: list[int], *, searched: bool = True) -> list[int]:
    ids = await doubles.lib.fill(len(hashes))
    async with doubles.lib.db.unit_of_work() as uow:
        await uow.sql.copy_records_to_table(
            "phash",
            records=[
                (i, _signed(h), _signed(h ^ (2**64 - 1)), 7, searched)
                for i, h in zip(ids, hashes, strict=True)
            ],
            columns=["asset_id", "hash", "mirror", "reach", "searched"],
        )
    return ids


@pytest.mark.parametrize("far", range(10))
async def test_the_search_is_complete_to_seven_bits_wherever_they_lie(doubles: Doubles, far: int) -> None:
    rng = random.Random(far)
    base = rng.getrandbits(64)
    others = []
    for _ in range(60):
        other = base
        for bit in rng.sample(range(64), far):
            other ^= 1 << bit
        others.append(other)
    ids = await fill(doubles, others)
    await doubles.lib.execute("UPDATE phash SET searched = false WHERE asset_id = $1", ids[0])
    await doubles.lib.execute("UPDATE phash SET hash = $2 WHERE asset_id = $1", ids[0], _signed(base))

    async with doubles.lib.db.unit_of_work() as uow:
        rows = await uow.sql.fetch(
            f"SELECT asset_id FROM ({matching.nearby('open', '$1::bigint', '7')}) n", _signed(base)
        )

    found = {row["asset_id"] for row in rows} - {ids[0]}
    assert found == (set(ids[1:]) if far <= 7 else set())


async def test_of_a_crowd_only_the_nearest_become_pairs(doubles: Doubles) -> None:
    rng = random.Random(1)
    base = rng.getrandbits(64)
    ids = await fill(doubles, [base ^ (1 << rng.randrange(64)) for _ in range(400)])
    await doubles.lib.execute("UPDATE phash SET searched = false WHERE asset_id = $1", ids[0])

    found = await doubles.search()

    assert (found.pairs, found.crowds) == (matching.PAIRS, 1)


async def test_an_exact_copy_and_the_only_one_of_its_kind_are_found_in_any_crowd(doubles: Doubles) -> None:
    rng = random.Random(3)
    base = rng.getrandbits(64)
    near = [base ^ (1 << rng.randrange(16)) ^ (1 << rng.randrange(16, 64)) for _ in range(4500)]
    far = base ^ 0b1110000
    ids = await fill(doubles, [far, *near[:2250], base, *near[2250:], base, far])
    copies, moving = [ids[2251], ids[-2]], [ids[0], ids[-1]]
    await doubles.lib.execute("UPDATE asset SET kind = 'animation' WHERE id = ANY($1::bigint[])", moving)
    await doubles.lib.execute(
        "UPDATE phash SET searched = false WHERE asset_id = ANY($1::bigint[])", [copies[1], moving[1]]
    )

    found = await doubles.search()

    pairs = await doubles.lib.rows("SELECT a_id, b_id FROM duplicate_pair")
    assert {tuple(copies), tuple(moving)} <= {(row["a_id"], row["b_id"]) for row in pairs}
    assert (found.pairs, found.crowds) == (matching.PAIRS + 1, 1)


async def test_a_lookup_reads_bands_and_never_the_whole_table(doubles: Doubles) -> None:
    rng = random.Random(2)
    ids = await fill(doubles, [rng.getrandbits(64) for _ in range(30_000)])
    async with doubles.lib.db.unit_of_work() as uow:
        await uow.sql.execute("ANALYZE phash")
        await uow.sql.execute("ANALYZE asset")
        plan = _text(await uow.sql.fetch(f"EXPLAIN ANALYZE {matching._BEST}", ids[:1]))
        waiting = _text(await uow.sql.fetch(f"EXPLAIN {matching._FRESH}", 100))

    assert all(f"ix_phash_open_{n}" in plan for n in range(4))
    assert "Seq Scan on phash" not in plan
    assert "Seq Scan on asset" not in plan
    assert "ix_phash_unsearched" in waiting


def _text(plan: list[Any]) -> str:
    return "\n".join(row[0] for row in plan)
