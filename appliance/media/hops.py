"""Bytes that lie within a file: the way to them, and reading along it a piece at a time.

A hop is a stretch of the file, or of what the hop before it unpacks to. A stored member of a stored
archive is one hop; only what was deflated needs one of its own.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec


STORED, DEFLATED = 0, 8
PIECE = 256 * 1024


class Hop(msgspec.Struct, frozen=True, array_like=True):
    """Where a member lies, how long it is there and unpacked, and what its bytes must sum up to."""

    offset: int
    stored: int
    size: int
    method: int
    crc: int


def written(way: Sequence[Hop]) -> str:
    """A way as JSON."""
    return msgspec.json.encode(way).decode()


def way(text: str | None) -> tuple[Hop, ...]:
    """A way that was written as JSON; none leads nowhere."""
    return msgspec.json.decode(text or "[]", type=tuple[Hop, ...])


class Broken(Exception):
    """The bytes are not what the archive says of them."""


class _Forward(Protocol):
    """Something that is read from its start to its end."""

    def read(self, count: int) -> bytes:
        """At most so many of the next bytes; none at the end."""


class _File:
    """A stretch of a file."""

    def __init__(self, descriptor: int, hop: Hop) -> None:
        self._descriptor = descriptor
        self._at = hop.offset
        self._end = hop.offset + hop.stored

    def read(self, count: int) -> bytes:
        piece = os.pread(self._descriptor, min(count, self._end - self._at), self._at)
        self._at += len(piece)
        return piece


class _Stretch:
    """A stretch of what can only be read forwards."""

    def __init__(self, outer: _Forward, hop: Hop) -> None:
        self._outer = outer
        self._before = hop.offset
        self._left = hop.stored

    def read(self, count: int) -> bytes:
        while self._before:
            passed = self._outer.read(min(self._before, PIECE))
            if not passed:
                return b""
            self._before -= len(passed)
        piece = self._outer.read(min(count, self._left))
        self._left -= len(piece)
        return piece


class _Inflated:
    """What a deflated stretch unpacks to, never more than was announced."""

    def __init__(self, packed: _Forward, hop: Hop) -> None:
        self._packed = packed
        self._left = hop.size
        self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)

    def read(self, count: int) -> bytes:
        wanted = min(count, self._left)
        while wanted and not self._inflater.eof:
            packed = self._inflater.unconsumed_tail or self._packed.read(PIECE)
            try:
                piece = self._inflater.decompress(packed, wanted)
            except zlib.error as error:
                raise Broken(str(error)) from error
            if piece:
                self._left -= len(piece)
                return piece
            if not packed:
                break
        return b""


def _opened(descriptor: int, hops: Sequence[Hop]) -> _Forward:
    found: _Forward | None = None
    for hop in hops:
        found = _File(descriptor, hop) if found is None else _Stretch(found, hop)
        found = _Inflated(found, hop) if hop.method == DEFLATED else found
    if found is None:
        raise Broken("no way leads to it")
    return found


def pieces(descriptor: int, hops: Sequence[Hop]) -> Iterator[bytes]:
    """The bytes at the end of the way; fails at their end when they are not the ones that were recorded."""
    found, last = _opened(descriptor, hops), hops[-1]
    crc, left = 0, last.size
    while left and (piece := found.read(min(PIECE, left))):
        crc, left = zlib.crc32(piece, crc), left - len(piece)
        yield piece
    if left:
        raise Broken(f"{left:,} of {last.size:,} bytes are missing")
    if crc != last.crc:
        raise Broken("the checksum does not fit")


def head(descriptor: int, hops: Sequence[Hop], count: int) -> bytes:
    """The first bytes at the end of the way, unchecked."""
    found, parts = _opened(descriptor, hops), bytearray()
    while len(parts) < count and (piece := found.read(count - len(parts))):
        parts += piece
    return bytes(parts)


def whole(descriptor: int, hops: Sequence[Hop]) -> bytes:
    """All bytes at the end of the way, checked; the caller has looked at their size."""
    return b"".join(pieces(descriptor, hops))


def stretch(hops: Sequence[Hop]) -> Hop | None:
    """Where the bytes lie as they are, when nothing on the way to them is packed."""
    return hops[0] if len(hops) == 1 and hops[0].method == STORED else None
