"""Which processes of this machine belong to an instance."""

from __future__ import annotations

import os
from pathlib import Path

from appliance.runtime import proc


def family(roots: set[int], data: Path) -> list[int]:
    """The roots, whoever names or works in that data directory, and all their descendants."""
    mark = os.fsencode(data)
    found = roots | {
        pid
        for pid in proc.everyone()
        if pid != os.getpid() and (mark in _cmdline(pid) or _works_below(pid, data))
    }
    while more := {pid for pid in proc.everyone() if proc.parent_of(pid) in found} - found:
        found |= more
    return sorted(pid for pid in found if not proc.is_zombie(pid))


def command_of(pid: int) -> str:
    """The command line of a process, empty when it is gone."""
    return _cmdline(pid).replace(b"\0", b" ").decode("utf-8", "replace")


def _cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _works_below(pid: int, folder: Path) -> bool:
    try:
        return Path(os.readlink(f"/proc/{pid}/cwd")).is_relative_to(folder)
    except OSError:
        return False
