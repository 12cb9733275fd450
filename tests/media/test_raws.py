"""Raw photos are shown by the picture that their camera made, or developed where that is missing or small."""

# ruff: noqa: DTZ001 -- taken dates are wall time, without a zone by design.

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
from PIL import Image

from appliance.media.reasons import Reason
from tests.media import make, rawfile
from tests.media.conftest import Import, Refuse
from tests.media.test_stills import corners, near


Shown = Callable[..., Image.Image]
GREEN = Image.new("RGB", rawfile.SIZE, make.GREEN)


async def test_a_raw_photo_without_a_preview_is_developed(decode: Import, shown: Shown) -> None:
    decoded = await decode(rawfile.dng())
    assert (decoded.kind, decoded.mime, decoded.flags) == ("still", "image/x-adobe-dng", [])
    assert (decoded.width, decoded.height) == rawfile.SIZE
    assert corners(shown()) == ["red", "blue", "blue", "blue"]


async def test_what_a_camera_says_of_a_raw_photo_is_read(decode: Import) -> None:
    decoded = await decode(rawfile.dng())
    assert (decoded.facts["make"], decoded.facts["model"]) == ("Vitrine", "Pinhole 1")
    assert (decoded.taken_at, decoded.date_source) == (datetime(2021, 5, 6, 7, 8, 9), "exif")


@pytest.mark.parametrize(
    ("orientation", "red"), [(1, 0), (6, 1), (3, 2), (8, 3)], ids=["level", "right", "over", "left"]
)
async def test_a25_a_raw_photo_stands_upright(
    decode: Import, shown: Shown, orientation: int, red: int
) -> None:
    decoded = await decode(rawfile.dng(orientation=orientation))
    size = rawfile.SIZE if orientation in (1, 3) else rawfile.SIZE[::-1]
    assert (decoded.width, decoded.height) == size
    assert [place for place, colour in enumerate(corners(shown())) if colour == "red"] == [red]


async def test_a_preview_that_is_large_enough_is_what_is_shown(decode: Import, shown: Shown) -> None:
    decoded = await decode(rawfile.dng(preview=GREEN))
    assert (decoded.width, decoded.height) == rawfile.SIZE
    assert near(shown().convert("RGB").getpixel((100, 100)), make.GREEN)


async def test_a_preview_that_is_small_is_not_enlarged(decode: Import, shown: Shown) -> None:
    await decode(rawfile.dng(preview=GREEN.resize((64, 40))))
    assert corners(shown()) == ["red", "blue", "blue", "blue"]


@pytest.mark.parametrize("orientation", [6, 8])
async def test_a_preview_is_turned_as_the_photo_is(decode: Import, shown: Shown, orientation: int) -> None:
    lying, standing = make.corner(rawfile.SIZE), make.corner(rawfile.SIZE[::-1])
    await decode(rawfile.dng(orientation=orientation, preview=lying))
    expected = {6: ["blue", "red", "blue", "blue"], 8: ["blue", "blue", "blue", "red"]}[orientation]
    assert corners(shown()) == expected
    # One that the camera stood upright itself is left as it is.
    await decode(rawfile.dng(orientation=orientation, preview=standing))
    assert corners(shown()) == ["red", "blue", "blue", "blue"]


async def test_a_raw_photo_that_ends_early_shows_its_preview_and_says_so(
    decode: Import, refuse: Refuse, shown: Shown
) -> None:
    decoded = await decode(rawfile.dng(preview=GREEN, cut=0.6))
    assert decoded.flags == ["truncated"]
    assert near(shown().convert("RGB").getpixel((100, 100)), make.GREEN)
    failure = await refuse(rawfile.dng(cut=0.6))
    assert failure.reason in (Reason.CORRUPT, Reason.TRUNCATED)


async def test_the_head_of_a_raw_photo_alone_has_a_class(refuse: Refuse) -> None:
    for content in (
        rawfile.dng()[:600],
        b"II*\0\x10\0\0\0CR\x02\0" + bytes(400),
        b"IIU\0\x18\0\0\0" + bytes(400),
    ):
        assert (await refuse(content)).reason in (Reason.CORRUPT, Reason.UNSUPPORTED, Reason.TRUNCATED)
