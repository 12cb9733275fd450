"""Names of sent files: what people see, and what the file is called in our folder. Both take any bytes."""

from __future__ import annotations

import re

from appliance.core import names


UNNAMED = "unnamed"
SHOWN = 1000
"""Characters of a shown name; its end says more than its beginning."""
STEM, EXTENSION = 120, 16
_WINDOWS = re.compile(r"[A-Za-z]:\\|\\\\")
_UNSAFE = re.compile(r"[^A-Za-z0-9._ ()-]")


def shown(raw: bytes) -> str:
    """The sender's name with its folders, as one clean line that leads nowhere."""
    text = names.display(raw)
    if _WINDOWS.match(text):
        text = text.replace("\\", "/")
    parts = [p.strip() for p in text.split("/")]
    kept = [p for p in parts if p.strip(".")]
    return "/".join(kept)[-SHOWN:].lstrip("/") or UNNAMED


def safe(shown_name: str) -> str:
    """A plain file name with the same extension: no file system refuses it, no tool is led astray by it."""
    last = _UNSAFE.sub("_", shown_name.rpartition("/")[2])
    stem, dot, extension = last.rpartition(".")
    if not dot:
        stem, extension = last, ""
    # A leading dot would hide it.
    stem = stem[-STEM:].strip(" .") or UNNAMED
    extension = extension[:EXTENSION].strip(" .")
    return f"{stem}.{extension}" if extension else stem
