"""Raw photos: the picture that the camera put into the file where it is large enough, else a development."""

from __future__ import annotations

import contextlib
import io
import os
from typing import Any

from PIL import Image

from appliance.media import metadata, opening, phash, pictures
from appliance.media.limits import Limits
from appliance.media.reading import Source
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import Decoded, Wanted


# LibRaw's word for how the camera was held, as an orientation of EXIF.
_HELD = {3: 3, 5: 8, 6: 6}
# A preview a little smaller than what is wanted spares a development of seconds.
_ENOUGH = 0.8
# Above this a development takes half the size, or it would not fit into the memory of a child.
_MOST_PIXELS = 40_000_000
_EXIF_HEAD = 512 << 10
_TIFF_LIKE = (b"II*\0", b"MM\0*", b"IIRO", b"IIRS", b"IIU\0", b"MMOR")


def _library() -> Any:
    # One thread, as for every decoder; asked for before the first import of what obeys.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    try:
        import rawpy  # noqa: PLC0415 - with numpy 18 MB in a child
    except ImportError:
        return None
    return rawpy


def decode(source: Source, wanted: list[Wanted], limits: Limits, *, turn: int = 0) -> Decoded:
    """Describe a raw photo and render it."""
    library = _library()
    if library is None:
        raise MediaFailure(Reason.UNSUPPORTED, f"{source.sniffed.name} (its decoder is not installed)")
    try:
        with library.imread(source.file()) as raw:
            return _decode(library, source, raw, wanted, limits, turn)
    except (library.LibRawFileUnsupportedError, library.LibRawNotImplementedError) as error:
        raise MediaFailure(Reason.UNSUPPORTED, f"{source.sniffed.name} of an unknown kind") from error
    except library.LibRawUnsufficientMemoryError as error:
        raise MemoryError from error
    except library.LibRawError as error:
        raise MediaFailure(Reason.CORRUPT, f"not a readable {source.sniffed.name}: {_said(error)}") from error


def _decode(
    library: Any, source: Source, raw: Any, wanted: list[Wanted], limits: Limits, turn: int
) -> Decoded:
    stored = (raw.sizes.width, raw.sizes.height)
    opening.check_pixels(stored, limits)
    held = _HELD.get(raw.sizes.flip, 1)
    upright = pictures.turned(held, turn)
    shown = pictures.displayed(stored, upright)
    target = pictures.largest(shown, wanted)
    preview = _preview(library, raw, limits)
    whole = _is_whole(library, raw, preview)
    found = metadata.of_picture(source, _with_words(source, preview))
    if preview is None or max(preview.size) < _ENOUGH * max(target):
        preview = _developed(raw, stored, target) if whole else preview
    assert preview is not None  # noqa: S101 - without a preview, what is not whole was refused
    if held >= 5 and (preview.width < preview.height) != (stored[0] < stored[1]):
        # The camera stood it upright already.
        upright = pictures.turned(1, turn)
    picture = pictures.reduced(preview, target, upright)
    made, errors = pictures.render(picture, shown, wanted)
    return Decoded(
        kind="still",
        mime=source.sniffed.mime,
        width=shown[0],
        height=shown[1],
        frames=1,
        date_source="exif" if found.taken_at else None,
        dominant=pictures.dominant(picture),
        flags=[] if whole else ["truncated"],
        **metadata.described(found),
        renditions=made,
        rendition_errors=errors,
        fingerprint=phash.fingerprint(picture),
    )


def _preview(library: Any, raw: Any, limits: Limits) -> Image.Image | None:
    """The picture that the camera made itself; None where there is none that can be read."""
    with contextlib.suppress(library.LibRawError, OSError, ValueError, SyntaxError, MediaFailure):
        found = raw.extract_thumb()
        if found.format == library.ThumbFormat.BITMAP:
            return Image.fromarray(found.data)
        picture = Image.open(io.BytesIO(found.data), formats=["JPEG"])
        opening.check_pixels(picture.size, limits)
        picture.load()
        return picture
    return None


def _is_whole(library: Any, raw: Any, preview: Image.Image | None) -> bool:
    """Read all that the sensor saw: nothing else tells that a part of it is missing."""
    try:
        raw.unpack()
    except library.LibRawNotImplementedError:
        if preview is None:
            raise
    except (library.LibRawDataError, library.LibRawIOError, library.LibRawUnspecifiedError):
        if preview is None:
            raise
        return False
    return True


def _developed(raw: Any, stored: tuple[int, int], target: tuple[int, int]) -> Image.Image:
    halved = max(target) * 2 <= max(stored) or stored[0] * stored[1] > _MOST_PIXELS
    pixels = raw.postprocess(half_size=halved, use_camera_wb=True, user_flip=0, output_bps=8)
    return Image.fromarray(pixels)


def _with_words(source: Source, preview: Image.Image | None) -> Image.Image:
    """Give a picture whose words are those of the raw file, which most often is a TIFF."""
    bearer = Image.new("L", (1, 1))
    head = source.at(0, _EXIF_HEAD)
    if head[:4] in _TIFF_LIKE:
        order = head[:2] + (b"*\0" if head[:2] == b"II" else b"\0*")
        bearer.info["exif"] = b"Exif\0\0" + order + head[4:]
    elif preview is not None:
        bearer.info.update(preview.info)
    return bearer


def _said(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
