"""The full size of what browsers cannot show, and pictures that a person turned."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from appliance.media.decoder import DecodePool
from appliance.media.fullsize import mime_of
from appliance.media.wire import FITS, FULL, Made, Wanted
from tests.media import make
from tests.media_files import picture


async def drawn(pool: DecodePool, tmp_path: Path, content: bytes, *, name: str = FULL, turn: int = 0) -> Made:
    source = tmp_path / "source"
    source.write_bytes(content)
    async with pool.child() as child:
        await child.open(bytes(source))
        made = await child.decode([Wanted(name, FITS[name], bytes(tmp_path / name))], turn=turn)
    assert made.rendition_errors == []
    return made.renditions[0]


def shown(tmp_path: Path, name: str = FULL) -> Image.Image:
    found = Image.open(tmp_path / name)
    found.load()
    return found


@pytest.mark.parametrize("format_", ["TIFF", "HEIF", "JXL", "JPEG2000", "BMP"])
async def test_a_photo_has_its_whole_size(pool: DecodePool, tmp_path: Path, format_: str) -> None:
    made = await drawn(pool, tmp_path, make.saved(picture(3, size=(1800, 1200)), format_))
    assert (made.width, made.height, made.mime) == (1800, 1200, "image/jpeg")
    assert shown(tmp_path).size == (1800, 1200)
    assert mime_of((tmp_path / FULL).read_bytes()[:16]) == "image/jpeg"


async def test_alpha_is_kept(pool: DecodePool, tmp_path: Path) -> None:
    seethrough = picture(4, size=(300, 200)).convert("RGBA")
    seethrough.putalpha(Image.linear_gradient("L").resize((300, 200)))
    made = await drawn(pool, tmp_path, make.saved(seethrough, "TIFF"))
    assert made.mime == "image/webp"
    assert shown(tmp_path).convert("RGBA").getchannel("A").getextrema() == pytest.approx((0, 255), abs=3)


async def test_a_drawing_loses_nothing(pool: DecodePool, tmp_path: Path) -> None:
    drawing = make.corner((400, 300))
    made = await drawn(pool, tmp_path, make.saved(drawing, "TIFF"))
    assert made.mime == "image/webp"
    assert shown(tmp_path).convert("RGB").tobytes() == drawing.tobytes()


async def test_sixteen_bits_become_eight(pool: DecodePool, tmp_path: Path) -> None:
    deep = Image.linear_gradient("L").convert("I").point(lambda v: v * 257).convert("I;16")
    await drawn(pool, tmp_path, make.saved(deep, "TIFF"))
    assert shown(tmp_path).convert("L").getextrema() == pytest.approx((0, 255), abs=3)


async def test_cmyk_becomes_rgb(pool: DecodePool, tmp_path: Path) -> None:
    await drawn(pool, tmp_path, make.saved(Image.new("CMYK", (40, 30), (0, 255, 255, 0)), "TIFF"))
    red, green, blue = shown(tmp_path).convert("RGB").getpixel((5, 5))  # type: ignore[misc]
    assert red > 180
    assert max(green, blue) < 90


async def test_a_strip_longer_than_webp_allows_is_a_jpeg(pool: DecodePool, tmp_path: Path) -> None:
    made = await drawn(pool, tmp_path, make.saved(picture(5, size=(300, 20_000)), "TIFF"))
    assert (made.width, made.height, made.mime) == (300, 20_000, "image/jpeg")


async def test_a_seethrough_strip_longer_than_webp_allows_is_a_png(pool: DecodePool, tmp_path: Path) -> None:
    strip = Image.new("RGBA", (40, 17_000), (200, 0, 0, 100))
    made = await drawn(pool, tmp_path, make.saved(strip, "TIFF"))
    assert made.mime == "image/png"
    assert shown(tmp_path).getpixel((3, 3)) == (200, 0, 0, 100)


@pytest.mark.parametrize("name", [FULL, "preview", "grid-240"])
@pytest.mark.parametrize(("turn", "red"), [(90, (15, 5)), (180, (35, 15)), (270, (5, 35))])
@pytest.mark.parametrize("orientation", [1, 6])
async def test_a_turned_picture_is_turned_clockwise(
    pool: DecodePool, tmp_path: Path, name: str, turn: int, red: tuple[int, int], orientation: int
) -> None:
    # What the file asks for comes first; the person turned what they saw.
    upright = make.corner()
    stored = upright if orientation == 1 else upright.transpose(Image.Transpose.ROTATE_90)
    content = make.saved(stored, "JPEG", quality=95, exif=make.exif(orientation=orientation))
    made = await drawn(pool, tmp_path, content, name=name, turn=turn)
    size = (20, 40) if turn % 180 else (40, 20)
    assert (made.width, made.height) == size
    found = shown(tmp_path, name).convert("RGB")
    at: tuple[int, int, int] = found.getpixel(red)  # type: ignore[assignment]
    assert at[0] > 150 > at[2]
    away: tuple[int, int, int] = found.getpixel((size[0] - 1 - red[0], size[1] - 1 - red[1]))  # type: ignore[assignment]
    assert away[2] > 150 > away[0]


async def test_a_turned_film_has_a_turned_poster(pool: DecodePool, tmp_path: Path) -> None:
    made = await drawn(pool, tmp_path, make.film(count=5), name="grid-240", turn=90)
    assert (made.width, made.height) == (32, 64)
    assert shown(tmp_path, "grid-240").convert("RGB").getpixel((24, 8))[0] > 150  # type: ignore[index]


async def test_a_turned_animation_has_a_turned_cover(pool: DecodePool, tmp_path: Path) -> None:
    made = await drawn(pool, tmp_path, make.animated("GIF", [100, 100]), name="grid-240", turn=270)
    assert (made.width, made.height) == (30, 40)
