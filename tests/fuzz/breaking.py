"""Ways to break a file: each takes bytes and a random source, and gives other bytes."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence

from tests.fuzz.numbers import Number


Numbers = Callable[[bytes], Iterator[Number]]
Way = Callable[[bytearray, random.Random], bytearray]

MOST = 1 << 20
"""Broken files that grow are cut here: what hurts is their shape, not their length."""


def truncate(data: bytearray, rng: random.Random) -> bytearray:
    """The end is missing."""
    return data[: rng.randrange(1, max(2, len(data)))]


def flip(data: bytearray, rng: random.Random) -> bytearray:
    """Some bits are others, anywhere."""
    for _ in range(rng.choice((1, 2, 8, 64))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def flip_head(data: bytearray, rng: random.Random) -> bytearray:
    """Some bytes near the start are others."""
    for _ in range(rng.choice((1, 2, 5))):
        data[rng.randrange(min(len(data), 300))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return data


def blank(data: bytearray, rng: random.Random) -> bytearray:
    """A hole: a page that the disk never wrote."""
    at = rng.randrange(len(data))
    length = min(rng.choice((16, 512, 4096)), len(data) - at)
    data[at : at + length] = rng.choice((b"\0", b"\xff")) * length
    return data


def remove(data: bytearray, rng: random.Random) -> bytearray:
    """Some bytes are left out."""
    at = rng.randrange(len(data))
    del data[at : at + rng.choice((1, 4, 100))]
    return data or bytearray(b"\0")


def insert(data: bytearray, rng: random.Random) -> bytearray:
    """Noise in between."""
    at = rng.randrange(len(data))
    data[at:at] = rng.randbytes(rng.choice((1, 4, 100)))
    return data


def repeat(data: bytearray, rng: random.Random) -> bytearray:
    """A part of it again and again, as structures that nest or loop."""
    at = rng.randrange(len(data))
    part = data[at : at + rng.choice((4, 12, 64, 512))]
    data[at:at] = part * rng.choice((2, 50, 2000))
    return data[:MOST]


def nest(data: bytearray, rng: random.Random) -> bytearray:
    """A box in a box in a box."""
    at = data.find(rng.choice((b"moov", b"trak", b"meta", b"ipco", b"udta"))) - 4
    if at < 0:
        return repeat(data, rng)
    kind, inner = data[at + 4 : at + 8], data[at:]
    for _ in range(rng.choice((3, 200, 3000))):
        inner = bytearray(struct.pack(">I", len(inner) + 8)) + kind + inner[:MOST]
    return (data[:at] + inner)[:MOST]


def lie(numbers: Numbers) -> Way:
    """A size, count or offset says something else."""

    def change(data: bytearray, rng: random.Random) -> bytearray:
        found = [each for each in numbers(bytes(data)) if each.at + each.width <= len(data)]
        for number in rng.sample(found, min(len(found), rng.choice((1, 1, 2, 4)))):
            number.write(data, _extreme(number, number.read(data), rng))
        return data if found else flip_head(data, rng)

    return change


def _extreme(number: Number, value: int, rng: random.Random) -> int:
    most = (1 << 8 * number.width) - 1
    return int(
        rng.choice(
            (0, 1, 2, value + 1, value - 1, value * 2, value // 2, most, most - 1, most // 2, most // 2 + 1,
             rng.randrange(most + 1), rng.randrange(min(most, 65_536) + 1), number.at, -8)
        )
    )  # fmt: skip


def splice(data: bytearray, other: bytes, rng: random.Random) -> bytearray:
    """The start of one file and the end of another."""
    return data[: rng.randrange(1, max(2, len(data)))] + other[rng.randrange(len(other)) :]


WAYS: Sequence[Way] = (truncate, flip, flip, flip_head, blank, remove, insert, repeat, nest)


def broken(data: bytes, other: bytes, numbers: Numbers, rng: random.Random) -> bytes:
    """One broken file: a splice, a lie, or one or two other ways at once."""
    made, choice = bytearray(data), rng.random()
    if choice < 0.1:
        made = splice(made, other, rng)
    elif choice < 0.5:
        made = lie(numbers)(made, rng)
    else:
        for _ in range(rng.choice((1, 1, 2))):
            made = rng.choice(WAYS)(made, rng)
    if made[:4] == b"\x89PNG" and rng.random() < 0.8:
        made = with_sums(made)
    return bytes(made[:MOST]) or b"\0"


def with_sums(data: bytearray) -> bytearray:
    """A PNG whose check sums are right again, so that what is wrong is not found by them."""
    at = 8
    while at + 12 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        end = at + 8 + length
        if end + 4 > len(data):
            break
        data[end : end + 4] = struct.pack(">I", zlib.crc32(data[at + 4 : end]))
        at = end + 4
    return data
