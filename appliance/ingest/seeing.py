"""What one look at a file or a folder says of it."""

from __future__ import annotations

import os
import stat
import time

from appliance.ingest.telling import UNSURE, Seen
from appliance.media.moments import mtime_ns_of
from appliance.media.reasons import Reason


FOREIGN_FILES = frozenset({b"Thumbs.db", b"desktop.ini", b"ehthumbs.db"})
INT64 = 2**63
RACY_NS = 2_000_000_000
YOUNG_NS = 3_000_000_000
"""A file that changed so short a time ago may still be growing."""
LEAST_MS = 500
"""So far apart the two looks at such a file are at least."""


def file(path: bytes, found: os.stat_result, *, numbered: bool) -> Seen:
    """A path that is not a folder; `numbered` where its inode tells it from all others of the root."""
    inode = found.st_ino % INT64 if numbered else 0
    verdict = _verdict(os.path.basename(path), found)
    return Seen(path, found.st_size, mtime_ns_of(found), inode, verdict, _rest_ms(found))


def closed(path: bytes) -> Seen:
    """Something that is there and does not let itself be looked at."""
    return Seen(path, 0, 0, 0, Reason.UNREADABLE)


def settled(found: os.stat_result) -> int:
    """The time of a folder, unless it is so fresh that a change after this look could have the same."""
    mtime_ns = mtime_ns_of(found)
    return UNSURE if mtime_ns > time.time_ns() - RACY_NS else mtime_ns


def _rest_ms(found: os.stat_result) -> int:
    """What is left of its rest; all of it where its time lies ahead, as clocks of network shares may."""
    left = max(found.st_mtime_ns, found.st_ctime_ns) + YOUNG_NS - time.time_ns()
    return 0 if left <= 0 else max(LEAST_MS, min(left, YOUNG_NS) // 1_000_000)


def _verdict(name: bytes, found: os.stat_result) -> str:
    if stat.S_ISLNK(found.st_mode):
        return Reason.SYMLINK
    if not stat.S_ISREG(found.st_mode):
        return Reason.SPECIAL
    if name.startswith(b".") or name in FOREIGN_FILES:
        return Reason.HIDDEN
    return ""
