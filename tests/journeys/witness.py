"""What a folder looked like, to the byte and the nanosecond."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path


Seen = dict[bytes, tuple[int, int, int, int, str]]


def look(folder: Path) -> Seen:
    """Mode, owner, size, modification and content of everything below a folder, itself included."""
    top = os.fsencode(folder)
    return {os.path.relpath(path, top): _one(path) for path in (top, *everything(folder))}


def everything(folder: Path) -> list[bytes]:
    """Every path below a folder."""
    found = []
    for place, folders, names in os.walk(os.fsencode(folder)):
        found += [os.path.join(place, name) for name in (*folders, *names)]
    return sorted(found)


def _one(path: bytes) -> tuple[int, int, int, int, str]:
    seen = os.lstat(path)
    size = 0 if stat.S_ISDIR(seen.st_mode) else seen.st_size
    return seen.st_mode, seen.st_uid, size, seen.st_mtime_ns, digest(path)


def digest(path: bytes) -> str:
    """The SHA-256 of a regular file; empty for anything else."""
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return ""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digests(folder: Path) -> set[str]:
    """The SHA-256 of every regular file that is not empty."""
    return {digest(path) for path in everything(folder) if os.lstat(path).st_size} - {""}
