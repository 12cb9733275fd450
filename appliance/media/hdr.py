"""Pictures and films brighter than a plain screen: brought into sRGB by one table for each kind."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from PIL import Image, ImageFilter


# Transfer curves and primaries by their numbers in ITU-T H.273.
_PQ, _HLG = 16, 18
_BT2020, _P3 = 9, 12
TRANSFERS = (_PQ, _HLG)

_SIDE = 33
# The light that the curve below takes for one, so that the white of paper (203 nits in BT.2408) becomes
# 78 % of a screen's signal; and the brightest that is told apart from white.
_ONE, _PEAK = 170.0, 1000.0
_TO_709 = {
    _BT2020: ((1.6605, -0.5876, -0.0728), (-0.1246, 1.1329, -0.0083), (-0.0182, -0.1006, 1.1187)),
    _P3: ((1.2249, -0.2247, 0.0), (-0.0420, 1.0419, 0.0), (-0.0197, -0.0786, 1.0979)),
}
_AS_IT_IS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class Curve(NamedTuple):
    """How a picture stores light: the number of its transfer curve and that of its primaries."""

    transfer: int
    primaries: int = _BT2020


def toned(picture: Image.Image, curve: Curve) -> Image.Image:
    """Bring a picture of eight bits, decoded without any care for its brightness, into sRGB."""
    alpha = picture.getchannel("A") if picture.mode == "RGBA" else None
    levels = [round(255 * level) for level in _levels(curve.transfer, 256)]
    shown = picture.convert("RGB").point(levels * 3).filter(_gamut(curve.primaries))
    if alpha is not None:
        shown.putalpha(alpha)
    return shown


def cube(curve: Curve) -> str:
    """The same as one table in the text that film filters read."""
    flat = _in_gamut(_levels(curve.transfer, _SIDE), curve.primaries)
    rows = (f"{flat[at]:.6f} {flat[at + 1]:.6f} {flat[at + 2]:.6f}" for at in range(0, len(flat), 3))
    return f"LUT_3D_SIZE {_SIDE}\n" + "\n".join(rows) + "\n"


@functools.lru_cache(maxsize=4)
def _levels(transfer: int, count: int) -> list[float]:
    """What a screen shows of each signal: one channel at a time, so that greys stay grey."""
    nits = _pq if transfer == _PQ else _hlg
    return [_encoded(_rolled(nits(at / (count - 1)) / _ONE)) for at in range(count)]


@functools.lru_cache(maxsize=4)
def _gamut(primaries: int) -> ImageFilter.Color3DLUT:
    return ImageFilter.Color3DLUT(_SIDE, _in_gamut([at / (_SIDE - 1) for at in range(_SIDE)], primaries))


def _in_gamut(levels: list[float], primaries: int) -> list[float]:
    """Every mixture of some levels in the colours of sRGB; red changes fastest, as readers expect it."""
    matrix = _TO_709.get(primaries, _AS_IT_IS)
    light = [_decoded(level) for level in levels]
    return [
        _encoded(min(1.0, max(0.0, row[0] * red + row[1] * green + row[2] * blue)))
        for blue in light
        for green in light
        for red in light
        for row in matrix
    ]


def _pq(signal: float) -> float:
    """Nits of a signal in SMPTE ST 2084."""
    power = math.pow(signal, 1 / 78.84375)
    over, under = max(power - 0.8359375, 0.0), 18.8515625 - 18.6875 * power
    return 10_000.0 * math.pow(over / under, 1 / 0.1593017578125)


def _hlg(signal: float) -> float:
    """Nits of a signal in ARIB STD-B67 on a screen of a thousand."""
    if signal <= 0.5:
        scene = signal * signal / 3
    else:
        scene = (math.exp((signal - 0.55991073) / 0.17883277) + 0.28466892) / 12
    return _PEAK * math.pow(scene, 1.2)


def _rolled(light: float) -> float:
    """Reinhard's curve with a white point: keeps what is dark, makes room for what is brighter than paper."""
    white = _PEAK / _ONE
    return min(1.0, light * (1 + light / (white * white)) / (1 + light))


def _encoded(linear: float) -> float:
    return 12.92 * linear if linear <= 0.0031308 else 1.055 * math.pow(linear, 1 / 2.4) - 0.055


def _decoded(level: float) -> float:
    return level / 12.92 if level <= 0.04045 else math.pow((level + 0.055) / 1.055, 2.4)
