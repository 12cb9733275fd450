"""What a film says about itself: the tags of its container, and an XMP packet among them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from appliance.media import dates, metadata, xmp
from appliance.media.said import LONGEST_TITLE, MOST_KEYWORDS, Said, as_text, line, position


# `+52.5200+013.4050+034.5/`: latitude, longitude and, sometimes, height.
_ISO_6709 = re.compile(
    r"([+-]\d{1,2}(?:\.\d+)?)([+-]\d{1,3}(?:\.\d+)?)(?:([+-]\d+(?:\.\d+)?))?(?:CRS\w+)?/?\Z"
)
_APPLE = "com.apple.quicktime."
_DATES = (f"{_APPLE}creationdate", "creation_time", "date", "date_recorded")
_FACTS = {
    "make": (f"{_APPLE}make", "make", "com.android.manufacturer"),
    "model": (f"{_APPLE}model", "model", "com.android.model"),
    "encoder": ("encoder",),
    "description": (f"{_APPLE}description", "description", "synopsis", "comment"),
    "artist": (f"{_APPLE}author", "artist", "author", "director"),
    "copyright": ("copyright",),
}


def read(container: Mapping[str, str], stream: Mapping[str, str]) -> Said:
    """Read title, keywords, place, date and facts; never fails."""
    tags = {k.lower(): v for k, v in (*stream.items(), *container.items())}
    found = Said()
    # A title of the stream names its language or its handler, not the film.
    own = {k.lower(): v for k, v in container.items()}
    found.title = line(own.get(f"{_APPLE}title") or own.get("title") or "", LONGEST_TITLE) or None
    found.tag((own.get(f"{_APPLE}keywords") or own.get("keywords") or "")[:20_000].split(","))
    for fact, names in _FACTS.items():
        text = next((t for t in (as_text(tags.get(n) or "") for n in names) if t), "")
        if text:
            found.facts[fact] = text
    _place(tags, found)
    _date(tags, found)
    if own.get("xmp"):
        metadata.complete(found, xmp.said(own["xmp"].encode("utf-8", "replace")))
    found.at_most(MOST_KEYWORDS)
    return found


def _place(tags: Mapping[str, str], found: Said) -> None:
    written = as_text(tags.get(f"{_APPLE}location.iso6709") or tags.get("location") or "")
    part = _ISO_6709.match(written)
    if part is None:
        return
    found.facts |= position(float(part.group(1)), float(part.group(2))) or {}
    if part.group(3) and abs(float(part.group(3))) < 100_000:
        found.facts["altitude"] = round(float(part.group(3)), 1)


def _date(tags: Mapping[str, str], found: Said) -> None:
    for name in _DATES:
        written = as_text(tags.get(name) or "")
        parsed = dates.parse(written) if written else None
        if parsed is None:
            continue
        found.taken_at, found.taken_offset = parsed
        if parsed[1] == 0:
            found.note("the container gives the date in UTC")
        return
