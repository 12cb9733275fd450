"""Films that differ from the plain ones: uneven times, covers, mirrors, enormous gaps."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av

from tests.media import make


def uneven(container: str, moments_ms: Sequence[int], *, last_ms: int = 100) -> bytes:
    """A film whose pictures come at these moments."""
    kind = {"mkv": "matroska"}.get(container, container)
    with tempfile.NamedTemporaryFile() as out:
        with av.open(out.name, "w", format=kind) as target:
            stream: Any = target.add_stream("libx264", rate=25, options={"bf": "0"})
            stream.width, stream.height, stream.pix_fmt = 64, 32, "yuv420p"
            stream.codec_context.time_base = Fraction(1, 1000)
            for moment, picture in zip(moments_ms, make.frames(len(moments_ms), size=(64, 32)), strict=True):
                frame = av.VideoFrame.from_image(picture)
                frame.pts, frame.time_base = moment, Fraction(1, 1000)
                for packet in stream.encode(frame):
                    packet.duration = last_ms
                    target.mux(packet)
            target.mux(stream.encode(None))
        return out.read()


def covered(*, video: bool) -> bytes:
    """A music file with a cover, or a film with one."""
    with tempfile.NamedTemporaryFile() as out:
        with av.open(out.name, "w", format="mp4") as target:
            pictures: Any = make._picture_stream(target, "libx264", (64, 32), 0, None, 12) if video else None
            cover: Any = target.add_stream("mjpeg", rate=1)
            cover.width, cover.height, cover.pix_fmt = 640, 640, "yuvj420p"
            cover.disposition = av.stream.Disposition.attached_pic
            sound = target.add_stream("aac", rate=48000)
            target.start_encoding()
            frame = av.VideoFrame.from_image(make.corner((640, 640)))
            frame.pts = 0
            target.mux(cover.encode(frame))
            target.mux(cover.encode(None))
            if pictures is not None:
                make._show(target, pictures, make.frames(30, size=(64, 32)))
            make._silence(target, sound)
        return out.read()


def mirrored(data: bytes, matrix: tuple[int, int, int, int]) -> bytes:
    """The same MP4 whose display matrix is another one: a, b, c, d of it."""
    at = data.index(b"tkhd") + 4 + 40
    one = [value << 16 for value in matrix]
    packed = struct.pack(">9i", one[0], one[1], 0, one[2], one[3], 0, 0, 0, 1 << 30)
    return data[:at] + packed + data[at + 36 :]


def enormous(path: Path, gigabytes: int) -> int:
    """A sparse MP4 of so many gigabytes, most of which is a hole; its size."""
    film = make.film(options={"movflags": "faststart"})
    size = gigabytes << 30
    with path.open("wb") as out:
        out.write(film)
        # A box of free space up to the end, with a length of 64 bits.
        rest = size - len(film)
        out.write(struct.pack(">I4sQ", 1, b"free", rest))
        out.truncate(size)
    return size
