"""Storing a file so that a power cut leaves either nothing or the whole file, and the source until then.

The order is: create a temporary file, write and hash, sync it, rename, sync the directories; then the
caller commits; only then is a `move` source removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from appliance.media.moments import mtime_ns_of
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import Stat


STEPS = ("created", "written", "synced", "renamed", "directory_synced", "removing")
CRASH_STATUS = 86
_CRASH_AT = "VITRINE_CRASH_AT"


def step(name: str) -> None:
    """Mark a point of the storing order; the crash tests end the process here."""
    if os.environ.get(_CRASH_AT) == name:
        os._exit(CRASH_STATUS)


def failure(error: OSError) -> MediaFailure:
    """Classify an error of writing."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return MediaFailure(Reason.NO_SPACE if full else Reason.UNWRITABLE, os.strerror(error.errno or 0))


@contextlib.contextmanager
def created(path: bytes) -> Iterator[int]:
    """Create a temporary file that is removed again unless the block succeeds."""
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o640)
    except OSError as error:
        raise failure(error) from error
    step("created")
    try:
        yield descriptor
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(path)
        raise
    finally:
        os.close(descriptor)


def write(descriptor: int, chunk: bytes) -> None:
    """Write all of a chunk."""
    rest = memoryview(chunk)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError as error:
        raise failure(error) from error


def sync(descriptor: int) -> None:
    """Force the written bytes to the disk."""
    step("written")
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise failure(error) from error
    step("synced")


def place(temporary: bytes, final: bytes) -> None:
    """Give a synced file its final name and make the name durable.

    A final file that exists already holds the same bytes (its name is their hash), left by an import
    that was interrupted between here and its commit; replacing it is harmless.
    """
    try:
        fresh = _directories(os.path.dirname(final))
        os.replace(temporary, final)
        step("renamed")
        for directory in fresh:
            _sync_directory(directory)
    except OSError as error:
        raise failure(error) from error
    step("directory_synced")


def _directories(path: bytes) -> list[bytes]:
    """Create a directory and its parents; return every directory whose entries changed."""
    changed = [path]
    while not os.path.isdir(path):
        path = os.path.dirname(path)
        changed.append(path)
    os.makedirs(changed[0], exist_ok=True)
    return changed


def _sync_directory(path: bytes) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_source(path: bytes, expect: Stat) -> None:
    """Unlink a source after the commit, and only if it is still the file that was read."""
    step("removing")
    try:
        seen = os.lstat(path)
        if not stat.S_ISREG(seen.st_mode) or (seen.st_size, mtime_ns_of(seen)) != (
            expect.size,
            expect.mtime_ns,
        ):
            raise MediaFailure(Reason.CHANGED, "the source is not the file that was stored; it was kept")
        os.unlink(path)
    except FileNotFoundError as error:
        raise MediaFailure(Reason.VANISHED, "the source was gone already") from error
    except OSError as error:
        raise failure(error) from error
