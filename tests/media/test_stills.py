from __future__ import annotations

import io
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageCms, ImageOps

from appliance.media.decoder import DecodePool
from appliance.media.reasons import Reason
from appliance.media.wire import Wanted
from tests.media import make
from tests.media.conftest import Import, Refuse


Shown = Callable[..., Image.Image]
TURNED = {5, 6, 7, 8}


def near(found: object, expected: tuple[int, ...], *, by: int = 40) -> bool:
    """True when two colours look the same after lossy encoding."""
    assert isinstance(found, tuple)
    return all(abs(one - other) <= by for one, other in zip(found, expected, strict=False))


def corners(picture: Image.Image) -> list[str]:
    """Where red stands, clockwise from the upper left."""
    rgb, (width, height) = picture.convert("RGB"), picture.size
    places = [(2, 2), (width - 3, 2), (width - 3, height - 3), (2, height - 3)]
    return ["red" if near(rgb.getpixel(place), make.RED, by=90) else "blue" for place in places]


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize(("name", "format_"), make.FORMATS.items())
async def test_a25_size_and_picture_are_as_displayed(
    decode: Import, shown: Shown, name: str, format_: str, orientation: int
) -> None:
    data = make.saved(make.corner((80, 40)), format_, exif=make.exif(orientation=orientation))
    # A JPEG XL's EXIF never turns it: its codestream says how it is shown.
    turned = orientation in TURNED and name != "jxl"
    decoded = await decode(data)
    assert (decoded.width, decoded.height) == ((40, 80) if turned else (80, 40))
    block = Image.Exif()
    block[0x112] = 1 if name == "jxl" else orientation
    expected = make.corner((80, 40))
    expected.info["exif"] = block.tobytes()
    assert corners(shown()) == corners(ImageOps.exif_transpose(expected))


async def test_a25_a_jpeg_inside_jpeg_xl_is_turned_once(
    decode: Import, shown: Shown, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("jxl") / "a.jpg"
    path.write_bytes(make.saved(make.corner((80, 40)), "JPEG", exif=make.exif(orientation=6)))
    with Image.open(path) as jpeg:
        data = make.saved(jpeg, "JXL", lossless_jpeg=True)
    decoded = await decode(data)
    assert (decoded.width, decoded.height) == (40, 80)
    assert corners(shown()) == ["blue", "red", "blue", "blue"]


async def test_a25_an_oriented_tiff_is_turned_once(decode: Import, shown: Shown) -> None:
    decoded = await decode(make.saved(make.corner((80, 40)), "TIFF", tiffinfo={0x112: 6}))
    assert (decoded.width, decoded.height) == (40, 80)
    assert corners(shown()) == ["blue", "red", "blue", "blue"]


async def test_an_orientation_that_only_xmp_claims_is_ignored_as_browsers_do(decode: Import) -> None:
    xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><r tiff:Orientation="6"/></x:xmpmeta>'
    decoded = await decode(make.saved(make.corner(), "JPEG", xmp=xmp))
    assert (decoded.width, decoded.height) == (40, 20)


async def test_a8_half_a_jpeg_is_truncated(refuse: Refuse) -> None:
    data = make.saved(Image.effect_noise((900, 900), 60).convert("RGB"), "JPEG")
    failure = await refuse(data[: len(data) // 2])
    assert failure.reason is Reason.TRUNCATED


@pytest.mark.parametrize("format_", ["PNG", "WEBP", "AVIF", "HEIF", "BMP", "TIFF", "JPEG2000"])
async def test_half_a_picture_of_any_format_fails_with_a_class(refuse: Refuse, format_: str) -> None:
    data = make.saved(Image.effect_noise((300, 300), 60).convert("RGB"), format_)
    failure = await refuse(data[: len(data) // 2])
    assert failure.reason in (Reason.TRUNCATED, Reason.CORRUPT)
    assert failure.reason is Reason.TRUNCATED or format_ == "JPEG2000"


async def test_a16_a_jpeg_named_heic_is_a_jpeg(decode: Import) -> None:
    assert (await decode(make.saved(make.corner(), "JPEG"), "liar.heic")).mime == "image/jpeg"


async def test_a20_a_picture_over_the_limit_is_too_large_in_words(refuse: Refuse) -> None:
    failure = await refuse(make.saved(Image.new("1", (20000, 20000)), "PNG"))
    assert failure.reason is Reason.TOO_LARGE
    assert "400 MP > 178 MP" in failure.detail


async def test_a20_a_large_picture_under_the_limit_is_shown(decode: Import) -> None:
    decoded = await decode(make.saved(Image.new("1", (10000, 10000)), "PNG"))
    assert (decoded.width, decoded.height) == (10000, 10000)
    assert (decoded.renditions[0].width, decoded.renditions[0].height) == (480, 480)


@pytest.mark.parametrize("format_", ["HEIF", "AVIF"])
async def test_a22_a_header_that_announces_too_much_is_refused_before_decoding(
    refuse: Refuse, format_: str
) -> None:
    data = make.announced(make.saved(make.corner(), format_), 17000, 17000)
    failure = await refuse(data)
    assert (failure.reason, failure.detail) == (Reason.TOO_LARGE, "17000x17000, 289 MP > 178 MP")


async def test_a_jpeg_xl_that_announces_too_much_is_refused_before_decoding(refuse: Refuse) -> None:
    # Codestream: not small, both sides as 30-bit numbers (selector 3), 20,000 each; then nothing.
    bits = 0 | 3 << 1 | 19_999 << 3 | 0 << 33 | 3 << 36 | 19_999 << 38
    failure = await refuse(b"\xff\x0a" + bits.to_bytes(12, "little") + bytes(40))
    assert failure.reason is Reason.TOO_LARGE
    assert "400 MP" in failure.detail


async def test_a23_transparency_survives(decode: Import, shown: Shown) -> None:
    await decode(make.saved(Image.new("RGBA", (60, 60), (0, 0, 0, 0)), "PNG"))
    assert shown().mode == "RGBA"
    assert shown().getpixel((10, 10))[3] == 0  # type: ignore[index]


@pytest.mark.parametrize("mode", ["P", "L", "RGB"])
async def test_a23_a_transparent_colour_survives(decode: Import, shown: Shown, mode: str) -> None:
    picture = Image.new("RGB", (60, 60), make.GREEN).convert(mode)
    clear = picture.getpixel((0, 0))
    await decode(make.saved(picture, "PNG", transparency=clear))
    assert shown().getpixel((10, 10))[3] == 0  # type: ignore[index]


async def test_a_huge_transparent_picture_fits_into_the_memory_of_a_child(
    decode: Import, shown: Shown
) -> None:
    picture = Image.new("RGBA", (9000, 9000), (200, 30, 30, 128))
    decoded = await decode(make.saved(picture, "PNG", compress_level=1))
    assert decoded.width == 9000
    pixel = shown().getpixel((200, 200))
    assert isinstance(pixel, tuple)
    assert near(pixel, (200, 30, 30, 128), by=12)


@pytest.mark.parametrize("format_", ["PNG", "TIFF"])
async def test_sixteen_bits_keep_their_greys(decode: Import, shown: Shown, format_: str) -> None:
    picture = Image.new("I;16", (40, 40), 32768)
    picture.paste(65535, (0, 0, 20, 40))
    await decode(make.saved(picture, format_))
    assert near(shown().convert("RGB").getpixel((30, 20)), (128, 128, 128), by=6)
    assert near(shown().convert("RGB").getpixel((5, 20)), make.WHITE, by=6)


async def test_floating_point_pictures_are_shown(decode: Import, shown: Shown) -> None:
    picture = Image.new("F", (40, 40), -1.5)
    picture.paste(2.5, (0, 0, 20, 40))
    await decode(make.saved(picture, "TIFF"))
    assert near(shown().convert("RGB").getpixel((5, 20)), make.WHITE, by=6)
    assert near(shown().convert("RGB").getpixel((35, 20)), make.BLACK, by=6)


async def test_print_colours_are_converted(decode: Import, shown: Shown) -> None:
    await decode(make.saved(Image.new("CMYK", (40, 40), (0, 255, 255, 0)), "JPEG"))
    assert near(shown().convert("RGB").getpixel((20, 20)), make.RED, by=60)


async def test_lab_colours_are_converted(decode: Import, shown: Shown) -> None:
    await decode(make.saved(Image.new("LAB", (40, 40), (255, 128, 128)), "TIFF"))
    assert near(shown().convert("RGB").getpixel((20, 20)), make.WHITE, by=12)


async def test_an_embedded_profile_decides_about_colours(decode: Import, shown: Shown) -> None:
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    picture = Image.new("RGB", (40, 40), make.RED)
    await decode(make.saved(picture, "PNG", icc_profile=make.swapped_profile(srgb)))
    assert near(shown().convert("RGB").getpixel((20, 20)), make.GREEN, by=60)


async def test_a_broken_profile_costs_nothing(decode: Import, shown: Shown) -> None:
    await decode(make.saved(Image.new("RGB", (40, 40), make.RED), "PNG", icc_profile=b"not a profile"))
    assert near(shown().convert("RGB").getpixel((20, 20)), make.RED)


async def test_a_stereo_photo_shows_its_first_picture(decode: Import, shown: Shown) -> None:
    data = make.saved(
        make.corner(), "MPO", save_all=True, append_images=[Image.new("RGB", (40, 20), make.GREEN)]
    )
    decoded = await decode(data)
    assert (decoded.kind, decoded.mime, decoded.frames) == ("still", "image/jpeg", 1)
    assert corners(shown())[2] == "blue"
    assert near(shown().convert("RGB").getpixel((35, 15)), make.BLUE, by=60)


async def test_a_tiff_with_pages_shows_the_first_and_counts_them(decode: Import) -> None:
    pages = [Image.new("RGB", (30, 20), make.GREEN)] * 2
    decoded = await decode(make.saved(make.corner(), "TIFF", save_all=True, append_images=pages))
    assert (decoded.kind, decoded.frames, decoded.width) == ("still", 3, 40)


async def test_a_tiff_whose_later_page_is_damaged_shows_its_first(decode: Import) -> None:
    data = bytearray(make.saved(make.corner(), "TIFF", save_all=True, append_images=[make.corner()] * 2))
    first = int.from_bytes(data[4:8], "little")
    after = first + 2 + 12 * int.from_bytes(data[first : first + 2], "little")
    second = int.from_bytes(data[after : after + 4], "little")
    # It says that its colours are of a kind that there is not.
    colours = data.index((262).to_bytes(2, "little"), second) + 8
    data[colours] = 99
    decoded = await decode(bytes(data))
    assert (decoded.kind, decoded.frames, decoded.width) == ("still", None, 40)
    assert (decoded.flags, decoded.notes) == (["truncated"], ["later pages are damaged"])


@pytest.mark.parametrize(("size", "grid", "preview"), [
    ((300, 30000), (5, 480), (14, 1440)),
    ((30000, 300), (1920, 19), (1440, 14)),
    ((1, 1), (1, 1), (1, 1)),
    ((1, 5000), (1, 480), (1, 1440)),
])  # fmt: skip
async def test_strips_and_dots_have_renditions_within_both_limits(
    decode: Import, size: tuple[int, int], grid: tuple[int, int], preview: tuple[int, int]
) -> None:
    decoded = await decode(
        make.saved(Image.new("RGB", size, make.BLUE), "PNG"), wanted=("grid-480", "preview")
    )
    sizes = {made.name: (made.width, made.height) for made in decoded.renditions}
    assert sizes == {"grid-480": grid, "preview": preview}


async def test_a_small_picture_is_not_enlarged(decode: Import) -> None:
    decoded = await decode(
        make.saved(make.corner((40, 20)), "PNG"), wanted=("grid-240", "grid-480", "preview")
    )
    assert {(made.width, made.height) for made in decoded.renditions} == {(40, 20)}


async def test_the_dominant_colour_is_a_cell_of_the_cube(decode: Import) -> None:
    assert (await decode(make.saved(Image.new("RGB", (50, 50), make.RED), "PNG"))).dominant == 180
    assert (await decode(make.saved(make.corner(), "PNG"))).dominant == 5
    assert (await decode(make.saved(Image.new("RGBA", (9, 9), (1, 2, 3, 0)), "PNG"))).dominant == 215


async def test_a_rendition_that_cannot_be_written_is_its_own_failure(
    pool: DecodePool, tmp_path: Path
) -> None:
    folder = tmp_path
    (folder / "file").touch()
    (folder / "a.png").write_bytes(make.saved(make.corner(), "PNG"))
    async with pool.child() as child:
        await child.read(bytes(folder / "a.png"))
        decoded = await child.decode([
            Wanted.named("grid-240", bytes(folder / "file" / "x.webp")),
            Wanted.named("grid-480", bytes(folder / "sub" / "x.webp")),
        ])  # fmt: skip
    assert [made.name for made in decoded.renditions] == ["grid-480"]
    assert [(name, reason) for name, reason, _ in decoded.rendition_errors] == [
        ("grid-240", Reason.UNWRITABLE)
    ]
    assert [path.name for path in (folder / "sub").iterdir()] == ["x.webp"]


@pytest.mark.parametrize("content", [
    b"\xff\xd8\xff\xe0" + bytes(200),
    b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", 5, 5, 77, 9, 0, 0, 0) + bytes(50),
    b"GIF89a\1\0\1\0\0\0\0\xff\xff\xff",
    b"II*\0\x08\0\0\0\xff\xff" + bytes(100),
    b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf" + bytes(64),
    b"\xff\x0a" + bytes(64),
    b"RIFF\x40\0\0\0WEBPVP8 " + bytes(60),
])  # fmt: skip
async def test_nonsense_behind_a_good_beginning_fails_with_a_class(refuse: Refuse, content: bytes) -> None:
    assert (await refuse(content)).reason in (Reason.CORRUPT, Reason.TRUNCATED, Reason.UNSUPPORTED)


async def test_a_pixel_layout_that_cannot_be_shown_is_unsupported(refuse: Refuse) -> None:
    data = make.saved(Image.new("RGB", (4, 4)), "TIFF")
    # Fifteen samples a pixel: planes of a microscope, not colours.
    odd = io.BytesIO(
        data.replace(struct.pack("<HHIHH", 277, 3, 1, 3, 0), struct.pack("<HHIHH", 277, 3, 1, 15, 0))
    )
    assert (await refuse(odd.getvalue())).reason is Reason.UNSUPPORTED
