"""Films that differ from the plain ones have the length and the picture that people see elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import pytest
from PIL import Image

from appliance.media.decoder import DecodePool
from appliance.media.reasons import Reason
from tests.media import make, strange
from tests.media.conftest import Import, Refuse
from tests.media.test_playing import short


Shown = Callable[..., Image.Image]
UNEVEN = [0, 100, 150, 1000, 1040, 3000]
# Where the red corner stands after each display matrix: 0 is the upper left, then clockwise.
MIRRORS = [
    ((1, 0, 0, 1), 0), ((-1, 0, 0, 1), 1), ((-1, 0, 0, -1), 2), ((1, 0, 0, -1), 3),
    ((0, 1, 1, 0), 0), ((0, 1, -1, 0), 1), ((0, -1, -1, 0), 2), ((0, -1, 1, 0), 3),
]  # fmt: skip


def red(picture: Image.Image) -> list[int]:
    """The corners that are red, clockwise from the upper left."""
    rgb, (width, height) = picture.convert("RGB"), picture.size
    places = [(3, 3), (width - 4, 3), (width - 4, height - 4), (3, height - 4)]
    return [number for number, place in enumerate(places) if rgb.getpixel(place)[0] > 180]  # type: ignore[index]


@pytest.mark.parametrize("container", ["mp4", "mov", "mkv"])
async def test_pictures_at_uneven_moments_have_their_true_length(decode: Import, container: str) -> None:
    decoded = await decode(strange.uneven(container, UNEVEN))
    assert decoded.duration_s == pytest.approx(3.05, abs=0.06)
    assert decoded.flags == []
    assert decoded.frames == (None if container == "mkv" else len(UNEVEN))


@pytest.mark.parametrize(("container", "codec"), [("mpeg", "mpeg2video"), ("mpegvideo", "mpeg2video")])
async def test_short_mpeg_films_that_tell_no_length_are_measured(
    decode: Import, container: str, codec: str
) -> None:
    kind = {"mpegvideo": "mpeg2video"}.get(container, container)
    decoded = await decode(short(kind, codec))
    assert decoded.duration_s == pytest.approx(2.0, abs=0.15)


async def test_a_cover_is_not_the_film(decode: Import) -> None:
    decoded = await decode(strange.covered(video=True))
    assert (decoded.width, decoded.height, decoded.frames) == (64, 32, 30)


async def test_a31_music_with_a_cover_is_no_film(refuse: Refuse) -> None:
    assert (await refuse(strange.covered(video=False))).reason is Reason.NO_VIDEO_STREAM


@pytest.mark.parametrize(("matrix", "corner"), MIRRORS)
async def test_a_film_is_turned_and_mirrored_as_it_asks(
    decode: Import, shown: Shown, matrix: tuple[int, int, int, int], corner: int
) -> None:
    decoded = await decode(strange.mirrored(make.film(), matrix))
    size = (64, 32) if matrix[0] else (32, 64)
    assert (decoded.width, decoded.height) == shown().size == size
    assert red(shown()) == [corner]


@pytest.mark.parametrize(("matrix", "corner"), MIRRORS[1:])
async def test_a_mirrored_film_is_played_as_it_asks(
    pool: DecodePool, tmp_path: Path, matrix: tuple[int, int, int, int], corner: int
) -> None:
    source, place = tmp_path / "film", tmp_path / "play.mp4"
    source.write_bytes(strange.mirrored(make.film(codec="mpeg4"), matrix))
    async with pool.child() as child:
        await child.open(bytes(source))
        await child.convert(bytes(place), turn=0, timeout=60, told=print)
    with av.open(str(place)) as film:
        frame: Any = next(film.decode(video=0))
    assert red(frame.to_image()) == [corner]


@pytest.mark.parametrize(
    ("container", "codec", "pixels"),
    [("mov", "prores_ks", "yuv422p10le"), ("matroska", "ffv1", "yuva420p"),
     ("webm", "libvpx-vp9", "yuva420p"), ("matroska", "libx264", "yuv444p"),
     ("matroska", "libx264", "yuv420p10le"), ("avi", "rawvideo", "bgr24")],
)  # fmt: skip
async def test_unusual_pixels_have_a_poster_of_the_right_colours(
    decode: Import, shown: Shown, container: str, codec: str, pixels: str
) -> None:
    decoded = await decode(short(container, codec, pix_fmt=pixels))
    assert (decoded.kind, decoded.width, decoded.flags) == ("video", 64, [])
    assert red(shown()) == [0]
