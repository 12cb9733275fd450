"""Opening, sniffing, hashing and copying a source file, once and in one pass."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
import tempfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from appliance.media import hops, storing, zips
from appliance.media.hops import Broken, Hop
from appliance.media.moments import mtime_ns_of
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.sniff import HEAD, NOTHING, PROGRAM, ZIP, Family, Sniffed, sniff
from appliance.media.wire import OpenRequest, Read, Stat
from appliance.media.zips import Region


if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

    from appliance.media.archives import Listing


CHUNK = 1 << 20
_UNPACKS_ITSELF = msgspec.structs.replace(
    PROGRAM, name="program with a ZIP archive in it; unpack it and pack its pictures anew"
)
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OPEN_ERRORS = {
    errno.ENOENT: Reason.VANISHED,
    errno.ENOTDIR: Reason.VANISHED,
    errno.ELOOP: Reason.SYMLINK,
    errno.ENXIO: Reason.SPECIAL,
}


class _Positioned(io.RawIOBase):
    """A reader with a position of its own, so that two decoders never move each other's."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        count = os.preadv(self._descriptor, [buffer], self._at)
        self._at += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: os.fstat(self._descriptor).st_size}
        self._at = max(0, start[whence] + offset)
        return self._at

    def tell(self) -> int:
        return self._at


class Source:
    """A file in hand: the descriptor that later steps use, and what it was when it was read."""

    def __init__(self, descriptor: int, seen: os.stat_result) -> None:
        self.descriptor = descriptor
        self.seen = seen
        self._opened = os.fstat(descriptor)
        self.sniffed = _recognised(descriptor, seen.st_size)
        self.listed: Listing | None = None
        """What it holds, where it is an archive that was listed before."""

    @property
    def size(self) -> int:
        """The length in bytes."""
        return self.seen.st_size

    def head(self) -> bytes:
        """Return the bytes that the content was recognised by."""
        return os.pread(self.descriptor, HEAD, 0)

    def at(self, offset: int, count: int) -> bytes:
        """Return some bytes from a place."""
        return os.pread(self.descriptor, count, offset)

    def tail(self, count: int) -> bytes:
        """Return the last bytes."""
        return self.at(max(0, self.size - count), count)

    def file(self) -> BinaryIO:
        """Return an independent buffered reader at the start of the file."""
        return io.BufferedReader(_Positioned(self.descriptor), 256 * 1024)

    def check_unchanged(self) -> None:
        """Fail when the file is no longer the one that was opened."""
        now, then = os.fstat(self.descriptor), self._opened
        if (now.st_size, now.st_mtime_ns) != (then.st_size, then.st_mtime_ns):
            seen = (now.st_size, mtime_ns_of(now))
            raise MediaFailure(Reason.CHANGED, "size or time changed while it was read", seen=seen)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self.descriptor)


def _recognised(descriptor: int, size: int) -> Sniffed:
    """Name the content; an archive is one by its end as well, since anything may stand before it."""
    found = sniff(os.pread(descriptor, HEAD, 0), size)
    if found not in (NOTHING, PROGRAM) or not zips.ends_here(Region(descriptor, 0, size)):
        return found
    # Its pictures are those of the program, more often than somebody's.
    return ZIP if found is NOTHING else _UNPACKS_ITSELF


def open_source(path: bytes, expect: Stat | None) -> Source:
    """Open a regular file without following a link and without ever waiting on a pipe or device."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise _not_regular(path)
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        reason = _OPEN_ERRORS.get(error.errno or 0, Reason.UNREADABLE)
        raise MediaFailure(reason, os.strerror(error.errno or 0)) from error
    try:
        return _checked(descriptor, expect)
    except BaseException:
        os.close(descriptor)
        raise


def _not_regular(path: bytes) -> MediaFailure:
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        return MediaFailure(Reason.SYMLINK, "symbolic link")
    return MediaFailure(Reason.SPECIAL, "folder" if stat.S_ISDIR(mode) else "pipe, socket or device")


def _checked(descriptor: int, expect: Stat | None) -> Source:
    seen = os.fstat(descriptor)
    if not stat.S_ISREG(seen.st_mode):
        raise MediaFailure(Reason.SPECIAL, "not a regular file")
    now = (seen.st_size, mtime_ns_of(seen))
    if expect is not None and now != (expect.size, expect.mtime_ns):
        raise MediaFailure(Reason.CHANGED, "not the file that the scan saw", seen=now)
    if seen.st_size == 0:
        raise MediaFailure(Reason.EMPTY, "0 bytes")
    try:
        return Source(descriptor, seen)
    except OSError as error:
        raise MediaFailure(Reason.UNREADABLE, os.strerror(error.errno or 0)) from error


def _refuse_foreign(found: Sniffed) -> None:
    if found.family is Family.UNSUPPORTED:
        raise MediaFailure(Reason.UNSUPPORTED, found.name)
    if found.family is Family.NONE:
        raise MediaFailure(Reason.NOT_MEDIA, found.name)


def unpacked(descriptor: int, way: Sequence[Hop]) -> int:
    """Unpack what a way leads to into memory that is a file; the way says how much that will be."""
    target = os.memfd_create("page") if hasattr(os, "memfd_create") else _unnamed()
    try:
        for piece in hops.pieces(descriptor, way):
            storing.write(target, piece)
    except BaseException:
        os.close(target)
        raise
    return target


def _unnamed() -> int:
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def unpacked_source(archive: Source, way: Sequence[Hop], within: int | None = None) -> Source:
    """Take one page of an open archive into the hand, as a file of its own.

    The way begins in the archive, or in what was unpacked from it before.
    """
    try:
        descriptor = unpacked(archive.descriptor if within is None else within, way)
    except Broken as broken:
        raise MediaFailure(Reason.CORRUPT, f"damaged within its archive: {broken}") from broken
    try:
        archive.check_unchanged()
        return Source(descriptor, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise


Take = Callable[[Source, Sequence[Hop]], Source]


def _opened(request: OpenRequest, take: Take) -> Source:
    archive = open_source(request.path, request.expect)
    if not request.member:
        return archive
    try:
        return take(archive, request.member)
    finally:
        archive.close()


def _anything(_source: Source) -> None:
    """Nothing more is asked of the content."""


def read(
    request: OpenRequest, look: Callable[[Source], None] = _anything, take: Take = unpacked_source
) -> tuple[Source, Read]:
    """Open the file, refuse what is not media before any hashing, then hash and copy in one pass.

    `look` is for what cannot be told from the first bytes: it fails for what is not media. `take` finds a
    page of an archive.
    """
    source = _opened(request, take)
    try:
        if not request.anything:
            _refuse_foreign(source.sniffed)
        if request.digest and not request.anything:
            look(source)
        digest = b""
        if request.copy_to is not None:
            source, digest = _copied(source, request.copy_to)
        elif request.digest:
            digest = _hashed(source, None)
    except BaseException:
        source.close()
        raise
    return source, _answer(source, digest)


def _answer(source: Source, digest: bytes) -> Read:
    seen = source.seen
    return Read(digest, seen.st_size, mtime_ns_of(seen), seen.st_ino, seen.st_dev, source.sniffed)


def _hashed(source: Source, target: int | None) -> bytes:
    digest, at = hashlib.sha256(), 0
    _announce(source.descriptor)
    while chunk := _chunk(source.descriptor, at):
        digest.update(chunk)
        at += len(chunk)
        if target is not None:
            storing.write(target, chunk)
    if at != source.size:
        raise MediaFailure(Reason.CHANGED, f"{at} bytes read of {source.size}")
    source.check_unchanged()
    return digest.digest()


def _announce(descriptor: int) -> None:
    """Double the kernel's read-ahead where it can be told."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_SEQUENTIAL)


def _chunk(descriptor: int, at: int) -> bytes:
    try:
        return os.pread(descriptor, CHUNK, at)
    except OSError as error:
        raise MediaFailure(Reason.UNREADABLE, os.strerror(error.errno or 0)) from error


def _copied(source: Source, temporary: bytes) -> tuple[Source, bytes]:
    """Copy while hashing; later steps read the copy, whose bytes are the ones that were hashed."""
    with storing.created(temporary) as target:
        digest = _hashed(source, target)
        storing.sync(target)
    copy = Source(os.open(temporary, _FLAGS), source.seen)
    copy.listed = source.listed
    source.close()
    return copy, digest
