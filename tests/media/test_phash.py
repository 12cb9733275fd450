"""Perceptual hashes: by the definition, alike for copies, and none for what shows too little."""

from __future__ import annotations

import io
import math
import random
from collections.abc import Awaitable, Callable
from itertools import combinations
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageOps

from appliance.media import phash
from appliance.media.decoder import DecodePool
from appliance.media.phash import PLACES, SIDE, distance, fingerprint
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import Decoded, Fingerprint, Frame
from tests.media import make
from tests.media_files import jpeg, picture


NEAR = 7
"""What the search for duplicates calls near."""


def hashed(image: Image.Image) -> Fingerprint:
    found = fingerprint(image)
    assert found is not None
    return found


def scene(seed: int, size: tuple[int, int] = (640, 480)) -> Image.Image:
    return picture(seed, size=size)


def page(seed: int) -> Image.Image:
    """A scan that is mostly white, with lines of words."""
    rng = random.Random(seed)
    image = Image.new("L", (600, 840), 255)
    draw = ImageDraw.Draw(image)
    y = rng.randrange(40, 120)
    for _ in range(rng.randrange(12, 36)):
        x, end = 60, rng.choice((540, 540, 540, rng.randrange(120, 540)))
        while x < end:
            width = rng.randrange(10, 60)
            draw.rectangle((x, y, min(x + width, end), y + 9), fill=30)
            x += width + 8
        y += rng.choice((18, 18, 18, 46))
    return image


def again(image: Image.Image, quality: int, scale: float = 1.0) -> Image.Image:
    buffer = io.BytesIO()
    size = (round(image.width * scale), round(image.height * scale))
    image.resize(size).save(buffer, "JPEG", quality=quality)
    return Image.open(buffer)


def test_the_frequencies_are_those_of_the_definition() -> None:
    rng = random.Random(7)
    pixels = [rng.randrange(256) for _ in range(SIDE * SIDE)]

    def defined(v: int, u: int) -> float:
        total = sum(
            pixels[y * SIDE + x]
            * math.cos(math.pi * v * (2 * y + 1) / (2 * SIDE))
            * math.cos(math.pi * u * (2 * x + 1) / (2 * SIDE))
            for y in range(SIDE)
            for x in range(SIDE)
        )
        return total * 2 / SIDE * math.sqrt(0.5 ** ((v == 0) + (u == 0)))

    assert phash.frequencies(pixels) == pytest.approx([defined(v, u) for v, u in PLACES])
    assert len(set(PLACES)) == 64


def test_half_of_the_bits_are_set_and_the_number_fits_a_bigint() -> None:
    for seed in range(30):
        for value in (hashed(scene(seed)).hash, hashed(scene(seed)).mirror):
            assert -(2**63) <= value < 2**63
            assert distance(value, 0) == 32


@pytest.mark.parametrize(("quality", "scale"), [(90, 1.0), (75, 1.0), (50, 1.0), (75, 0.5)])
def test_a_copy_that_was_encoded_again_is_near(quality: int, scale: float) -> None:
    for seed in range(20):
        assert distance(hashed(scene(seed)).hash, hashed(again(scene(seed), quality, scale)).hash) <= 4


def test_pictures_that_have_nothing_in_common_are_far() -> None:
    found = [hashed(scene(seed)).hash for seed in range(40)]

    assert min(distance(a, b) for a, b in combinations(found, 2)) > NEAR


def test_the_mirror_is_the_hash_of_the_picture_seen_in_a_mirror() -> None:
    for seed in range(20):
        assert distance(hashed(scene(seed)).mirror, hashed(ImageOps.mirror(scene(seed))).hash) <= 4


@pytest.mark.parametrize("colour", ["red", "white", "black", "#808080"])
def test_a68_pictures_of_one_colour_have_no_hash(colour: str) -> None:
    assert fingerprint(Image.new("RGB", (640, 480), colour)) is None
    assert fingerprint(again(Image.new("RGB", (640, 480), colour), 60)) is None


def test_a68_gradients_and_grain_have_no_hash() -> None:
    ramp = Image.linear_gradient("L").resize((640, 480))
    grain = Image.effect_noise((640, 480), 12)

    assert fingerprint(ramp) is None
    assert fingerprint(ramp.rotate(90)) is None
    assert fingerprint(Image.radial_gradient("L").resize((640, 480))) is None
    assert fingerprint(grain) is None
    assert fingerprint(again(grain, 40)) is None


def test_a68_mostly_white_pages_do_not_match_each_other() -> None:
    found = [hashed(page(seed)) for seed in range(60)]

    assert {f.reach for f in found} >= {phash.SPARSE_REACH}
    assert [
        (a, b) for a, b in combinations(found, 2) if distance(a.hash, b.hash) <= min(a.reach, b.reach)
    ] == []
    again_near = [distance(f.hash, hashed(again(page(n), 75)).hash) <= f.reach for n, f in enumerate(found)]
    assert sum(again_near) >= 58


def test_a68_a_few_words_on_white_have_no_hash() -> None:
    image = Image.new("L", (600, 840), 255)
    ImageDraw.Draw(image).rectangle((60, 80, 300, 120), fill=30)

    assert fingerprint(image) is None


def test_what_is_seen_through_lies_on_white() -> None:
    shape = Image.new("L", (640, 480), 0)
    shape.paste(page(3).resize((640, 480)).point(lambda grey: 255 - grey))
    seethrough = Image.new("RGBA", (640, 480), "black")
    seethrough.putalpha(shape)
    flat = Image.new("RGBA", (640, 480), "white")
    flat.alpha_composite(seethrough)

    assert distance(hashed(seethrough).hash, hashed(flat.convert("RGB")).hash) <= 4


async def test_the_decode_child_hashes_the_picture_as_people_see_it(
    decode: Callable[..., Awaitable[Decoded]],
) -> None:
    upright = await decode(jpeg(5, size=(640, 480)))
    lying = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    scene(5).transpose(Image.Transpose.ROTATE_90).save(lying, "JPEG", quality=90, exif=exif)
    turned = await decode(lying.getvalue())

    assert upright.fingerprint is not None
    assert turned.fingerprint is not None
    assert distance(upright.fingerprint.hash, turned.fingerprint.hash) <= 4


async def test_an_animation_is_known_by_its_cover(decode: Callable[..., Awaitable[Decoded]]) -> None:
    moving = io.BytesIO()
    scene(1, (64, 48)).save(moving, "GIF", save_all=True, append_images=[scene(2, (64, 48))], duration=80)

    decoded = await decode(moving.getvalue())

    assert decoded.fingerprint is not None
    assert distance(decoded.fingerprint.hash, hashed(scene(1, (64, 48))).hash) <= NEAR


def film(seeds: range, *, gop: int = 12, size: tuple[int, int] = (320, 240), quality: int = 23) -> bytes:
    """Scenes of two seconds each."""
    return make.film(
        gop=gop, size=size, shown=[scene(s, size) for s in seeds for _ in range(20)], crf=quality
    )


async def frames(pool: DecodePool, path: Path, content: bytes, count: int = 8) -> list[Frame]:
    path.write_bytes(content)
    async with pool.child() as child:
        await child.open(bytes(path))
        return await child.frames(count)


async def test_the_same_moments_of_a_film_are_near_however_it_was_encoded(
    pool: DecodePool, tmp_path: Path
) -> None:
    one = await frames(pool, tmp_path / "a", film(range(10)))
    other = await frames(pool, tmp_path / "b", film(range(10), gop=250, size=(160, 120), quality=34))

    assert len(one) == len(other) == 8
    assert [f.at_ms for f in one] == sorted({f.at_ms for f in one})
    near = [
        distance(a.fingerprint.hash, b.fingerprint.hash) <= NEAR and abs(a.at_ms - b.at_ms) <= 200
        for a, b in zip(one, other, strict=True)
    ]
    assert sum(near) >= 7


@pytest.mark.parametrize("container", ["mkv", "mpegts"])
@pytest.mark.parametrize("gop", [12, 100])
async def test_the_same_moments_are_found_without_an_index(
    pool: DecodePool, tmp_path: Path, container: str, gop: int
) -> None:
    shown = [scene(n // 10, (160, 96)) for n in range(40)]
    other = make.film(container, shown=shown, size=(160, 96), gop=gop)
    one = await frames(pool, tmp_path / "a", make.film(shown=shown, size=(160, 96)))
    two = await frames(pool, tmp_path / "b", other)
    assert len(one) == len(two) > 3
    assert all(abs(a.at_ms - b.at_ms) <= 200 for a, b in zip(one, two, strict=True))


async def test_a68_flat_frames_are_left_out(pool: DecodePool, tmp_path: Path) -> None:
    flat = make.film(shown=[Image.new("RGB", (64, 48), "red")] * 20, size=(64, 48))

    assert await frames(pool, tmp_path / "a", flat) == []


async def test_a_film_of_three_frames_gives_each_once(pool: DecodePool, tmp_path: Path) -> None:
    short = make.film(shown=[scene(n, (64, 48)) for n in range(3)], size=(64, 48))

    found = await frames(pool, tmp_path / "a", short)

    assert len({f.at_ms for f in found}) == len(found) <= 3


async def test_a_picture_has_no_frames(pool: DecodePool, tmp_path: Path) -> None:
    with pytest.raises(MediaFailure) as refused:
        await frames(pool, tmp_path / "a", jpeg(1))

    assert refused.value.reason is Reason.UNSUPPORTED
