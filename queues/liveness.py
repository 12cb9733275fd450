"""Who lives: the identity of this host, the birth of a process, and what "dead" means in SQL."""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from pathlib import Path


def host() -> str:
    """Name the host, apart from its neighbours and from containers with process ids of their own."""
    try:
        machine = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:
        machine = "-"
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = "-"
    return f"{socket.gethostname()}/{machine[:12]}/{namespace}"


def born(pid: int) -> int | None:
    """When the process began (clock ticks since boot), None when it is gone or only a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    # The name in field 2 may hold spaces and brackets; the rest begins behind its last one.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def dead(row: str, stuck_after: timedelta, *, since: str, silence: str = "$1") -> str:
    """SQL: the row (joined LEFT with `worker w`) has nobody, or is older than anything may be.

    `silence` is the parameter with the seconds of silence. The sweep and the "may I start another?"
    guard use this one text.
    """
    age = f"{since.format(row=row)} < now() - interval '{stuck_after.total_seconds()} seconds'"
    return (
        f"(w.id IS NULL OR w.settled_at IS NOT NULL"
        f" OR w.heartbeat_at < now() - make_interval(secs => {silence}) OR {age})"
    )
