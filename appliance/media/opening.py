"""Opening pictures with Pillow: one allowed format at a time, sizes checked before anything is decoded."""

from __future__ import annotations

import contextlib
import functools
import re
import struct
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import BinaryIO

from PIL import Image, JpegImagePlugin, PngImagePlugin, UnidentifiedImageError

from appliance.media import bmff, curves, jxlhead, pictures, timing
from appliance.media.limits import Limits
from appliance.media.reading import Source
from appliance.media.reasons import MediaFailure, Reason


# Only the plugin that belongs to the sniffed content may look at a file; Pillow would otherwise offer
# it to EPS (Ghostscript) and a dozen others.
_PLUGINS: dict[str, str] = {
    "jpeg": "JPEG",
    "png": "PNG",
    "gif": "GIF",
    "webp": "WEBP",
    "avif": "AVIF",
    "heif": "HEIF",
    "jxl": "JXL",
    "tiff": "TIFF",
    "bmp": "BMP",
    "jpeg2000": "JPEG2000",
}

# Chunks of a PNG that say something about the picture.
_WORDS = ("chunk_tEXt", "chunk_zTXt", "chunk_iTXt", "chunk_iCCP")

_BITS, _PLANES = 258, 284

# How Pillow's plugins say that a file is sound but arranged in a way that they do not know.
_LAYOUTS = ("pixel mode", "samples per pixel", "unsupported")


def prepare(limits: Limits) -> None:
    """Make Pillow strict in this process: bombs are errors, and what is short is not filled up."""
    Image.MAX_IMAGE_PIXELS = limits.pixels
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    Image.preinit()
    for marker in range(0xFFE0, 0xFFF0):
        name, about, read = JpegImagePlugin.MARKER[marker]
        JpegImagePlugin.MARKER[marker] = (name, about, _forgiving(read))
    for chunk in _WORDS:
        setattr(PngImagePlugin.PngStream, chunk, _passing_over(getattr(PngImagePlugin.PngStream, chunk)))


def _forgiving(read: Callable[..., None] | None) -> Callable[..., None]:
    """A damaged segment costs what it says about the picture, never the picture."""

    def careful(image: JpegImagePlugin.JpegImageFile, marker: int) -> None:
        with contextlib.suppress(struct.error, IndexError):
            if read is not None:
                read(image, marker)

    return careful


def _passing_over(read: Callable[..., bytes]) -> Callable[..., bytes]:
    """What unpacks to more than Pillow allows for words is not read; the picture beside it is sound."""

    def careful(png: PngImagePlugin.PngStream, at: int, length: int) -> bytes:
        try:
            return read(png, at, length)
        except (ValueError, SyntaxError):
            if png.fp is None:
                raise
            png.fp.seek(at)
            # Its checksum is still to be compared.
            return png.fp.read(length)

    return careful


def open_picture(source: Source, limits: Limits, *, moves: bool = True) -> Image.Image:
    """Open a picture by its sniffed format after checking the size that its header announces.

    One that does not move is opened without the remains of an animation that its decoder would refuse.
    """
    format_ = source.sniffed.format
    _check_announced(source, limits)
    _plugin(format_)
    try:
        image: Image.Image = Image.open(_file(source, moves=moves), formats=[_PLUGINS[format_]])
    except UnidentifiedImageError as error:
        raise _unidentified(source) from error
    check_pixels(image.size, limits)
    if _needs_libtiff(image):
        image = _by_libtiff(source)
    curve = curves.of(source)
    if curve is not None:
        image.info[pictures.CURVE] = curve
    if not isinstance(image.info.get("xmp", b""), bytes | str):
        # A tag that says that it holds numbers; Pillow itself stumbles over them.
        del image.info["xmp"]
    return image


def _needs_libtiff(image: Image.Image) -> bool:
    """Pillow's own reader takes planes of sixteen bits for ones of eight."""
    tags = getattr(image, "tag_v2", None)
    return tags is not None and tags.get(_PLANES) == 2 and max(tags.get(_BITS, (8,))) == 16


def _by_libtiff(source: Source) -> Image.Image:
    from PIL import TiffImagePlugin  # noqa: PLC0415

    TiffImagePlugin.READ_LIBTIFF = True
    try:
        return Image.open(source.file(), formats=["TIFF"])
    finally:
        TiffImagePlugin.READ_LIBTIFF = False


def _file(source: Source, *, moves: bool) -> BinaryIO:
    if moves or source.sniffed.format != "png" or b"acTL" not in source.head():
        return source.file()
    return timing.without_animation(source)


def _unidentified(source: Source) -> MediaFailure:
    """Ask the plugin itself why it refused, because Pillow's open() swallows its words."""
    name = source.sniffed.name
    try:
        Image.OPEN[_PLUGINS[source.sniffed.format]][0](source.file(), b"")
    except Exception as error:  # noqa: BLE001
        # Any error is the answer here.
        if any(words in str(error).lower() for words in _LAYOUTS):
            return MediaFailure(Reason.UNSUPPORTED, f"{name}: {error}")
    return MediaFailure(Reason.TRUNCATED if is_short(source) else Reason.CORRUPT, f"not a readable {name}")


def _check_announced(source: Source, limits: Limits) -> None:
    """Check formats whose libraries decode or refuse on opening, before we could ask for the size."""
    announced = None
    if source.sniffed.format in ("avif", "heif"):
        announced = bmff.picture_size(source.file(), source.size)
    elif source.sniffed.format == "jxl":
        announced = jxlhead.picture_size(source.head())
    if announced is not None:
        check_pixels(announced, limits)


def check_pixels(size: tuple[int, int], limits: Limits) -> None:
    """Refuse a picture with too many pixels, in words that name both numbers."""
    if size[0] * size[1] > limits.pixels:
        raise too_large(size[0] * size[1], limits, f"{size[0]}x{size[1]}, ")


def too_large(pixels: int, limits: Limits, size: str = "") -> MediaFailure:
    """Say how large a picture is and how large it may be."""
    return MediaFailure(Reason.TOO_LARGE, f"{size}{_megapixels(pixels)} MP > {_megapixels(limits.pixels)} MP")


def bomb(error: Exception, limits: Limits) -> MediaFailure:
    """Translate Pillow's refusal, which holds the number of pixels in its text."""
    found = re.search(r"\((\d+) pixels\)", str(error))
    return too_large(int(found.group(1)) if found else limits.pixels + 1, limits)


def _megapixels(pixels: int) -> str:
    return f"{pixels // 1_000_000:,}"


@functools.cache
def _plugin(format_: str) -> ModuleType | None:
    """Load a plugin when its first file arrives: each costs memory in every child."""
    if format_ == "heif":
        import pillow_heif  # noqa: PLC0415

        pillow_heif.options.DECODE_THREADS = 1
        pillow_heif.register_heif_opener(thumbnails=False)
        return pillow_heif
    if format_ == "jxl":
        return _jxl()
    if format_ == "avif":
        from PIL import AvifImagePlugin  # noqa: PLC0415

        AvifImagePlugin.DEFAULT_MAX_THREADS = 1
        return AvifImagePlugin
    if format_ in ("tiff", "jpeg2000", "webp"):
        Image.init()
    return None


def _jxl() -> ModuleType:
    try:
        from pillow_jxl import JpegXLImagePlugin  # noqa: PLC0415
    except ImportError as error:
        raise MediaFailure(Reason.UNSUPPORTED, "JPEG XL picture (its decoder is not installed)") from error
    JpegXLImagePlugin.DECODE_THREADS = 0
    return JpegXLImagePlugin


def is_short(source: Source) -> bool:
    """Tell from the container alone whether the end of a picture or film is missing."""
    look = _ENDS.get(source.sniffed.format)
    return look is not None and look(source)


def _tiff_is_short(source: Source) -> bool:
    # Most writers put the directory behind the pixels.
    head = source.head()
    return int.from_bytes(head[4:8], "little" if head[:2] == b"II" else "big") >= source.size


def _boxes_are_short(source: Source) -> bool:
    # Cut between two boxes: nothing points beyond the end, but the pixels are missing.
    found = [box.kind for box in bmff.boxes(source.file(), 0, source.size)]
    return bmff.overrun(source.file(), source.size) or b"mdat" not in found


_ENDS: dict[str, Callable[[Source], bool]] = {
    "jpeg": lambda source: b"\xff\xd9" not in source.tail(64 * 1024),
    "png": lambda source: b"IEND" not in source.tail(4096),
    "webp": lambda source: int.from_bytes(source.head()[4:8], "little") + 8 > source.size + 1,
    "bmp": lambda source: int.from_bytes(source.head()[2:6], "little") > source.size,
    "avif": _boxes_are_short,
    "heif": _boxes_are_short,
    "mov": lambda source: bmff.overrun(source.file(), source.size),
    "tiff": _tiff_is_short,
}
