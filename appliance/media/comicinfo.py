"""ComicInfo.xml: what a comic says about itself. Read field by field; a wrong one costs itself alone."""

from __future__ import annotations

import re

from appliance.media import safexml
from appliance.media.said import LONGEST_TAG, LONGEST_TITLE, MOST_TAGS, Said, as_text, line


_MOST_BYTES = 1 << 20
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
_KNOWN = frozenset({*_SINGLE, *_SEVERAL, "title", "manga"})


class _Fields:
    """The texts of the fields right below the outermost element; a document type is refused at once."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self._path: list[str] = []
        self._open = ""
        self.parser = safexml.parser()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text

    def _start(self, name: str, _attributes: dict[str, str]) -> None:
        if not self._path and name.rpartition(":")[2].lower() != "comicinfo":
            raise safexml.Refused("not a ComicInfo")
        if len(self._path) > _DEEPEST:
            raise safexml.Refused("too deep")
        self._path.append(name.rpartition(":")[2].lower())

    def _end(self, _name: str) -> None:
        field = self._path.pop()
        if len(self._path) == 1:
            if field in _KNOWN:
                self.texts.setdefault(field, self._open)
            self._open = ""

    def _text(self, text: str) -> None:
        if len(self._path) == 2:
            # Names take more room than words; what is longer than all of them is cut off where it is used.
            self._open += text[: _MOST_NAMES * LONGEST_TAG - len(self._open)]


def read(text: bytes) -> Said:
    """Read a ComicInfo.xml; what cannot be read is a note, never a failure."""
    if not text:
        return Said()
    if len(text) > _MOST_BYTES:
        return Said(notes=[f"ComicInfo.xml is broken: {len(text):,} bytes"])
    fields = _Fields()
    problem = safexml.parse(fields.parser, text)
    # Fields that were closed before the mistake are as good as any.
    found = _said(fields.texts)
    if problem is not None:
        found.note(f"ComicInfo.xml is broken: {problem}"[:200])
    return found


def _said(texts: dict[str, str]) -> Said:
    found = Said(title=_title(texts))
    words = {fact: as_text(texts.get(name, "")) for name, fact in _SINGLE.items()}
    found.facts = {fact: text for fact, text in words.items() if text}
    for name, (fact, kind) in _SEVERAL.items():
        names = _names(texts.get(name, ""))
        found.tag(names, kind)
        if names:
            found.facts[fact] = names
    found.tag([texts.get("series", "")], "series")
    if line(texts.get("manga", ""), LONGEST_TAG).lower() == "yesandrighttoleft":
        found.facts["right_to_left"] = True
    found.at_most(MOST_TAGS)
    return found


def _title(texts: dict[str, str]) -> str | None:
    title, series, number = (
        line(texts.get(name, ""), LONGEST_TITLE) for name in ("title", "series", "number")
    )
    return title or f"{series} {number}".strip()[:LONGEST_TITLE] or None


def _names(text: str) -> list[str]:
    found = (line(part, LONGEST_TAG + 1) for part in re.split(r"[,;\n]", text))
    return list(dict.fromkeys(name for name in found if name))[:_MOST_NAMES]
