"""What is brighter than a plain screen is shown as people expect it: greys grey, paper white."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import pytest
from PIL import Image

from appliance.media.decoder import DecodePool
from tests.media import bright, make
from tests.media.conftest import Import


Shown = Callable[..., Image.Image]
LEFT, RIGHT = (12, 16), (52, 16)
PAPER, GREY = bright.pq(203), bright.pq(100)


def rgb(picture: Image.Image, place: tuple[int, int]) -> tuple[int, int, int]:
    found: Any = picture.convert("RGB").getpixel(place)
    return tuple(found)


def is_near(found: tuple[int, ...], expected: tuple[int, ...], *, by: int = 8) -> bool:
    return all(abs(one - other) <= by for one, other in zip(found, expected, strict=True))


async def test_paper_and_grey_of_an_hdr10_film_are_as_bright_as_those_of_other_films(
    decode: Import, shown: Shown
) -> None:
    decoded = await decode(bright.film((PAPER,) * 3, (GREY,) * 3, bright.PQ))
    # Paper at 78 % of the signal leaves room for what shines; a hundred nits are two thirds.
    assert is_near(rgb(shown(), LEFT), (198, 198, 198))
    assert is_near(rgb(shown(), RIGHT), (164, 164, 164))
    assert decoded.facts["hdr"] is True


async def test_paper_and_grey_of_an_hlg_film_are_as_bright_as_those_of_other_films(
    decode: Import, shown: Shown
) -> None:
    await decode(bright.film((0.75,) * 3, (0.38,) * 3, bright.HLG))
    assert is_near(rgb(shown(), LEFT), (198, 198, 198))
    assert is_near(rgb(shown(), RIGHT), (102, 102, 102))


async def test_wide_colours_stay_what_they_are(decode: Import, shown: Shown) -> None:
    await decode(bright.film((PAPER, 0, 0), (0, PAPER, 0), bright.PQ))
    assert is_near(rgb(shown(), LEFT), (245, 0, 0), by=12)
    assert is_near(rgb(shown(), RIGHT), (0, 205, 0), by=12)


async def test_a_highlight_is_white_and_not_a_hole(decode: Import, shown: Shown) -> None:
    await decode(bright.film((bright.pq(4000),) * 3, (bright.pq(1),) * 3, bright.PQ))
    assert min(rgb(shown(), LEFT)) >= 250
    assert max(rgb(shown(), RIGHT)) <= 30


@pytest.mark.parametrize("format_", ["AVIF", "HEIF"])
async def test_a_still_tagged_as_bright_is_toned(decode: Import, shown: Shown, format_: str) -> None:
    grey = round(255 * PAPER)
    data = make.saved(Image.new("RGB", (64, 32), (grey,) * 3), format_, quality=95)
    await decode(data)
    assert is_near(rgb(shown(), LEFT), (grey,) * 3)
    decoded = await decode(bright.tagged(data, bright.PQ))
    assert is_near(rgb(shown(), LEFT), (198, 198, 198), by=12)
    assert decoded.facts["hdr"] is True


async def test_a_png_tagged_as_bright_is_toned_and_keeps_its_alpha(decode: Import, shown: Shown) -> None:
    grey = round(255 * PAPER)
    data = make.saved(Image.new("RGBA", (64, 32), (grey, grey, grey, 128)), "PNG")
    await decode(bright.chunked(data, bright.PQ))
    found: Any = shown().getpixel(LEFT)
    assert is_near(found, (198, 198, 198, 128), by=10)


async def test_a_bright_film_is_made_playable_as_a_plain_one(pool: DecodePool, tmp_path: Path) -> None:
    source, place = tmp_path / "film", tmp_path / "play.mp4"
    source.write_bytes(bright.film((PAPER,) * 3, (PAPER, 0, 0), bright.PQ, "matroska"))
    async with pool.child() as child:
        await child.open(bytes(source))
        await child.convert(bytes(place), turn=0, timeout=60, told=print)
    with av.open(str(place)) as film:
        frame: Any = next(film.decode(video=0))
    assert (frame.format.name, frame.color_trc, frame.color_primaries) == ("yuv420p", 1, 1)
    assert is_near(rgb(frame.to_image(), LEFT), (198, 198, 198))
    assert is_near(rgb(frame.to_image(), RIGHT), (247, 0, 0), by=12)
