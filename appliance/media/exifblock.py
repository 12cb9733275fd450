"""An EXIF block without its damaged entries: a reader that stops at the first one reads the rest."""

from __future__ import annotations

import struct
from collections.abc import Iterator


_PREFIX = b"Exif\0\0"
_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
_POINTERS = (0x8769, 0x8825)
_MOST_ENTRIES = 2000


def mended(block: bytes) -> tuple[bytes, int]:
    """Return the block without entries whose value lies outside of it, and how many those were."""
    body = bytearray(block.removeprefix(_PREFIX))
    order = {b"II": "<", b"MM": ">"}.get(bytes(body[:2]))
    if order is None or len(body) < 8:
        return block, 0
    waiting, seen, lost = [struct.unpack_from(f"{order}I", body, 4)[0]], set(), 0
    while waiting:
        start = waiting.pop()
        if start in seen:
            continue
        seen.add(start)
        for at, tag, kind, count, value in _entries(body, order, start):
            size = _SIZES.get(kind, 0) * count
            if size > 4 and value + size > len(body):
                # No such type: whoever reads it passes it over.
                struct.pack_into(f"{order}H", body, at + 2, 0)
                lost += 1
            elif tag in _POINTERS and len(seen) < 3:
                waiting.append(value)
    return _PREFIX + bytes(body), lost


def _entries(body: bytearray, order: str, start: int) -> Iterator[tuple[int, int, int, int, int]]:
    if start + 2 > len(body):
        return
    (count,) = struct.unpack_from(f"{order}H", body, start)
    for number in range(min(count, _MOST_ENTRIES)):
        at = start + 2 + 12 * number
        if at + 12 > len(body):
            return
        yield (at, *struct.unpack_from(f"{order}HHII", body, at))
