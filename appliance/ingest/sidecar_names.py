"""Which file a sidecar is about, told from names alone: `a.jpg.xmp` and `a.xmp` are about `a.jpg`."""

from __future__ import annotations

import hashlib
import os

from appliance.media.sidecars import KINDS


_LONGEST = 512
# Google Takeout writes `a.jpg.supplemental-metadata.json`.
_TAKEOUT = b".supplemental-metadata"


def kind_of(path: bytes) -> str | None:
    """Which kind of sidecar a name announces; None for names that announce none that is read."""
    extension = os.path.splitext(path)[1][1:].lower().decode("ascii", "replace")
    return extension if extension in KINDS else None


def about(path: bytes) -> bytes:
    """The path that a sidecar speaks of: that of its file, with or without the extension."""
    return os.path.splitext(path)[0].removesuffix(_TAKEOUT)


def stem(path: bytes) -> bytes:
    """The path of a file without its extension."""
    return os.path.splitext(path)[0]


def key(path: bytes) -> bytes:
    """A path as it is looked up; what is too long for an index is told apart by its hash."""
    if len(path) <= _LONGEST:
        return path
    return path[: _LONGEST - 32] + hashlib.sha256(path).digest()


def family(path: bytes) -> bytes:
    """What a file and all that can be about it have in common: the name up to its first dot."""
    folder, name = os.path.split(path)
    return os.path.join(folder, name.partition(b".")[0])


def sent(batch_id: int, name: bytes) -> bytes:
    """The path of a sent file, which belongs together with what was sent in the same session only."""
    return b"%d/" % batch_id + name
