"""Pictures of more than eight bits a colour, in every arrangement, show their colours."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from PIL import Image

from tests.media.conftest import Import


Shown = Callable[..., Image.Image]
SIDE = 40
COUNT = SIDE * SIDE


def png(kind: int, *values: int) -> bytes:
    """A PNG of sixteen bits and one colour; `kind` is its colour type."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    row = b"\0" + struct.pack(f">{len(values)}H", *values) * SIDE
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 16, kind, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(row * SIDE)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def tiff(strips: Sequence[bytes], *, bits: int, photometric: int, samples: int, **tags: int) -> bytes:
    """An uncompressed TIFF; more than one strip are its planes."""
    values = {
        256: [SIDE], 257: [SIDE], 258: [bits] * samples, 259: [1], 262: [photometric],
        273: [0] * len(strips), 277: [samples], 278: [SIDE], 279: [len(s) for s in strips],
        284: [2 if len(strips) > 1 else 1], 339: [tags.get("form", 1)] * samples,
    }  # fmt: skip
    start = 8 + 2 + 12 * len(values) + 4
    long_ones = sum(4 * len(v) for v in values.values() if len(v) > 1)
    at = start + long_ones
    values[273] = [at + sum(len(s) for s in strips[:n]) for n in range(len(strips))]
    rows, behind = b"", b""
    for tag, numbers in sorted(values.items()):
        body = struct.pack(f"<{len(numbers)}I", *numbers)
        rows += struct.pack("<HHI", tag, 4, len(numbers))
        rows += body if len(body) == 4 else struct.pack("<I", start + len(behind))
        behind += b"" if len(body) == 4 else body
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(values)) + rows + bytes(4) + behind + b"".join(strips)


def one(kind: str, *values: float) -> bytes:
    return struct.pack(f"<{len(values)}{kind}", *values) * COUNT


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (png(2, 65535, 32768, 0), (255, 128, 0, 255)),
        (png(6, 65535, 32768, 0, 32768), (255, 128, 0, 128)),
        (png(4, 32768, 32768), (128, 128, 128, 128)),
        (tiff([one("H", 65535, 32768, 0)], bits=16, photometric=2, samples=3), (255, 128, 0, 255)),
        (
            tiff([one("H", v) for v in (50000, 30000, 10000)], bits=16, photometric=2, samples=3),
            (195, 117, 39, 255),
        ),
        (tiff([one("H", 0)], bits=16, photometric=0, samples=1), (255, 255, 255, 255)),
        (tiff([one("H", 65535)], bits=16, photometric=0, samples=1), (0, 0, 0, 255)),
        (tiff([one("H", 0, 65535, 65535, 0)], bits=16, photometric=5, samples=4), (255, 0, 0, 255)),
        (tiff([one("f", 0.5)], bits=32, photometric=1, samples=1, form=3), (127, 127, 127, 255)),
    ],
    ids=["png", "png with alpha", "grey with alpha", "tiff", "planes", "white is zero", "black is full",
         "print colours", "share of white"],
)  # fmt: skip
async def test_colours_of_many_bits_are_shown(
    decode: Import, shown: Shown, content: bytes, expected: tuple[int, ...]
) -> None:
    await decode(content)
    found: Any = shown().convert("RGBA").getpixel((20, 20))
    assert all(abs(a - b) <= 6 for a, b in zip(found, expected, strict=True)), found
