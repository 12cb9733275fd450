"""Still pictures: one reduced decode that serves the facts, the renditions and the check for damage."""

from __future__ import annotations

from PIL import Image

from appliance.media import metadata, motion, phash, pictures
from appliance.media.reading import Source
from appliance.media.wire import Decoded, Wanted


_SCALABLE = ("JPEG", "MPO")


def decode(source: Source, image: Image.Image, wanted: list[Wanted], *, turn: int = 0) -> Decoded:
    """Decode the first picture of a file completely and describe it."""
    if image.format not in _SCALABLE:
        # Before the metadata, whose readers load some formats too and would hide that data is missing.
        image.load()
    found = metadata.of_picture(source, image)
    found.facts |= pictures.bright(image) | motion.facts(source, image)
    if found.orientation != 1:
        found.facts["turned"] = found.orientation
    upright = pictures.turned(found.orientation, turn)
    shown = pictures.displayed(image.size, upright)
    pages = _pages(source, image)
    target = pictures.largest(shown, wanted)
    _draft(image, pictures.displayed(target, upright))
    # Truncated data is noticed only by decoding all of it, also at a reduced scale.
    image.load()
    picture = pictures.reduced(image, target, upright)
    made, errors = pictures.render(picture, shown, wanted)
    return Decoded(
        kind="still",
        mime=source.sniffed.mime,
        width=shown[0],
        height=shown[1],
        frames=pages,
        date_source="exif" if found.taken_at else None,
        dominant=pictures.dominant(picture),
        **metadata.described(found),
        renditions=made,
        rendition_errors=errors,
        fingerprint=phash.fingerprint(picture),
    )


def _draft(image: Image.Image, stored: tuple[int, int]) -> None:
    """Let the JPEG decoder scale by 2, 4 or 8 while it decodes, to no less than what is needed."""
    if image.format in _SCALABLE:
        image.draft(None, stored)


def _pages(source: Source, image: Image.Image) -> int:
    return int(getattr(image, "n_frames", 1)) if source.sniffed.format == "tiff" else 1
