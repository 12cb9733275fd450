"""A stretch of a file as a source of its own: the film within a photo."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, BinaryIO

from appliance.media.reading import Source
from appliance.media.sniff import HEAD, sniff


if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer


class _Stretch(io.RawIOBase):
    """A reader that sees nothing before its start and nothing behind its end."""

    def __init__(self, descriptor: int, start: int, length: int) -> None:
        self._descriptor = descriptor
        self._start = start
        self._length = length
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        room = memoryview(buffer).cast("B")[: max(0, self._length - self._at)]
        count = os.preadv(self._descriptor, [room], self._start + self._at) if room else 0
        self._at += count
        return count

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._length}
        self._at = max(0, start[whence] + offset)
        return self._at

    def tell(self) -> int:
        return self._at


class Part(Source):
    """Some bytes in the middle of an open file; the whole stays the one that is closed and compared."""

    def __init__(self, whole: Source, start: int, length: int) -> None:
        self._whole = whole
        self._start = start
        self._length = length
        self.descriptor = whole.descriptor
        self.seen = whole.seen
        self.sniffed = sniff(self.head(), length)
        self.listed = None

    @property
    def size(self) -> int:
        """The length in bytes."""
        return self._length

    def at(self, offset: int, count: int) -> bytes:
        """Return some bytes from a place."""
        return self._whole.at(self._start + offset, min(count, max(0, self._length - offset)))

    def head(self) -> bytes:
        """Return the bytes that the content was recognised by."""
        return self.at(0, HEAD)

    def file(self) -> BinaryIO:
        """Return an independent buffered reader at the start of the part."""
        return io.BufferedReader(_Stretch(self.descriptor, self._start, self._length), 256 * 1024)

    def check_unchanged(self) -> None:
        """Fail when the whole file is no longer the one that was opened."""
        self._whole.check_unchanged()

    def close(self) -> None:
        """The whole is closed by whoever opened it."""
