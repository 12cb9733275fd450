"""The box structure of ISO media files (AVIF, HEIC, MP4): brands, picture sizes, frame times."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import BinaryIO

import msgspec


# A meta or moov box beyond this is hostile: real ones of hour-long films stay under 64 MiB.
MAX_BOX = 64 << 20
MAX_BOXES = 100_000
HEADER = 8


class Box(msgspec.Struct, frozen=True):
    """One box: its type, where its content starts, where it ends by its own word."""

    kind: bytes
    start: int
    end: int


def boxes(data: BinaryIO, start: int, end: int) -> Iterator[Box]:
    """Walk the boxes between two offsets; a box that claims too much is yielded with its claim."""
    at = start
    for _ in range(MAX_BOXES):
        if at + 8 > end:
            return
        box = _box(data, at, end)
        if box is None:
            return
        yield box
        at = box.end


def _box(data: BinaryIO, at: int, end: int) -> Box | None:
    data.seek(at)
    head = data.read(16)
    if len(head) < 8:
        return None
    size, kind, header = int.from_bytes(head[:4], "big"), head[4:8], 8
    if size == 1 and len(head) == 16:
        size, header = int.from_bytes(head[8:], "big"), 16
    elif size == 0:
        size = end - at
    return Box(kind, at + header, at + size) if size >= header else None


def brands(head: bytes) -> tuple[bytes, frozenset[bytes]]:
    """Return the major brand and all brands of an ftyp box at the start of a file."""
    size = min(int.from_bytes(head[:4], "big"), len(head))
    compatible = {head[at : at + 4] for at in range(16, size - 3, 4)}
    major = head[8:12]
    return major, frozenset(compatible | {major})


def overrun(data: BinaryIO, size: int) -> bool:
    """Tell whether a top-level box claims bytes beyond the end of the file."""
    return any(box.end > size for box in boxes(data, 0, size))


def find(data: BinaryIO, path: list[bytes], within: Box) -> Iterator[Box]:
    """Yield every box that a path of types leads to."""
    for box in boxes(data, within.start, within.end):
        if box.kind != path[0]:
            continue
        inner = Box(box.kind, box.start + 4, box.end) if box.kind == b"meta" else box
        if len(path) == 1:
            yield inner
        else:
            yield from find(data, path[1:], inner)


def _content(data: BinaryIO, box: Box) -> bytes:
    if box.end - box.start > MAX_BOX:
        return b""
    data.seek(box.start)
    return data.read(box.end - box.start)


def _first(data: BinaryIO, path: list[bytes], within: Box) -> bytes:
    return next((_content(data, box) for box in find(data, path, within)), b"")


def picture_size(data: BinaryIO, size: int) -> tuple[int, int] | None:
    """Return the largest picture that the header of an AVIF or HEIC file announces."""
    whole = Box(b"", 0, size)
    found = [
        struct.unpack(">II", body[4:12])
        for box in find(data, [b"meta", b"iprp", b"ipco", b"ispe"], whole)
        if len(body := _content(data, box)) >= 12
    ]
    return max(found, key=lambda wh: wh[0] * wh[1], default=None)


def colour_codes(data: BinaryIO, size: int) -> tuple[int, int] | None:
    """Return transfer curve and primaries (ITU-T H.273) of the primary picture of an AVIF or HEIC file."""
    whole = Box(b"", 0, size)
    meta = next(find(data, [b"meta"], whole), None)
    if meta is None:
        return None
    primary = _number(_first(data, [b"pitm"], meta))
    owned = set(_owned(_first(data, [b"iprp", b"ipma"], meta), primary))
    containers = find(data, [b"iprp", b"ipco"], meta)
    properties = [box for container in containers for box in boxes(data, container.start, container.end)]
    for place, box in enumerate(properties, start=1):
        body = _content(data, box) if box.kind == b"colr" and place in owned else b""
        if body[:4] == b"nclx" and len(body) >= 8:
            return int.from_bytes(body[6:8], "big"), int.from_bytes(body[4:6], "big")
    return None


def _number(body: bytes) -> int:
    return int.from_bytes(body[4:6] if body[:1] == b"\0" else body[4:8], "big")


def _owned(body: bytes, item: int) -> Iterator[int]:
    """Yield which properties, counted from one, belong to an item."""
    wide, long = body[:1] != b"\0", bool(body[3:4] and body[3] & 1)
    at, count = 8, int.from_bytes(body[4:8], "big")
    for _ in range(min(count, MAX_BOXES)):
        head = 4 if wide else 2
        if at + head >= len(body):
            return
        number, entries = int.from_bytes(body[at : at + head], "big"), body[at + head]
        at += head + 1
        step = 2 if long else 1
        for place in range(at, min(at + entries * step, len(body)), step):
            if number == item:
                yield int.from_bytes(body[place : place + step], "big") & (0x7FFF if long else 0x7F)
        at += entries * step


def frame_times(data: BinaryIO, size: int) -> list[tuple[int, float]]:
    """Return (frames, milliseconds each) runs of the picture track of an image sequence."""
    whole = Box(b"", 0, size)
    for media in find(data, [b"moov", b"trak", b"mdia"], whole):
        handler = _first(data, [b"hdlr"], media)
        if handler[8:12] == b"pict":
            return _runs(data, media)
    return []


def _runs(data: BinaryIO, media: Box) -> list[tuple[int, float]]:
    header = _first(data, [b"mdhd"], media)
    at = 20 if header[:1] == b"\x01" else 12
    scale = int.from_bytes(header[at : at + 4], "big") or 1000
    table = _first(data, [b"minf", b"stbl", b"stts"], media)
    entries = min(int.from_bytes(table[4:8], "big"), (len(table) - 8) // 8)
    pairs = (struct.unpack_from(">II", table, 8 + 8 * n) for n in range(max(entries, 0)))
    return [(count, 1000 * delta / scale) for count, delta in pairs]
