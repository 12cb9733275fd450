"""File names are bytes: how they are shown, and never lost."""

from __future__ import annotations

import base64
import os
import unicodedata


def display(name: bytes) -> str:
    r"""Text for people: valid UTF-8 as it is, every other byte and every control as an escape like \xe9."""
    text = name.decode("utf-8", "backslashreplace")
    return "".join(_visible(c) for c in text)


def _visible(char: str) -> str:
    # Controls, separators and direction overrides could forge a line of a log or a page.
    if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp", "Cs"}:
        code = ord(char)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    return char


def pack(name: bytes) -> str:
    """The exact bytes as base64, for JSON."""
    return base64.b64encode(name).decode("ascii")


def of(path: str | os.PathLike[str]) -> bytes:
    """The bytes that the file system knows a path by."""
    return os.fsencode(path)
