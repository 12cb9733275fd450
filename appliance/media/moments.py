"""The time of a file as everything here compares and keeps it."""

from __future__ import annotations

import os


_LAST = 2**63 - 1
_FIRST = -(2**63)


def mtime_ns_of(found: os.stat_result) -> int:
    """When a file was changed, within what a column of 64 bits holds: the years 1677 to 2262.

    Clocks that ran wild leave files dated beyond. Everybody who keeps or compares a time of a file asks here,
    so that such a file is the same at each look.
    """
    return max(_FIRST, min(found.st_mtime_ns, _LAST))
