"""Processes of this machine by id and start time: an id alone may belong to somebody else by now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


PROC = Path("/proc")


def started(pid: int) -> int:
    """When the process began, in clock ticks since boot; 0 when there is no such process."""
    fields = _fields(pid)
    return int(fields[19]) if fields else 0


def parent_of(pid: int) -> int:
    """The parent's id; 0 when there is no such process."""
    fields = _fields(pid)
    return int(fields[1]) if fields else 0


def is_zombie(pid: int) -> bool:
    """True for a process that ended and waits to be reaped."""
    fields = _fields(pid)
    return bool(fields) and fields[0] == "Z"


def is_alive(pid: int, begun: int) -> bool:
    """True when exactly that process still runs."""
    return begun > 0 and started(pid) == begun and not is_zombie(pid)


def name_of(pid: int) -> str:
    """The program's short name, empty when there is no such process."""
    try:
        return (PROC / str(pid) / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def boot_id() -> str:
    """Changes with every boot of the machine: start times count from there."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def working_in(folder: Path) -> list[int]:
    """Processes whose current directory is that one; PostgreSQL's stay in their cluster for life."""
    return [pid for pid in everyone() if _works_in(pid, folder)]


def children_of(pid: int) -> list[int]:
    """Direct children, including orphans that were adopted."""
    return [other for other in everyone() if parent_of(other) == pid]


def offspring_of(pid: int) -> list[int]:
    """The same by the kernel's own list, where it keeps one; it may leave one out while others end."""
    try:
        text = (PROC / str(pid) / "task" / str(pid) / "children").read_text(encoding="ascii")
    except OSError:
        return children_of(pid)
    return [int(child) for child in text.split()]


def title_of(pid: int) -> str:
    """What it calls itself, or how it was called; empty when there is no such process."""
    try:
        text = (PROC / str(pid) / "cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return text.replace("\0", " ").strip()


def threads() -> int:
    """How many threads this process has."""
    try:
        return sum(1 for _ in Path("/proc/self/task").iterdir())
    except OSError:
        return 1


def everyone() -> Iterator[int]:
    """All process ids."""
    try:
        names = [path.name for path in PROC.iterdir()]
    except OSError:
        return
    yield from (int(name) for name in names if name.isdigit())


def _works_in(pid: int, folder: Path) -> bool:
    try:
        return (PROC / str(pid) / "cwd").samefile(folder)
    except OSError:
        return False


def _fields(pid: int) -> list[str]:
    """Fields of /proc/PID/stat behind the program's name, which may hold blanks and brackets."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
