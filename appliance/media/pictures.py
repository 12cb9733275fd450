"""From a decoded picture to the renditions: shrink first, then colours and orientation, then WebP."""

from __future__ import annotations

import contextlib
import functools
import io
import os
from collections.abc import Callable
from typing import Any

from PIL import Image, ImageCms

from appliance.media import fullsize, hdr, storing
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import FULL, PREVIEW, Fit, Made, Wanted


# Measured on a 12 MP photo of 5.4 MB, one core: hash 3 ms, reduced decode 55 ms, both resizes 8 ms
# (Hamming; Lanczos 17), both WebP 18 ms with method 2 and 39 ms with method 4 for 2.5 % fewer bytes.
WEBP_METHOD = 2
# Tiles are looked at small; a preview fills the screen: 3 % more time and a third more bytes than 75.
_QUALITY = {PREVIEW: 82}
_TILE_QUALITY = 75
_FILTER = Image.Resampling.HAMMING

# Where an opened picture carries its curve of brightness, when it has one of its own.
CURVE = "curve"

_PHOTOMETRIC = 262

# Work over this many pixels at once when a huge picture is brought to a working mode.
_STRIP_PIXELS = 4_000_000

_TRANSPOSE = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


# An orientation after a quarter turn clockwise.
_QUARTER = {1: 6, 6: 3, 3: 8, 8: 1, 2: 7, 7: 4, 4: 5, 5: 2}


def turned(orientation: int, turn: int) -> int:
    """Return the orientation that also turns the picture clockwise by a number of degrees."""
    for _ in range(turn % 360 // 90):
        orientation = _QUARTER.get(orientation, 6)
    return orientation


def displayed(size: tuple[int, int], orientation: int) -> tuple[int, int]:
    """Return a size as people see it."""
    return (size[1], size[0]) if orientation >= 5 else size


def fitted(size: tuple[int, int], fit: Fit) -> tuple[int, int]:
    """Scale a size into a box, never up and never below one pixel."""
    scale = min(1.0, fit.width / size[0], fit.height / size[1])
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def largest(size: tuple[int, int], wanted: list[Wanted]) -> tuple[int, int]:
    """Return the size that serves every wanted rendition; a small one when none is wanted."""
    targets = [fitted(size, each.fit) for each in wanted] or [fitted(size, Fit(960, 240))]
    return max(width for width, _ in targets), max(height for _, height in targets)


def reduced(image: Image.Image, target: tuple[int, int], orientation: int) -> Image.Image:
    """Bring a decoded picture to the target size, upright, in sRGB, as L, RGB or RGBA."""
    stored = displayed(target, orientation)
    profile = image.info.get("icc_profile")
    factor = max(1, min(image.width // (2 * stored[0]), image.height // (2 * stored[1])))
    working = _worked(image)
    small = _in_strips(image, working, factor) if _is_large(image, factor) else working(image)
    if small.size != stored:
        small = small.resize(stored, _FILTER)
    curve = image.info.get(CURVE)
    small = hdr.toned(small, curve) if curve is not None else _in_srgb(small, profile)
    return upright(small, orientation)


def upright(picture: Image.Image, orientation: int) -> Image.Image:
    """Turn and mirror a picture as it is meant to be seen."""
    way = _TRANSPOSE.get(orientation)
    return picture.transpose(way) if way is not None else picture


def bright(image: Image.Image) -> dict[str, Any]:
    """The fact that a picture is brighter than a plain screen can show."""
    return {"hdr": True} if CURVE in image.info else {}


def _is_large(image: Image.Image, factor: int) -> bool:
    return factor > 1 or image.width * image.height > 4 * _STRIP_PIXELS


def _in_strips(image: Image.Image, working: Callable[[Image.Image], Image.Image], factor: int) -> Image.Image:
    """Convert and shrink strip by strip, so that a 178 MP picture never exists twice."""
    rows = max(factor, _STRIP_PIXELS // image.width // factor * factor)
    whole: Image.Image | None = None
    for top in range(0, image.height, rows):
        strip = working(image.crop((0, top, image.width, min(top + rows, image.height))))
        strip = strip.reduce(factor) if factor > 1 else strip
        if whole is None:
            whole = Image.new(strip.mode, (strip.width, -(-image.height // factor)))
        whole.paste(strip, (0, top // factor))
    assert whole is not None  # noqa: S101 - a picture has at least one row
    return whole


def _worked(image: Image.Image) -> Callable[[Image.Image], Image.Image]:
    """Choose how pixels of this mode become pixels that resizing and WebP understand."""
    mode = image.mode
    if mode in ("L", "RGB", "RGBA", "CMYK", "LAB", "LA") and "transparency" not in image.info:
        return lambda part: part
    if mode == "1":
        return lambda part: part.convert("L")
    if mode.startswith("I") or mode == "F":
        return _to_eight_bits(image)
    seethrough = mode in ("PA", "La", "RGBa", "LA") or "transparency" in image.info
    return lambda part: part.convert("RGBA" if seethrough else "RGB")


def _to_eight_bits(image: Image.Image) -> Callable[[Image.Image], Image.Image]:
    low, high = _range(image if image.mode in ("I", "F", "I;16") else image.convert("I"), image.mode)
    if _is_negative(image):
        low, high = high, low
    scale = 255.0 / (high - low) if high != low else 0.0
    offset = -low * scale

    def convert(part: Image.Image) -> Image.Image:
        wide = part if part.mode == "F" else part.convert("I").convert("F")
        return wide.point(lambda value: value * scale + offset).convert("L")

    return convert


def _is_negative(image: Image.Image) -> bool:
    """Zero means white in some TIFF files, which Pillow heeds for eight bits alone."""
    tags = getattr(image, "tag_v2", None)
    return image.mode.startswith("I;16") and tags is not None and tags.get(_PHOTOMETRIC) == 0


def _range(image: Image.Image, mode: str) -> tuple[float, float]:
    """Return which values mean black and white."""
    extrema = image.getextrema()
    low, high = (float(value) for value in extrema if isinstance(value, int | float))
    if mode.startswith("I;16"):
        # Twelve-bit cameras and scanners store 0..4095 in sixteen bits.
        return 0.0, 4095.0 if high <= 4095 else 65535.0
    if mode == "I" and low >= 0 and high <= 65535:
        return 0.0, 255.0 if high <= 255 else 65535.0
    # Measured light is most often stored as a share of white.
    return (0.0, 1.0) if mode == "F" and low >= 0 and high <= 1 else (low, high)


def _in_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    converted = _by_profile(image, profile) if profile else None
    if converted is not None:
        return converted
    if image.mode == "LAB":
        lab = ImageCms.buildTransform(ImageCms.createProfile("LAB"), _srgb(), "LAB", "RGB")
        return ImageCms.applyTransform(image, lab) or image.convert("L")
    if image.mode == "LA":
        return image.convert("RGBA")
    return image if image.mode in ("L", "RGB", "RGBA") else image.convert("RGB")


def _by_profile(image: Image.Image, profile: bytes) -> Image.Image | None:
    """Convert by the embedded profile; None when it is broken or does not belong to these pixels."""
    if image.mode not in ("RGB", "RGBA", "CMYK", "L", "LAB"):
        return None
    with contextlib.suppress(ImageCms.PyCMSError, OSError, ValueError, TypeError):
        target = "RGBA" if image.mode == "RGBA" else "RGB"
        return ImageCms.applyTransform(image, _transform(profile, image.mode, target))
    return None


# A collection has few profiles, and building a transform costs more than applying it to a thumbnail.
@functools.lru_cache(maxsize=16)
def _transform(profile: bytes, mode: str, target: str) -> ImageCms.ImageCmsTransform:
    source = ImageCms.getOpenProfile(io.BytesIO(profile))
    return ImageCms.buildTransform(source, _srgb(), mode, target)


def _srgb() -> ImageCms.ImageCmsProfile:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))


# Each channel value to one of six steps, alpha to seen or not.
_CELLS = [*[(value + 25) // 51 for value in range(256)] * 3, *[value // 128 for value in range(256)]]


def dominant(picture: Image.Image) -> int:
    """Return the most frequent cell of the 6x6x6 colour cube; white when nothing is opaque."""
    small = picture.resize((32, 32), Image.Resampling.BOX).convert("RGBA").point(_CELLS)
    counts: dict[int, int] = {}
    for count, cell in small.getcolors(1024) or []:
        red, green, blue, seen = cell  # type: ignore[misc]
        if seen:
            counts[red * 36 + green * 6 + blue] = count
    return max(counts, key=lambda cell: (counts[cell], -cell), default=215)


def is_flat(picture: Image.Image) -> bool:
    """Tell whether a frame shows next to nothing: one colour, black, or fully transparent."""
    small = picture.convert("RGBA").resize((64, 64), Image.Resampling.BOX)
    if small.getchannel("A").getextrema()[1] < 16:  # type: ignore[operator]
        return True
    return all(high - low < 14 for low, high in small.getextrema()[:3])  # type: ignore[misc]


def render(
    picture: Image.Image, size: tuple[int, int], wanted: list[Wanted]
) -> tuple[list[Made], list[tuple[str, Reason, str]]]:
    """Write every wanted rendition of an upright picture, the largest first; errors stay with their own."""
    made: list[Made] = []
    errors: list[tuple[str, Reason, str]] = []
    current = picture
    for each in sorted(wanted, key=lambda each: fitted(size, each.fit), reverse=True):
        try:
            target = fitted(size, each.fit)
            current = current if current.size == target else current.resize(target, _FILTER)
            made.append(_write(current, each))
        except MediaFailure as error:
            errors.append((each.name, error.reason, error.detail))
        except (OSError, ValueError, MemoryError) as error:
            # An encoder raises OSError too, but without a number of the system's.
            written = storing.failure(error) if isinstance(error, OSError) and error.errno else None
            failure = written or MediaFailure(Reason.CORRUPT, f"{type(error).__name__}: {error}")
            errors.append((each.name, failure.reason, failure.detail))
    return made, errors


def _write(picture: Image.Image, wanted: Wanted) -> Made:
    data, mime = (
        fullsize.encoded(picture) if wanted.name == FULL else (_webp(picture, wanted.name), "image/webp")
    )
    return written(data, mime, picture.size, wanted)


def written(data: bytes, mime: str, size: tuple[int, int], wanted: Wanted) -> Made:
    """Put the bytes of a rendition where it is wanted."""
    temporary = wanted.path + b".%d.part" % os.getpid()
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    # Not synced: a rendition can be made again, and a sync per picture would halve an import on a disk.
    with storing.created(temporary) as target:
        storing.write(target, data)
        try:
            os.replace(temporary, wanted.path)
        except OSError as error:
            raise storing.failure(error) from error
    return Made(wanted.name, *size, len(data), mime, wanted.path)


def _webp(picture: Image.Image, name: str) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "WEBP", quality=_QUALITY.get(name, _TILE_QUALITY), method=WEBP_METHOD)
    return buffer.getvalue()
