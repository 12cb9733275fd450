"""How much memory this machine or container may use."""

from __future__ import annotations

import os
from pathlib import Path


GROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def machine_memory() -> int:
    """Physical memory, or the container's limit when that is lower."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([physical, *(limit for limit in map(_limit, GROUPS) if limit)])


def _limit(path: str) -> int:
    try:
        text = Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return 0
    return int(text) if text.isdigit() else 0
