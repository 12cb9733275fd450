"""Animations: their length from the container, their cover from the first frame that shows something."""

from __future__ import annotations

from PIL import Image

from appliance.media import metadata, phash, pictures
from appliance.media.limits import Limits
from appliance.media.reading import Source
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.timing import Timing
from appliance.media.wire import Decoded, Wanted


# Fade-ins are short; frames are decoded one after the other, so the search must end.
_COVER_FRAMES = 60
_COVER_PIXELS = 400_000_000


def check(timing: Timing, size: tuple[int, int], limits: Limits) -> None:
    """Refuse animations that would take hours to walk through."""
    pixels = timing.frames * size[0] * size[1]
    if timing.frames > limits.frames or pixels > limits.animation_pixels:
        raise MediaFailure(Reason.TOO_LARGE, f"{timing.frames:,} frames of {size[0]}x{size[1]}")


def decode(
    source: Source,
    image: Image.Image,
    timing: Timing,
    wanted: list[Wanted],
    limits: Limits,
    *,
    turn: int = 0,
) -> Decoded:
    """Describe an animation and render its cover."""
    check(timing, image.size, limits)
    image.load()
    found = metadata.of_picture(source, image)
    found.facts |= pictures.bright(image)
    upright = pictures.turned(found.orientation, turn)
    shown = pictures.displayed(image.size, upright)
    target = pictures.largest(shown, wanted)
    picture, truncated = _cover(image, timing, target, upright)
    made, errors = pictures.render(picture, shown, wanted)
    return Decoded(
        kind="animation",
        mime=source.sniffed.mime,
        width=shown[0],
        height=shown[1],
        frames=timing.frames,
        duration_s=round(timing.duration_ms / 1000, 3),
        date_source="exif" if found.taken_at else None,
        dominant=pictures.dominant(picture),
        flags=["truncated"] if truncated or timing.truncated else [],
        **metadata.described(found),
        renditions=made,
        rendition_errors=errors,
        fingerprint=phash.fingerprint(picture),
    )


def _cover(
    image: Image.Image, timing: Timing, target: tuple[int, int], orientation: int
) -> tuple[Image.Image, bool]:
    """Return the first frame that is not flat, and whether the data ended during the search."""
    first = pictures.reduced(image, target, orientation)
    last = min(timing.frames, _COVER_FRAMES, 1 + _COVER_PIXELS // (image.width * image.height))
    picture, at = first, 0
    while pictures.is_flat(picture) and at + 1 < last:
        at += 1
        try:
            image.seek(at)
            image.load()
        except (EOFError, OSError, SyntaxError, ValueError):
            return first, True
        picture = pictures.reduced(image, target, orientation)
    return (first if pictures.is_flat(picture) else picture), False
