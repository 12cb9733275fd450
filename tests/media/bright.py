"""Films brighter than a plain screen, made of patches whose light is known."""

from __future__ import annotations

import math
import struct
import tempfile
import zlib
from fractions import Fraction
from typing import Any

import av


PQ, HLG, BT2020 = 16, 18, 9
Signal = tuple[float, float, float]


def pq(nits: float) -> float:
    """The signal of a light in SMPTE ST 2084."""
    power = math.pow(nits / 10_000, 0.1593017578125)
    return math.pow((0.8359375 + 18.8515625 * power) / (1 + 18.6875 * power), 78.84375)


def _planes(signal: Signal) -> tuple[int, int, int]:
    """Ten-bit luma and colour differences of a signal, as BT.2020 has them."""
    red, green, blue = signal
    luma = 0.2627 * red + 0.6780 * green + 0.0593 * blue
    differences = ((blue - luma) / 1.8814, (red - luma) / 1.4746)
    return round(64 + 876 * luma), *(round(512 + 896 * one) for one in differences)  # type: ignore[return-value]


def film(left: Signal, right: Signal, transfer: int, container: str = "mp4") -> bytes:
    """A film of ten bits whose halves have these signals, tagged with a transfer curve."""
    with tempfile.NamedTemporaryFile() as out:
        with av.open(out.name, "w", format=container) as target:
            stream: Any = target.add_stream("libx264", rate=10, options={"qp": "0"})
            stream.width, stream.height, stream.pix_fmt = 64, 32, "yuv420p10le"
            context = stream.codec_context
            context.color_trc, context.color_primaries, context.colorspace = transfer, BT2020, BT2020
            context.color_range = 1
            for number in range(10):
                target.mux(stream.encode(_frame(left, right, number)))
            target.mux(stream.encode(None))
        return out.read()


def _frame(left: Signal, right: Signal, number: int) -> Any:
    frame: Any = av.VideoFrame(64, 32, "yuv420p10le")
    for plane, one, other in zip(frame.planes, _planes(left), _planes(right), strict=True):
        half = plane.width // 2
        row = struct.pack(f"<{2 * half}H", *([one] * half), *([other] * half))
        plane.update(row.ljust(plane.line_size, b"\0") * plane.height)
    frame.pts, frame.time_base = number, Fraction(1, 10)
    return frame


def tagged(data: bytes, transfer: int) -> bytes:
    """The same AVIF or HEIC file, but its colours say another transfer curve and the primaries of BT.2020."""
    at = data.index(b"colrnclx") + 8
    return data[:at] + struct.pack(">HH", BT2020, transfer) + data[at + 4 :]


def chunked(data: bytes, transfer: int) -> bytes:
    """The same PNG file with a chunk that says how bright it is."""
    body = b"cICP" + bytes((BT2020, transfer, 0, 1))
    chunk = struct.pack(">I", 4) + body + struct.pack(">I", zlib.crc32(body))
    return data[:33] + chunk + data[33:]
