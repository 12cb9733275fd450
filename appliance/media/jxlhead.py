"""The picture size in a JPEG XL header, read before the plugin decodes the whole file on opening."""

from __future__ import annotations

from appliance.media import bmff


_RATIOS = ((1, 1), (12, 10), (4, 3), (3, 2), (16, 9), (5, 4), (2, 1))
_LENGTHS = (9, 13, 18, 30)


class _Bits:
    def __init__(self, data: bytes) -> None:
        self._value = int.from_bytes(data, "little")

    def take(self, count: int) -> int:
        found = self._value & ((1 << count) - 1)
        self._value >>= count
        return found


def picture_size(head: bytes) -> tuple[int, int] | None:
    """Return the size that a codestream announces, or None when the header is not in these bytes."""
    at = _codestream(head)
    return None if at is None else _size(_Bits(head[at + 2 : at + 34]))


def _codestream(head: bytes) -> int | None:
    if head[:2] == b"\xff\x0a":
        return 0
    at = 0
    while at + 8 <= len(head):
        size, kind = int.from_bytes(head[at : at + 4], "big"), head[at + 4 : at + 8]
        if kind in (b"jxlc", b"jxlp"):
            # A partial codestream has a running number in front.
            return at + (8 if kind == b"jxlc" else 12)
        if size < bmff.HEADER:
            return None
        at += size
    return None


def _size(bits: _Bits) -> tuple[int, int]:
    small = bits.take(1)
    height = _length(bits, small)
    ratio = bits.take(3)
    if ratio:
        across, down = _RATIOS[ratio - 1]
        return height * across // down, height
    return _length(bits, small), height


def _length(bits: _Bits, small: int) -> int:
    if small:
        return (bits.take(5) + 1) * 8
    return bits.take(_LENGTHS[bits.take(2)]) + 1
