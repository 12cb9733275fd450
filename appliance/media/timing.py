"""Frames and durations of animations, read from their containers without decoding a frame."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from appliance.media import bmff
from appliance.media.reading import Source


# Browsers show a frame that asks for no time at all for a tenth of a second.
ZERO_MEANS_MS = 100.0

# Decoders skip stray bytes between the blocks of a GIF; more than this is not a GIF any more.
_MAX_GARBAGE = 1 << 16


# A picture of 178 million pixels, badly packed.
_MAX_STILL = 1 << 30


class Timing(msgspec.Struct, frozen=True):
    """How many frames there are, how long they last together, and whether the end is missing."""

    frames: int
    duration_ms: float
    truncated: bool = False


STILL = Timing(1, 0.0)


def of(source: Source, limit: int) -> Timing:
    """Measure an animation; one frame means a still. Stops counting just above the limit."""
    data = source.file()
    match source.sniffed.format:
        case "gif":
            return _gif(data, limit)
        case "png":
            return _png(data, source.size, limit)
        case "webp":
            return _webp(data, source.size, limit)
    return _avif(data, source.size)


def _summed(delays: list[float], *, truncated: bool) -> Timing:
    return Timing(len(delays), sum(delay or ZERO_MEANS_MS for delay in delays), truncated)


def _gif(data: BinaryIO, limit: int) -> Timing:
    delays: list[float] = []
    try:
        for delay in _gif_frames(data):
            delays.append(delay)
            if len(delays) > limit:
                break
    except EOFError:
        return _summed(delays, truncated=True)
    return _summed(delays, truncated=False)


def _gif_frames(data: BinaryIO) -> Iterator[float]:
    flags = _need(data, 13)[10]
    _skip_colours(data, flags)
    delay, garbage = 0.0, 0
    while garbage < _MAX_GARBAGE:
        kind = data.read(1)
        if kind == b"!":
            delay = _gif_extension(data, delay)
        elif kind == b",":
            _skip_colours(data, _need(data, 9)[8])
            _need(data, 1)
            _skip_blocks(data)
            yield delay
            delay = 0.0
        elif kind in (b"", b";"):
            # Many writers leave the trailer out; nothing is missing then.
            return
        else:
            garbage += 1
    raise EOFError


def _gif_extension(data: BinaryIO, delay: float) -> float:
    label = _need(data, 1)
    if label != b"\xf9":
        _skip_blocks(data)
        return delay
    length = _need(data, 1)[0]
    body = _need(data, length)
    if length:
        _skip_blocks(data)
    return 10.0 * int.from_bytes(body[1:3], "little")


def _skip_colours(data: BinaryIO, flags: int) -> None:
    if flags & 0x80:
        _need(data, 3 << ((flags & 7) + 1))


def _skip_blocks(data: BinaryIO) -> None:
    while length := _need(data, 1)[0]:
        _need(data, length)


def _need(data: BinaryIO, count: int) -> bytes:
    found = data.read(count)
    if len(found) < count:
        raise EOFError
    return found


def _png(data: BinaryIO, size: int, limit: int) -> Timing:
    delays: list[float] = []
    announced, at, animated = 0, 8, False
    while at + 8 <= size and len(delays) <= limit:
        data.seek(at)
        length, kind = int.from_bytes(data.read(4), "big"), data.read(4)
        if kind == b"acTL" and not animated:
            announced, animated = int.from_bytes(data.read(4), "big"), True
        elif kind == b"fcTL" and animated:
            delays.append(_png_delay(data.read(26)))
        elif kind == b"IDAT" and not animated:
            # An animation announces itself before the picture; what comes later does not count.
            return Timing(1, 0.0)
        elif kind == b"IEND":
            return _summed(delays[:announced], truncated=len(delays) < announced)
        at += 12 + length
    return _summed(delays[:announced], truncated=True) if animated else Timing(1, 0.0)


def without_animation(source: Source) -> BinaryIO:
    """Copy a PNG without what belongs to its animation: the picture that every other reader shows."""
    data, kept = source.file(), bytearray(source.at(0, 8))
    at = 8
    while at + 12 <= source.size and len(kept) < _MAX_STILL:
        data.seek(at)
        head = data.read(8)
        length = 12 + int.from_bytes(head[:4], "big")
        if head[4:] not in (b"acTL", b"fcTL", b"fdAT"):
            kept += head + data.read(min(length - 8, source.size))
        at += length
    return io.BytesIO(kept)


def _png_delay(body: bytes) -> float:
    over, under = int.from_bytes(body[20:22], "big"), int.from_bytes(body[22:24], "big")
    return 1000.0 * over / (under or 100)


def _webp(data: BinaryIO, size: int, limit: int) -> Timing:
    delays: list[float] = []
    at = 12
    while at + 8 <= size and len(delays) <= limit:
        data.seek(at)
        kind, length = data.read(4), int.from_bytes(data.read(4), "little")
        if kind == b"ANMF":
            delays.append(float(int.from_bytes(data.read(16)[12:15], "little")))
        at += 8 + length + (length & 1)
    if not delays:
        return Timing(1, 0.0)
    return _summed(delays, truncated=at > size + 1)


def _avif(data: BinaryIO, size: int) -> Timing:
    runs = bmff.frame_times(data, size)
    frames = sum(count for count, _ in runs)
    if frames < 2:
        return Timing(1, 0.0)
    total = sum(count * (delay or ZERO_MEANS_MS) for count, delay in runs)
    return Timing(frames, total, bmff.overrun(data, size))
