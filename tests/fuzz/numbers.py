"""Where the sizes, counts and offsets of a format stand: the numbers whose lies hurt most."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Number(NamedTuple):
    """A number in a file: where it stands, how many bytes it has, in which order."""

    at: int
    width: int
    order: str

    def read(self, data: bytes | bytearray) -> int:
        """Its value."""
        return int.from_bytes(data[self.at : self.at + self.width], self.order)  # type: ignore[arg-type]

    def write(self, data: bytearray, value: int) -> None:
        """Put a value in its place, cut to its width."""
        cut = value % (1 << 8 * self.width)
        data[self.at : self.at + self.width] = cut.to_bytes(self.width, self.order)  # type: ignore[arg-type]


_CONTAINERS = frozenset(
    {b"moov", b"trak", b"mdia", b"minf", b"stbl", b"edts", b"meta", b"iprp", b"ipco", b"jp2h"}
)
_LEAF = 96


def boxes(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Number]:
    """ISO base media files: MP4, HEIC, AVIF, JPEG XL and JPEG 2000 in boxes."""
    end = len(data) if end is None else min(end, len(data))
    at = start
    while at + 8 <= end:
        size, kind = struct.unpack_from(">I4s", data, at)
        yield Number(at, 4, "big")
        stop = at + size if size >= 8 else end
        if kind in _CONTAINERS:
            yield from boxes(data, at + (12 if kind == b"meta" else 8), stop)
        else:
            yield from (Number(each, 4, "big") for each in range(at + 8, min(stop, at + _LEAF, end - 4), 4))
        at = stop


def png(data: bytes) -> Iterator[Number]:
    """Chunk lengths, and the header."""
    at = 8
    while at + 12 <= len(data):
        yield Number(at, 4, "big")
        length, kind = struct.unpack_from(">I4s", data, at)
        if kind in {b"IHDR", b"acTL", b"fcTL"}:
            yield from (Number(each, 4, "big") for each in range(at + 8, at + 8 + length - 3, 4))
        at += 12 + length


def riff(data: bytes) -> Iterator[Number]:
    """WebP and AVI: chunk lengths and the fields behind them."""
    yield Number(4, 4, "little")
    for at in range(12, min(len(data) - 8, 4096), 4):
        yield Number(at, 4, "little")


def jpeg(data: bytes) -> Iterator[Number]:
    """Segment lengths, sizes of the frame, tables."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        yield Number(at + 2, 2, "big")
        if data[at + 1] in {0xC0, 0xC1, 0xC2}:
            yield from (Number(at + 5, 2, "big"), Number(at + 7, 2, "big"), Number(at + 9, 1, "big"))
        if data[at + 1] in {0xC4, 0xDB, 0xDA}:
            yield from (Number(each, 1, "big") for each in range(at + 4, at + 24))
        at += 2 + length


def tiff(data: bytes) -> Iterator[Number]:
    """The fields of every directory, also of one that a JPEG carries as EXIF."""
    for head, order in ((b"II*\0", "little"), (b"MM\0*", "big")):
        base = data.find(head)
        if base < 0:
            continue
        yield Number(base + 4, 4, order)
        at, seen = base + Number(base + 4, 4, order).read(data), set[int]()
        while at not in seen and base < at < len(data) - 2:
            seen.add(at)
            count = Number(at, 2, order).read(data)
            yield Number(at, 2, order)
            for entry in range(at + 2, min(at + 2 + 12 * count, len(data) - 12), 12):
                yield from (Number(entry, 2, order), Number(entry + 2, 2, order))
                yield from (Number(entry + 4, 4, order), Number(entry + 8, 4, order))
            following = at + 2 + 12 * count
            yield Number(following, 4, order)
            at = base + Number(following, 4, order).read(data)


def gif(data: bytes) -> Iterator[Number]:
    """The screen, the frames and their blocks."""
    yield from (Number(6, 2, "little"), Number(8, 2, "little"), Number(10, 1, "little"))
    at = data.find(b",", 13)
    while 0 <= at < len(data) - 10:
        yield from (Number(at + 1 + 2 * each, 2, "little") for each in range(4))
        yield from (Number(at + 9, 1, "little"), Number(at + 10, 1, "little"), Number(at + 11, 1, "little"))
        at = data.find(b",", at + 1)


def head(data: bytes) -> Iterator[Number]:
    """Formats without a structure of interest: any number near the start."""
    for at in range(0, min(len(data) - 4, 256), 2):
        yield from (Number(at, 4, "little"), Number(at, 2, "big"))


def marked(
    *marks: bytes, width: int, order: str, skip: int = 0, count: int = 1
) -> Callable[[bytes], Iterator[Number]]:
    """Numbers that follow marks, wherever those stand."""

    def find(data: bytes) -> Iterator[Number]:
        for mark in marks:
            at = data.find(mark)
            while 0 <= at < len(data) - len(mark) - skip - width * count:
                first = at + len(mark) + skip
                yield from (Number(first + width * each, width, order) for each in range(count))
                at = data.find(mark, at + 1)

    return find


codestream = marked(b"\xff\x51", width=4, order="big", skip=4, count=8)
ebml = marked(
    b"\x1a\x45\xdf\xa3", b"\x18\x53\x80\x67", b"\x15\x49\xa9\x66", b"\x16\x54\xae\x6b", b"\x1f\x43\xb6\x75",
    b"\xae", b"\xe0", b"\xb0", b"\xba", b"\x44\x89", b"\xa3", b"\xa1", width=1, order="big", count=3,
)  # fmt: skip
packets = marked(b"\x47", width=1, order="big", count=3)
starts = marked(b"\0\0\1\xba", b"\0\0\1\xbb", b"\0\0\1\xe0", b"\0\0\1\xb3", width=2, order="big", count=4)
pages = marked(b"OggS", width=1, order="little", skip=1, count=22)
tags = marked(b"\x09", b"\x08", b"\x12", b"FLV", width=3, order="big", count=3)
objects = marked(
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\x00\xaa\x00\x62\xce\x6c",
    b"\xa1\xdc\xab\x8c\x47\xa9\xcf\x11\x8e\xe4\x00\xc0\x0c\x20\x53\x65",
    b"\x91\x07\xdc\xb7\xb7\xa9\xcf\x11\x8e\xe6\x00\xc0\x0c\x20\x53\x65",
    b"\x36\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\x00\xaa\x00\x62\xce\x6c", width=8, order="little", count=4,
)  # fmt: skip
members = marked(b"PK\3\4", b"PK\1\2", b"PK\5\6", width=2, order="little", count=13)
