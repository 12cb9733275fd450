"""What a root is: enough to notice that another disk lies where it was, and nothing is written into it.

The mark lives on the row of the root. Numbers of devices change with every start and are no part of it;
the identity of the file system and the inode of the top folder are. Where they change although the library
is the same (a new disk, a share that counts anew), a sample of the known files tells.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.ingest import folders


EMPTY = "it is empty, as if its disk were not connected"
OTHER = "another disk seems to be mounted there, with none of the files that are known"
# Where an inode is one file for as long as it lives; FAT, exFAT and most of FUSE number as they go.
_STEADY = frozenset(b"ext2 ext3 ext4 xfs btrfs zfs bcachefs f2fs nfs nfs4 tmpfs overlay ceph".split())


@dataclass(frozen=True, slots=True)
class Top:
    """The top folder of a root at one moment."""

    identity: str
    steady: bool
    """Whether inodes tell files apart here."""
    empty: bool
    device: int


def look(root: bytes) -> Top:
    """Look at the top of a root; an OSError says why it cannot be read."""
    with os.scandir(root) as entries:
        empty = not any(True for _ in entries)
    # After the listing, which is what makes an automatic mount appear.
    found, system = os.stat(root), os.statvfs(root)
    kind = folders.kind_of(root)
    identity = f"{kind.decode('ascii', 'replace')}:{system.f_fsid:x}:{found.st_ino}"
    return Top(identity, kind in _STEADY, empty, found.st_dev)


def cause_of(root: bytes) -> str:
    """Why a root cannot be trusted at this moment, or nothing: an empty mount point counts as not there."""
    try:
        return EMPTY if look(root).empty else ""
    except OSError as error:
        return error.strerror or type(error).__name__


def recognised(root: bytes, sample: Sequence[tuple[bytes, int]]) -> bool:
    """Whether most of some known files (path and size) are here: then it is the same library."""
    there = sum(_is_there(os.path.join(root, path), size) for path, size in sample)
    return there * 2 > len(sample) or not sample


def _is_there(path: bytes, size: int) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size == size
