"""ComicInfo.xml: what a comic says about itself. Read field by field; a wrong one costs itself alone."""

from __future__ import annotations

import re
from typing import Any
from xml.parsers import expat

import msgspec


_MOST_BYTES = 1 << 20
_MOST_TEXT = 20_000
_MOST_NAMES = 200
_DEEPEST = 4
_SINGLE = {
    "series": "series",
    "number": "number",
    "count": "count",
    "volume": "volume",
    "summary": "summary",
    "publisher": "publisher",
    "languageiso": "language",
    "web": "web",
    "agerating": "age_rating",
    "notes": "remarks",
    "year": "year",
}
# Field -> (our fact, kind of the tags that it holds).
_SEVERAL = {
    "writer": ("writer", "artist"),
    "penciller": ("penciller", "artist"),
    "inker": ("inker", "artist"),
    "colorist": ("colourist", "artist"),
    "coverartist": ("cover_artist", "artist"),
    "genre": ("genre", "general"),
    "tags": ("tags", "general"),
    "teams": ("teams", "general"),
    "characters": ("characters", "character"),
}
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


class Comic(msgspec.Struct):
    """What was found: facts to show, a title, tags with their kinds, the direction, what each page is."""

    title: str | None = None
    right_to_left: bool = False
    facts: dict[str, Any] = {}
    tags: list[tuple[str, str]] = []
    """(kind, name)."""
    notes: list[str] = []


class _Refused(Exception):
    """The text is no ComicInfo that we read."""


class _Fields:
    """The texts of the fields right below the outermost element; a document type is refused at once."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self._path: list[str] = []
        self._open = ""
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        self.parser = parser

    def _start(self, name: str, _attributes: dict[str, str]) -> None:
        if not self._path and name.rpartition(":")[2].lower() != "comicinfo":
            raise _Refused("not a ComicInfo")
        if len(self._path) > _DEEPEST:
            raise _Refused("too deep")
        self._path.append(name.rpartition(":")[2].lower())

    def _end(self, _name: str) -> None:
        field = self._path.pop()
        if len(self._path) == 1:
            self.texts.setdefault(field, self._open)
            self._open = ""

    def _text(self, text: str) -> None:
        if len(self._path) == 2 and len(self._open) < _MOST_TEXT:
            self._open += text

    def _refuse(self, *_arguments: object) -> None:
        raise _Refused("it declares a document type")


def read(text: bytes) -> Comic:
    """Read a ComicInfo.xml; what cannot be read is a note, never a failure."""
    if not text:
        return Comic()
    fields = _Fields()
    try:
        if len(text) > _MOST_BYTES:
            raise _Refused(f"{len(text):,} bytes")
        fields.parser.Parse(text, True)
    except (_Refused, expat.ExpatError, ValueError, LookupError) as error:
        # Fields that were closed before the mistake are as good as any.
        return _comic(fields.texts, [f"ComicInfo.xml is broken: {error}"[:200]])
    return _comic(fields.texts, [])


def _comic(texts: dict[str, str], notes: list[str]) -> Comic:
    cleaned = {name: _clean(text) for name, text in texts.items()}
    found = Comic(_title(cleaned), cleaned.get("manga", "").lower() == "yesandrighttoleft", notes=notes)
    found.facts = {fact: cleaned[name] for name, fact in _SINGLE.items() if cleaned.get(name)}
    for name, (fact, kind) in _SEVERAL.items():
        names = _names(cleaned.get(name, ""))
        if names:
            found.facts[fact] = names
            found.tags += [(kind, each) for each in names]
    if cleaned.get("series"):
        found.tags.append(("series", cleaned["series"]))
    found.tags = list(dict.fromkeys(found.tags))
    return found


def _title(texts: dict[str, str]) -> str | None:
    if texts.get("title"):
        return texts["title"][:500]
    series, number = texts.get("series", ""), texts.get("number", "")
    return (f"{series} {number}" if number else series)[:500] or None


def _clean(text: str) -> str:
    return _CONTROLS.sub(" ", text).strip()


def _names(text: str) -> list[str]:
    found = (part.strip() for part in re.split(r"[,;\n]", text))
    return list(dict.fromkeys(name[:200] for name in found if name))[:_MOST_NAMES]
