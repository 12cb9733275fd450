"""What a file or its sidecar says about a picture, made safe for JSON and PostgreSQL whatever it held."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec


MAX_TEXT = 2000
LONGEST_TITLE = 200
LONGEST_TAG = 100
MOST_KEYWORDS = 100
"""Stock pictures carry hundreds of keywords; nobody wants all of them as tags."""
MOST_TAGS = 400
"""Of a sidecar, which a person or a downloader made for finding things again."""
MOST_READ = 4 * MOST_TAGS
"""So many tags are read before some are chosen; what holds more is no list of tags."""
_MAX_NOTES = 20
_BLANKS = re.compile(r"\s+")


class Said(msgspec.Struct, kw_only=True):
    """Words about a picture. A tag is a kind (empty where none was said) and a name."""

    title: str | None = None
    rating: int | None = None
    taken_at: datetime | None = None
    taken_offset: int | None = None
    tags: list[tuple[str, str]] = []
    facts: dict[str, Any] = {}
    notes: list[str] = []

    @property
    def words(self) -> bool:
        """True when it says something that an asset takes over."""
        return bool(self.title or self.rating or self.tags)

    def note(self, text: str) -> None:
        """Tell what had to be left out; once, and not endlessly."""
        if text not in self.notes and len(self.notes) < _MAX_NOTES:
            self.notes.append(text)

    def tag(self, names: Iterable[object], kind: str = "") -> None:
        """Add tags of one kind; what can be no name is left out, and so is what no list of tags holds."""
        known = {each for of, each in self.tags if of == kind}
        for each in names:
            if len(self.tags) >= MOST_READ:
                return
            name = line(each, LONGEST_TAG + 1)
            if len(name) > LONGEST_TAG:
                self.note(f"“{name[:40]}…” is too long for a tag")
            elif name and name not in known:
                known.add(name)
                self.tags.append((kind, name))

    def at_most(self, count: int) -> None:
        """Keep so many tags."""
        if len(self.tags) > count:
            more = "more than " if len(self.tags) >= MOST_READ else ""
            self.note(f"{count} of {more}{len(self.tags):,} keywords became tags")
            del self.tags[count:]


def as_text(value: Any) -> str:
    """Return text without zero bytes, lone surrogates and excess, from whatever a field held."""
    if isinstance(value, tuple | list):
        value = value[0] if value else ""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    # Cut before it is cleaned, so that a megabyte in one field costs nothing.
    raw = str(value)[: 4 * MAX_TEXT]
    clean = raw.replace("\0", "").encode("utf-8", "replace").decode("utf-8")
    return "".join(sign for sign in clean if sign.isprintable() or sign in "\n\t").strip()[:MAX_TEXT]


def line(value: Any, longest: int) -> str:
    """Return the same in one line."""
    return _BLANKS.sub(" ", as_text(value)).strip()[:longest].strip()


def number(value: Any) -> float | None:
    """Return a finite number of a size that means something; raises where it is none at all."""
    if isinstance(value, tuple | list):
        value = value[0]
    found = float(value)
    return found if math.isfinite(found) and abs(found) < 1e12 else None


def stars(value: Any) -> int | None:
    """Read a rating of one to five stars; 0 and -1 (rejected) are no stars."""
    try:
        found = number(value)
    except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError):
        return None
    return round(found) if found is not None and 1 <= round(found) <= 5 else None


def stars_of_percent(value: Any) -> int | None:
    """Read Microsoft's rating: 1, 25, 50, 75 and 99 percent."""
    try:
        found = number(value)
    except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError):
        return None
    if found is None or not 1 <= found <= 100:
        return None
    return 1 + sum(found >= limit for limit in (13, 38, 63, 88))


def position(latitude: float, longitude: float) -> dict[str, float] | None:
    """Return a place on the earth; cameras without a fix write exactly zero, a place in the sea."""
    if not (math.isfinite(latitude) and math.isfinite(longitude)):
        return None
    if (latitude, longitude) == (0.0, 0.0) or abs(latitude) > 90 or abs(longitude) > 180:
        return None
    return {"latitude": round(latitude, 7), "longitude": round(longitude, 7)}
