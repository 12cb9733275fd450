"""A raw photo as a camera writes it: a mosaic of red, green and blue in a TIFF, with or without a preview."""

from __future__ import annotations

import struct

from PIL import Image

from tests.media import make


SIZE = (640, 400)
_SHORT, _LONG, _ASCII, _BYTE, _RATIONAL, _SIGNED = 3, 4, 2, 1, 5, 10
_IDENTITY = (1, 0, 0, 0, 1, 0, 0, 0, 1)

Entry = tuple[int, int, bytes]


def _numbers(kind: int, *values: int) -> bytes:
    return struct.pack(f"<{len(values)}{'H' if kind == _SHORT else 'I'}", *values)


def _ratios(*values: int) -> bytes:
    return b"".join(struct.pack("<ii", value, 1) for value in values)


def _directory(entries: list[Entry], at: int) -> bytes:
    """One directory that stands at a place, its long values behind it."""
    sizes = {_SHORT: 2, _LONG: 4, _ASCII: 1, _BYTE: 1, _RATIONAL: 8, _SIGNED: 8}
    rows, values, after = b"", b"", at + 2 + 12 * len(entries) + 4
    for tag, kind, value in sorted(entries):
        rows += struct.pack("<HHI", tag, kind, len(value) // sizes[kind])
        rows += value.ljust(4, b"\0") if len(value) <= 4 else struct.pack("<I", after + len(values))
        values += value if len(value) > 4 else b""
    return struct.pack("<H", len(entries)) + rows + bytes(4) + values


def _mosaic(size: tuple[int, int]) -> bytes:
    """A blue picture whose upper left quarter is red, seen through red, green, green and blue glass."""
    width, height = size
    lines = []
    for y in range(height):
        red_row = y % 2 == 0
        left = (60000, 2000) if red_row else (2000, 2000)
        right = (2000, 2000) if red_row else (2000, 60000)
        parts = [left if y < height // 2 and x < width // 4 else right for x in range(width // 2)]
        lines.append(struct.pack(f"<{width}H", *(value for pair in parts for value in pair)))
    return b"".join(lines)


def dng(*, orientation: int = 1, preview: Image.Image | None = None, cut: float = 1.0) -> bytes:
    """A DNG; a part of its mosaic alone when it is cut."""
    mosaic = _mosaic(SIZE)
    jpeg = make.saved(preview, "JPEG", quality=90) if preview else b""
    main = [
        (0x100, _LONG, _numbers(_LONG, SIZE[0])), (0x101, _LONG, _numbers(_LONG, SIZE[1])),
        (0x102, _SHORT, _numbers(_SHORT, 16)), (0x103, _SHORT, _numbers(_SHORT, 1)),
        (0x106, _SHORT, _numbers(_SHORT, 32803)), (0x115, _SHORT, _numbers(_SHORT, 1)),
        (0x116, _LONG, _numbers(_LONG, SIZE[1])), (0x117, _LONG, _numbers(_LONG, len(mosaic))),
        (0x111, _LONG, b"STRP"), (0xFE, _LONG, _numbers(_LONG, 0)),
        (0x10F, _ASCII, b"Vitrine\0"), (0x110, _ASCII, b"Pinhole 1\0"),
        (0x112, _SHORT, _numbers(_SHORT, orientation)), (0x132, _ASCII, b"2021:05:06 07:08:09\0"),
        (0x828D, _SHORT, _numbers(_SHORT, 2, 2)), (0x828E, _BYTE, bytes((0, 1, 1, 2))),
        (0xC612, _BYTE, bytes((1, 4, 0, 0))), (0xC614, _ASCII, b"Vitrine Pinhole 1\0"),
        (0xC621, _SIGNED, _ratios(*_IDENTITY)), (0xC628, _RATIONAL, _ratios(1, 1, 1)),
        (0xC61D, _LONG, _numbers(_LONG, 65535)),
    ]  # fmt: skip
    if preview is not None:
        main.append((0x14A, _LONG, b"SUBD"))
    body = _directory(main, 8)
    inner_at = 8 + len(body)
    inner = _directory(_inner(preview, len(jpeg), 0), inner_at) if preview else b""
    jpeg_at = inner_at + len(inner)
    if preview:
        inner = _directory(_inner(preview, len(jpeg), jpeg_at), inner_at)
    body = body.replace(b"STRP", struct.pack("<I", jpeg_at + len(jpeg)))
    body = body.replace(b"SUBD", struct.pack("<I", inner_at))
    whole = b"II*\0\x08\0\0\0" + body + inner + jpeg + mosaic
    return whole[: int(len(whole) * cut)]


def _inner(preview: Image.Image, length: int, at: int) -> list[Entry]:
    return [
        (0xFE, _LONG, _numbers(_LONG, 1)), (0x103, _SHORT, _numbers(_SHORT, 7)),
        (0x100, _LONG, _numbers(_LONG, preview.width)), (0x101, _LONG, _numbers(_LONG, preview.height)),
        (0x102, _SHORT, _numbers(_SHORT, 8, 8, 8)), (0x106, _SHORT, _numbers(_SHORT, 6)),
        (0x115, _SHORT, _numbers(_SHORT, 3)), (0x116, _LONG, _numbers(_LONG, preview.height)),
        (0x111, _LONG, _numbers(_LONG, at)), (0x117, _LONG, _numbers(_LONG, length)),
    ]  # fmt: skip
