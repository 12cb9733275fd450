"""A 64-bit perceptual hash of a picture and of its mirror; none of what shows too little to be told apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul

from PIL import Image, ImageStat

from appliance.media.wire import Fingerprint


VERSION = 1
"""Moves when the same picture would get another hash: everything is hashed anew then."""

SIDE = 32
"""Of the grey reduction."""
_LOW = 8
_SPREAD = 4.0
"""Grey levels by which a picture must vary at all."""
_LOUD = 3.0
"""A coefficient below this may come from rounding and compression alone."""
_LOUD_ENOUGH = 24
"""So many of the 64 must be louder, or the hash would be made of noise."""
_PAPER = 13
"""So many neighbouring greys are the paper on which something is drawn or written."""
_BLANK, _SPARSE = 0.12, 0.5
"""Shares of a picture that are not paper: below the first it shows too little, below the second little."""
REACH, SPARSE_REACH = 7, 2
"""At how many bits a picture is still taken for a copy; pages of text look much like each other."""


def _waves() -> list[list[float]]:
    # Rows of the orthonormal DCT-II, as many as low frequencies are used.
    return [
        [
            math.sqrt((1 if k == 0 else 2) / SIDE) * math.cos(math.pi * k * (2 * n + 1) / (2 * SIDE))
            for n in range(SIDE)
        ]
        for k in range(_LOW + 1)
    ]


_WAVES = _waves()
# The low frequencies without the mean, and one more in its place: (down, across).
PLACES = [(v, u) for v in range(_LOW) for u in range(_LOW) if (v, u) != (0, 0)] + [(_LOW, 0)]


def fingerprint(picture: Image.Image) -> Fingerprint | None:
    """Hash an upright picture in sRGB; None where it is nearly flat, smooth or blank."""
    grey = reduction(picture)
    if ImageStat.Stat(grey).stddev[0] < _SPREAD:
        return None
    values = frequencies(list(grey.getdata()))
    if sum(abs(value) >= _LOUD for value in values) < _LOUD_ENOUGH:
        return None
    drawn = 1 - _paper(grey.histogram())
    if drawn < _BLANK:
        return None
    # Seen in a mirror, waves that are odd across change their sign.
    mirrored = [-value if u % 2 else value for value, (_, u) in zip(values, PLACES, strict=True)]
    return Fingerprint(_bits(values), _bits(mirrored), REACH if drawn >= _SPARSE else SPARSE_REACH)


def _paper(histogram: Sequence[int]) -> float:
    """Return the share of the greys that are most frequent together."""
    return max(sum(histogram[at : at + _PAPER]) for at in range(257 - _PAPER)) / (SIDE * SIDE)


def reduction(picture: Image.Image) -> Image.Image:
    """Reduce a picture to the grey square that is hashed; what is seen through lies on white."""
    small = picture.resize((SIDE, SIDE), Image.Resampling.BOX)
    if small.mode == "RGBA":
        white = Image.new("RGBA", small.size, "white")
        small = Image.alpha_composite(white, small)
    return small.convert("L")


def frequencies(pixels: Sequence[int]) -> list[float]:
    """Return the coefficients of the cosine transform that the hash is made of."""
    across = [
        [sum(map(mul, pixels[at : at + SIDE], wave)) for at in range(0, SIDE * SIDE, SIDE)]
        for wave in _WAVES[:_LOW]
    ]
    return [sum(map(mul, across[u], _WAVES[v])) for v, u in PLACES]


def _bits(values: Sequence[float]) -> int:
    """One bit for each coefficient above the median, as a signed 64-bit number."""
    ordered = sorted(values)
    middle = (ordered[31] + ordered[32]) / 2
    bits = 0
    for value in values:
        bits = bits << 1 | (value > middle)
    return bits - (1 << 64) if bits >> 63 else bits


def distance(one: int, other: int) -> int:
    """In how many of the 64 bits two hashes differ."""
    return ((one ^ other) & (1 << 64) - 1).bit_count()
