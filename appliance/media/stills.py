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
    pages = _pages(source)
    if pages is None:
        found.note("later pages are damaged")
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
        flags=[] if pages else ["truncated"],
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


def _pages(source: Source) -> int | None:
    """Count the pages of a fax or scan; None where a later one cannot be told, which costs no other.

    In a picture of its own: counting would make the one in hand forget what it has decoded.
    """
    if source.sniffed.format != "tiff":
        return 1
    try:
        with Image.open(source.file(), formats=["TIFF"]) as counted:
            return int(getattr(counted, "n_frames", 1))
    except Exception:  # noqa: BLE001
        # A damaged directory raises whatever its bytes lead to.
        return None
