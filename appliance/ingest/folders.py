"""Which folders can be roots: the rules that hold for a path before any database is asked."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from appliance.core import names
from appliance.ingest.errors import NotAFolder


Mount = tuple[bytes, bytes]
Mounts = list[Mount]
MOUNTINFO = Path("/proc/self/mountinfo")


def folder(path: str | os.PathLike[str]) -> bytes:
    """The absolute, link-free form of a folder that exists; anything else is refused by name."""
    if not path:
        raise NotAFolder("No folder was named", "In a script its variable may be empty.")
    shown = names.display(names.of(path))
    try:
        real = os.path.realpath(os.fsencode(path), strict=True)
        found = os.stat(real)
    except FileNotFoundError:
        raise NotAFolder(
            f"There is no folder {shown}", "Check the spelling and whether it is mounted."
        ) from None
    except (OSError, ValueError) as error:
        cause = (getattr(error, "strerror", None) or str(error)).capitalize()
        raise NotAFolder(f"The folder {shown} cannot be read", f"{cause}.") from None
    if not stat.S_ISDIR(found.st_mode):
        raise NotAFolder(f"{shown} is not a folder", "Name the folder that holds it.")
    if _is_data_of_ours(real):
        raise NotAFolder(f"{shown} holds the data of a Vitrine", "Name a folder with pictures of your own.")
    if real == b"/":
        raise NotAFolder(
            "The whole file system cannot be a library", "Name the folders that hold your pictures."
        )
    if is_of_the_system(real, mounts(MOUNTINFO)):
        raise NotAFolder(f"{shown} belongs to the running system", "Name a folder with pictures of your own.")
    return real


def _is_data_of_ours(path: bytes) -> bool:
    """Inside a data directory lie pictures of pictures: a scan would make more of them each time."""
    while len(path) > 1:
        if os.path.isfile(path + b"/instance.json") and os.path.isdir(path + b"/renditions"):
            return True
        path = os.path.dirname(path)
    return False


# What the kernel invents while one reads: files without an end, devices, the memory of processes.
# Not autofs: that is a disk which nobody has looked at yet.
_KERNEL = frozenset(
    b"binfmt_misc bpf cgroup cgroup2 configfs cpuset debugfs devpts devtmpfs efivarfs fusectl hugetlbfs"
    b" mqueue nsfs proc pstore rpc_pipefs securityfs selinuxfs smackfs sysfs tracefs".split()
)
_MEMORY = frozenset({b"tmpfs", b"ramfs"})
# In a container these are plain folders or memory like any other, so their names count as well.
_SYSTEM = (b"/proc", b"/sys", b"/dev", b"/run")
# Where desktops mount the disks that one plugs in.
_PLUGGED = (b"/run/media",)


def is_of_the_system(path: bytes, table: Mounts) -> bool:
    """Whether a folder is the kernel's or belongs to running programs: no picture is at home there."""
    at, kind = _mount_of(path, table)
    if kind in _KERNEL:
        return True
    if not _below(path, _SYSTEM) or _below(path, _PLUGGED):
        return False
    # A disk that somebody mounted in there is a disk.
    return kind in _MEMORY or at in _SYSTEM or not _below(at, _SYSTEM)


def kind_of(path: bytes) -> bytes:
    """The type of the file system that holds a path; empty where no table says it."""
    return _mount_of(path, mounts(MOUNTINFO))[1]


def _below(path: bytes, tops: tuple[bytes, ...]) -> bool:
    return any(path == top or path.startswith(top + b"/") for top in tops)


def _mount_of(path: bytes, table: Mounts) -> Mount:
    # The deepest mount point holds the path; of several at one place the last hides the others.
    over = [(len(at), n) for n, (at, _) in enumerate(table) if at == b"/" or _below(path, (at,))]
    return table[max(over)[1]] if over else (b"/", b"")


def mounts(source: Path) -> Mounts:
    """What is mounted where, in order; nothing where no table says it (not on Linux)."""
    try:
        return [_mount(line) for line in source.read_bytes().splitlines()]
    except OSError:
        return []


def _mount(line: bytes) -> Mount:
    """Mount point and type of a line of proc_pid_mountinfo(5); blanks in paths are written in octal."""
    before, _, after = line.partition(b" - ")
    at = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), before.split(b" ")[4])
    return at, after.split(b" ")[0]
