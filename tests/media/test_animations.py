from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from appliance.media.decoder import DecodePool
from appliance.media.limits import Limits
from appliance.media.reasons import MediaFailure, Reason
from tests.media import make
from tests.media.conftest import Import, Refuse


Shown = Callable[..., Image.Image]
ANIMATED = ["GIF", "WEBP", "PNG", "AVIF"]


@pytest.mark.parametrize("format_", ANIMATED)
async def test_a26_frames_and_duration_are_exact(decode: Import, format_: str) -> None:
    decoded = await decode(make.animated(format_, [40, 200, 1000, 60]))
    assert (decoded.kind, decoded.frames, decoded.duration_s) == ("animation", 4, 1.3)


@pytest.mark.parametrize("format_", ANIMATED)
async def test_a28_the_cover_is_the_first_frame_that_shows_something(
    decode: Import, shown: Shown, format_: str
) -> None:
    await decode(make.animated(format_, [100] * 4, black=2))
    red, _, _ = shown().convert("RGB").getpixel((4, 4))  # type: ignore[misc]
    assert red > 150


async def test_an_animation_without_any_picture_shows_its_first_frame(decode: Import, shown: Shown) -> None:
    assert (await decode(make.animated("PNG", [100] * 4, black=4))).frames == 4
    assert max(high for _, high in shown().convert("RGB").getextrema()) < 20  # type: ignore[misc]


async def test_gif_frames_without_a_time_count_as_a_tenth_of_a_second(decode: Import) -> None:
    assert (await decode(make.animated("GIF", [0, 0, 0]))).duration_s == 0.3


@pytest.mark.parametrize("format_", ANIMATED)
async def test_a_single_frame_is_a_still(decode: Import, format_: str) -> None:
    decoded = await decode(make.saved(make.corner(), format_))
    assert (decoded.kind, decoded.frames, decoded.duration_s) == ("still", 1, None)


async def test_a29_a_truncated_gif_that_still_shows_is_kept_and_flagged(decode: Import) -> None:
    data = make.animated("GIF", [100] * 6)
    decoded = await decode(data[: len(data) * 2 // 3])
    assert decoded.kind == "animation"
    assert decoded.flags == ["truncated"]
    assert 2 <= (decoded.frames or 0) < 6


async def test_a29_equal_frames_are_frames(decode: Import) -> None:
    # An encoder would join frames that are equal: the blocks of the first one are doubled by hand.
    data = make.saved(make.frames(1)[0], "GIF", save_all=True, append_images=make.frames(2)[1:], duration=50)
    first = data.index(b"\x21\xf9")
    second = data.index(b"\x21\xf9", first + 1)
    doubled = data[:second] + data[first:second] + data[second:]
    decoded = await decode(doubled)
    assert (decoded.kind, decoded.frames, decoded.flags) == ("animation", 3, [])


async def test_a_truncated_apng_that_still_shows_is_kept_and_flagged(decode: Import) -> None:
    data = make.animated("PNG", [100] * 6)
    decoded = await decode(data[: data.rindex(b"fdAT") + 6])
    assert (decoded.kind, decoded.flags) == ("animation", ["truncated"])


async def test_the_remains_of_an_animation_do_not_cost_its_picture(decode: Import, shown: Shown) -> None:
    data = make.animated("PNG", [100] * 4)
    # Without any word about when its frames are shown: no animation, but the picture is whole.
    at = 8
    kept = data[:at]
    while at < len(data):
        length = 12 + int.from_bytes(data[at : at + 4], "big")
        kept += b"" if data[at + 4 : at + 8] == b"fcTL" else data[at : at + length]
        at += length
    decoded = await decode(kept)
    assert (decoded.kind, decoded.flags) == ("still", [])
    assert shown().convert("RGB").getpixel((2, 2)) != (0, 0, 0)


async def test_a_gif_whose_first_frame_is_cut_is_truncated(refuse: Refuse) -> None:
    data = make.saved(Image.effect_noise((200, 200), 90), "GIF")
    assert (await refuse(data[: len(data) // 2])).reason is Reason.TRUNCATED


async def test_a_gif_without_its_trailer_is_complete(decode: Import) -> None:
    data = make.animated("GIF", [100] * 3)
    assert (await decode(data.removesuffix(b";"))).flags == []


async def test_transparent_animations_keep_their_transparency(decode: Import, shown: Shown) -> None:
    clear = [Image.new("RGBA", (30, 30), (0, 0, 0, 0)) for _ in range(2)]
    for number, picture in enumerate(clear):
        picture.paste((255, 0, 0, 255 - 100 * number), (0, 0, 10, 10))
    await decode(
        make.saved(clear[0], "WEBP", save_all=True, append_images=clear[1:], duration=100, lossless=True)
    )
    assert shown().getpixel((25, 25))[3] == 0  # type: ignore[index]


async def test_too_many_frames_are_too_large(tmp_path: Path) -> None:
    (tmp_path / "a.gif").write_bytes(make.animated("GIF", [50] * 12))
    pool = DecodePool(1, Limits(frames=10))
    async with pool.child() as child:
        await child.read(bytes(tmp_path / "a.gif"))
        with pytest.raises(MediaFailure) as caught:
            await child.decode([])
    await pool.close()
    assert caught.value.reason is Reason.TOO_LARGE
    assert "frames of 40x30" in caught.value.detail


async def test_a_gif_bomb_is_too_large(refuse: Refuse) -> None:
    data = bytearray(make.saved(make.corner(), "GIF"))
    data[6:10] = b"\xff\xff\xff\xff"
    assert (await refuse(bytes(data))).reason is Reason.TOO_LARGE
