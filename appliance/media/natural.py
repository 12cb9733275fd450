"""The order that people expect of names: page 9 before page 10, folder by folder."""

from __future__ import annotations

import re
import unicodedata


_NUMBERS = re.compile(r"(\d+)")
Key = tuple[tuple[tuple[int, int, str], ...], ...]


def key(path: bytes) -> Key:
    """What to sort a path by; wide and other digits count as digits."""
    text = unicodedata.normalize("NFKC", path.decode("utf-8", "surrogateescape")).casefold()
    return tuple(tuple(_part(part) for part in _NUMBERS.split(name) if part) for name in text.split("/"))


def _part(text: str) -> tuple[int, int, str]:
    # Compared by length first: a number of any length needs no arithmetic.
    if not text[0].isdecimal():
        return (1, 0, text)
    digits = "".join(str(unicodedata.digit(c)) for c in text).lstrip("0")
    return (0, len(digits), digits)
