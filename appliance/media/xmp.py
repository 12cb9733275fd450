"""XMP: a packet of XML inside a file or beside it, parsed within bounds and read field by field."""

from __future__ import annotations

import re
from collections.abc import Callable

from appliance.media import dates, safexml
from appliance.media.said import LONGEST_TITLE, Said, as_text, line, position, stars, stars_of_percent


MOST_BYTES = 1 << 20
_DEEPEST, _MOST_VALUES = 32, 1000
# An element with its end takes so many bytes, as a rule far more.
_ELEMENT_BYTES = 50
# Where every letter takes two bytes, a zero is a half of one.
_WIDE = re.compile(rb"\xff\xfe|\xfe\xff|<\0|\0<\0")

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns# "
_LANG = "http://www.w3.org/XML/1998/namespace lang"
_PREFIXES = {
    "http://purl.org/dc/elements/1.1/ ": "dc:",
    "http://ns.adobe.com/xap/1.0/ ": "xmp:",
    "http://ns.adobe.com/photoshop/1.0/ ": "photoshop:",
    "http://ns.adobe.com/exif/1.0/ ": "exif:",
    "http://ns.adobe.com/lightroom/1.0/ ": "lr:",
    "http://ns.microsoft.com/photo/1.0/ ": "ms:",
    "http://ns.microsoft.com/photo/1.0 ": "ms:",
    "http://www.digikam.org/ns/1.0/ ": "digikam:",
    "http://ns.adobe.com/xmp/note/ ": "note:",
}
_PLACE = re.compile(r"(\d{1,3}),(\d{1,2}(?:\.\d+)?)(?:,(\d{1,2}(?:\.\d+)?))?([NSEW])\Z")

Fields = dict[str, list[str]]


class _Reader:
    """Collects the simple and listed values of top-level properties; what lies deeper is passed over."""

    def __init__(self, most_elements: int) -> None:
        self.fields: Fields = {}
        self._most_elements = most_elements
        self._path: list[str] = []
        self._text: list[str] = []
        self._first = False
        self._elements = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        if len(self._path) >= _DEEPEST or self._elements > self._most_elements:
            raise safexml.Refused("it is nested too deeply or too long")
        self._path.append(name)
        self._text = []
        if name == f"{_RDF}Description" and self._depth() == 2:
            for key, value in attributes.items():
                self._add(key, value)
        # Of several languages the one that is for everybody.
        self._first = attributes.get(_LANG) == "x-default"

    def data(self, text: str) -> None:
        self._text.append(text)

    def end(self, name: str) -> None:
        depth, text = self._depth(), "".join(self._text)
        if depth == 3 or (depth == 5 and name == f"{_RDF}li"):
            self._add(self._path[-1 if depth == 3 else -3], text, first=self._first)
        self._path.pop()
        self._text = []

    def _depth(self) -> int:
        """How deep below rdf:RDF; 3 is a property, 5 an item of its list."""
        try:
            return len(self._path) - self._path.index(f"{_RDF}RDF")
        except ValueError:
            return 0

    def _add(self, name: str, text: str, *, first: bool = False) -> None:
        space, _, local = name.rpartition(" ")
        prefix, value = _PREFIXES.get(f"{space} "), as_text(text)
        if prefix is None or not value:
            return
        values = self.fields.setdefault(prefix + local, [])
        if len(values) < _MOST_VALUES:
            values.insert(0 if first else len(values), value)


def fields(packet: bytes, most: int = MOST_BYTES) -> tuple[Fields, str | None]:
    """Return the properties of a packet of at most so many bytes, and what was wrong with it; never fails."""
    reader = _Reader(most // _ELEMENT_BYTES)
    if len(packet) > most:
        return {}, f"it is larger than {most >> 20} MiB"
    parser = safexml.parser(" ")
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.data
    # What was read before the damage counts.
    return reader.fields, safexml.parse(parser, packet if _WIDE.match(packet) else packet.strip(b"\0 \r\n\t"))


def said(packet: bytes) -> Said:
    """Read what a packet says; never fails."""
    known, problem = fields(packet)
    found = interpreted(known)
    if problem is not None:
        found.note(f"XMP is damaged ({problem})")
    return found


def interpreted(known: Fields) -> Said:
    """Turn properties into words and facts."""

    def first(name: str) -> str:
        return (known.get(name) or [""])[0]

    found = Said()
    found.title = line(first("dc:title") or first("photoshop:Headline"), LONGEST_TITLE) or None
    found.rating = stars(first("xmp:Rating")) or stars_of_percent(first("ms:Rating"))
    if first("xmp:Rating").startswith("-1"):
        found.facts["rejected"] = True
    found.tag(known.get("dc:subject", []))
    found.tag(_leaf(path, "|") for path in known.get("lr:hierarchicalSubject", []) if _of_a_person(path))
    found.tag(_leaf(path, "/") for path in known.get("digikam:TagsList", []))
    for fact, name in _FACTS.items():
        value = ", ".join(known.get(name, [])[:20])
        if value:
            found.facts[fact] = as_text(value)
    _place(first, found)
    _date(known, found)
    return found


_FACTS = {
    "description": "dc:description",
    "artist": "dc:creator",
    "copyright": "dc:rights",
    "label": "xmp:Label",
    "credit": "photoshop:Credit",
    "city": "photoshop:City",
    "state": "photoshop:State",
    "country": "photoshop:Country",
}
_DATES = ("exif:DateTimeOriginal", "photoshop:DateCreated", "exif:DateTimeDigitized", "xmp:CreateDate")


def _of_a_person(path: str) -> bool:
    """False for what darktable notes about its own doings."""
    return not path.startswith("darktable|")


def _leaf(path: str, separator: str) -> str:
    """The last part of `places|Europe|Rome`, which is the keyword itself."""
    return path.rstrip(separator).rpartition(separator)[2]


def _place(first: Callable[[str], str], found: Said) -> None:
    latitude, longitude = _degrees(first("exif:GPSLatitude")), _degrees(first("exif:GPSLongitude"))
    if latitude is not None and longitude is not None:
        found.facts |= position(latitude, longitude) or {}


def _degrees(text: str) -> float | None:
    """Read `52,30.5N` or `52,30,30N`."""
    part = _PLACE.match(text)
    if part is None:
        return None
    total = int(part.group(1)) + float(part.group(2)) / 60 + float(part.group(3) or 0) / 3600
    return -total if part.group(4) in "SW" else total


def _date(known: Fields, found: Said) -> None:
    for name in _DATES:
        parsed = dates.parse((known.get(name) or [""])[0])
        if parsed is not None:
            found.taken_at, found.taken_offset = parsed
            return
