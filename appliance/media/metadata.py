"""What a picture says about itself: EXIF, XMP and IPTC as one answer, each read so that none costs the rest.

The camera's own dates stand above those of XMP and IPTC: who corrects a date inside a file writes both, who
only copies a packet along leaves an old one. The date of the last change in EXIF comes last, since every
program writes it. For words it is the other way round: XMP is what people write today, IPTC what they wrote
before, and EXIF what a camera fills in.
"""

from __future__ import annotations

from typing import Any

from PIL import Image

from appliance.media import exif, iptc, packets, xmp
from appliance.media.exif import Exif
from appliance.media.reading import Source
from appliance.media.said import MOST_KEYWORDS, Said


class Metadata(Said, kw_only=True):
    """The words and facts of one picture, and the turn that is still to be done."""

    orientation: int = 1


def of_picture(source: Source, image: Image.Image) -> Metadata:
    """Read everything that an opened picture says; never fails."""
    camera = exif.read(source, image)
    newer = Said()
    for packet in packets.of(source, image):
        complete(newer, xmp.said(packet))
    older = iptc.said(packets.iptc(image))
    found = Metadata(orientation=camera.orientation, notes=list(camera.notes))
    found.taken_at, found.taken_offset = _date(camera, newer, older)
    for said in (newer, older, camera):
        complete(found, said)
    # What the camera measured is not for editors to say.
    found.facts |= {k: v for k, v in camera.facts.items() if k not in _WORDS}
    found.at_most(MOST_KEYWORDS)
    return found


_WORDS = frozenset({"description", "artist", "copyright"})


def complete(found: Said, more: Said) -> None:
    """Add what was not said yet."""
    found.title = found.title or more.title
    found.rating = found.rating or more.rating
    if found.taken_at is None:
        found.taken_at, found.taken_offset = more.taken_at, more.taken_offset
    known = {name.casefold() for _, name in found.tags}
    found.tags += [tag for tag in more.tags if tag[1].casefold() not in known]
    found.facts = more.facts | found.facts
    for text in more.notes:
        found.note(text)


def _date(camera: Exif, newer: Said, older: Said) -> tuple[Any, int | None]:
    choices = (
        (camera.taken_at, camera.taken_offset),
        (newer.taken_at, newer.taken_offset),
        (older.taken_at, older.taken_offset),
        (camera.changed_at, camera.changed_offset),
    )
    return next((each for each in choices if each[0] is not None), (None, None))


def described(found: Said) -> dict[str, Any]:
    """The fields of an answer that come from words and facts."""
    return {
        "title": found.title,
        "rating": found.rating,
        "tags": found.tags,
        "taken_at": found.taken_at,
        "taken_offset": found.taken_offset,
        "notes": found.notes,
        "facts": found.facts,
    }
