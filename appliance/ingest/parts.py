"""The growing bytes of uploads: one part file for each, written by one hand at a time.

What is promised: bytes that the program was killed over are still there (the offset is the length of the
file); of a machine that lost its power, only what was synced counts, which is every SYNC_BYTES, the end of
every request, and everything before a file is handed to the import.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
from pathlib import Path

from appliance.core import clock
from appliance.core.errors import Conflict, NotFound, VitrineError
from appliance.core.paths import Home
from appliance.media import storing
from appliance.media.reasons import MediaFailure


SYNC_BYTES = 32 * 1024 * 1024
TOKEN = re.compile(r"[A-Za-z0-9_-]{20,40}")
_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


class Busy(Conflict):
    """Somebody else is sending this very file."""

    status = 423


class NoPart(NotFound):
    """There are no bytes of this upload: it was never begun, has arrived, or was swept."""


class DiskFull(VitrineError):
    """The disk has no room for what is being sent."""

    status = 507


def folder(home: Home) -> Path:
    """The uploads folder, made when it is first needed."""
    home.uploads.mkdir(mode=0o700, exist_ok=True)
    return home.uploads


def path_of(home: Home, token: str) -> Path:
    """Where the bytes of an upload grow."""
    if not TOKEN.fullmatch(token):
        raise NoPart("There is no such upload")
    return home.uploads / f"{token}.part"


def full(error: OSError) -> bool:
    """Whether this is the disk's fault."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


class Part:
    """An open part file; nobody else can open it until it is closed."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size
        self.unsynced = 0

    @classmethod
    def made(cls, home: Home, token: str) -> Part:
        """Begin an empty one."""
        folder(home)
        return cls._locked(path_of(home, token), _FLAGS | os.O_CREAT | os.O_EXCL)

    @classmethod
    def opened(cls, home: Home, token: str) -> Part:
        """Take the one that is there."""
        return cls._locked(path_of(home, token), _FLAGS)

    @classmethod
    def _locked(cls, path: Path, flags: int) -> Part:
        try:
            descriptor = os.open(path, flags, 0o640)
        except FileNotFoundError:
            raise NoPart("There is no such upload") from None
        except OSError as error:
            raise _refusal(error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _still_there(path, descriptor)
            return cls(path, descriptor)
        except BlockingIOError:
            os.close(descriptor)
            raise Busy("This file is being sent from elsewhere", "Only one of the two can go on.") from None
        except BaseException:
            os.close(descriptor)
            raise

    def trust(self, synced: int) -> None:
        """Cut off what a power failure may have left half written."""
        booted = clock.now().timestamp() - clock.boottime()
        if self.size > synced and os.fstat(self._descriptor).st_mtime < booted:
            self.cut(synced)

    def cut(self, size: int) -> None:
        """Forget everything behind this length."""
        os.ftruncate(self._descriptor, size)
        self.size = size

    def append(self, chunk: bytes | bytearray) -> None:
        """Add bytes at the end; what a full disk refused is not half there."""
        before, rest = self.size, memoryview(chunk)
        try:
            while rest:
                count = os.pwrite(self._descriptor, rest, self.size)
                self.size += count
                rest = rest[count:]
        except OSError as error:
            rest.release()
            with contextlib.suppress(OSError):
                self.cut(before)
            raise _refusal(error) from error
        self.unsynced += self.size - before

    def sync(self) -> int:
        """Force the bytes to the disk and answer how many there are."""
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise _refusal(error) from error
        self.unsynced = 0
        return self.size

    def place(self, final: Path) -> os.stat_result:
        """Give the complete file its name for the import, durably; it stays locked until it is closed."""
        self.sync()
        try:
            # Readable for the account that imports, whatever mask the server was started with.
            os.fchmod(self._descriptor, 0o640)
            storing.place(os.fsencode(self.path), os.fsencode(final))
        except MediaFailure as failure:
            raise DiskFull("The file could not be stored", f"{failure.detail}.") from failure
        return os.fstat(self._descriptor)

    def close(self) -> None:
        """Let others open it."""
        os.close(self._descriptor)


def _still_there(path: Path, descriptor: int) -> None:
    # Between opening and locking, the hand before may have given the file its final name.
    try:
        named = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        raise NoPart("There is no such upload") from None
    if not os.path.samestat(named, os.fstat(descriptor)):
        raise NoPart("There is no such upload")


def _refusal(error: OSError) -> VitrineError:
    if full(error):
        return DiskFull("The disk is full", "What has arrived is kept; it goes on when there is room.")
    return VitrineError("The file cannot be written", f"{os.strerror(error.errno or 0)}.")


def remove(home: Home, token: str) -> None:
    """Drop the bytes of an upload."""
    with contextlib.suppress(FileNotFoundError):
        path_of(home, token).unlink()
