"""Media made on the spot for the tests of the pipeline."""

from __future__ import annotations

import io
import struct
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import av
import pillow_heif
from PIL import Image
from pillow_jxl import JpegXLImagePlugin


pillow_heif.register_heif_opener()
assert JpegXLImagePlugin is not None

RED, GREEN, BLUE, BLACK, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (0, 0, 0), (255, 255, 255)
FORMATS = {"jpg": "JPEG", "png": "PNG", "webp": "WEBP", "avif": "AVIF", "heic": "HEIF", "jxl": "JXL"}


def corner(size: tuple[int, int] = (40, 20)) -> Image.Image:
    """A blue picture whose upper left corner is red."""
    picture = Image.new("RGB", size, BLUE)
    picture.paste(RED, (0, 0, size[0] // 4, size[1] // 2))
    return picture


def saved(picture: Image.Image, format_: str, **options: Any) -> bytes:
    """The bytes of a picture in a format of Pillow."""
    out = io.BytesIO()
    picture.save(out, format_, **options)
    return out.getvalue()


def exif(**tags: Any) -> bytes:
    """EXIF with tags by name; those of the camera directory are put where they belong."""
    block = Image.Exif()
    for name, value in tags.items():
        tag = _TAGS[name]
        (block.get_ifd(0x8769) if tag >= 0x8000 else block)[tag] = value
    return block.tobytes()


_TAGS = {
    "orientation": 0x112,
    "make": 0x10F,
    "model": 0x110,
    "description": 0x10E,
    "date_time": 0x132,
    "original": 0x9003,
    "digitized": 0x9004,
    "offset": 0x9011,
    "fraction": 0x9291,
    "iso": 0x8827,
    "f_number": 0x829D,
    "exposure": 0x829A,
}


def raw_exif(*directories: dict[int, tuple[int, bytes]]) -> bytes:
    """EXIF whose main, camera and GPS directories hold exactly these types and bytes, however wrong."""
    body = bytearray(b"II*\0\x08\0\0\0")
    pointers = {0x8769: 1, 0x8825: 2}
    main = {
        **directories[0],
        **{tag: (4, bytes(4)) for tag, place in pointers.items() if len(directories) > place},
    }
    starts = [_append(body, directory) for directory in (main, *directories[1:])]
    for tag, place in pointers.items():
        if len(directories) > place:
            at = body.index(struct.pack("<HHI", tag, 4, 4)) + 8
            body[at : at + 4] = struct.pack("<I", starts[place])
            body[at - 4 : at] = struct.pack("<I", 1)
    return b"Exif\0\0" + bytes(body)


def _append(body: bytearray, directory: dict[int, tuple[int, bytes]]) -> int:
    start, sizes = len(body), {1: 1, 2: 1, 3: 2, 4: 1, 5: 8}
    after = start + 2 + 12 * len(directory) + 4
    entries, values = bytearray(struct.pack("<H", len(directory))), bytearray()
    for tag, (kind, value) in sorted(directory.items()):
        entries += struct.pack("<HHI", tag, kind, len(value) // sizes[kind])
        entries += value.ljust(4, b"\0") if len(value) <= 4 else struct.pack("<I", after + len(values))
        values += value if len(value) > 4 else b""
    body += entries + bytes(4) + values
    return start


def frames(count: int = 4, *, black: int = 0, size: tuple[int, int] = (40, 30)) -> list[Image.Image]:
    """Pictures that differ; the first ones black when asked."""
    made = []
    for number in range(count):
        picture = Image.new(
            "RGB", size, (number, 0, 0) if number < black else (20 + number * 40 % 200, 60, 90)
        )
        if number >= black:
            picture.paste(RED, (0, 0, size[0] // 2, size[1] // 2))
        made.append(picture)
    return made


def animated(format_: str, delays: Sequence[int], *, black: int = 0) -> bytes:
    """An animation with the given milliseconds for each frame."""
    first, *rest = frames(len(delays), black=black)
    return saved(first, format_, save_all=True, append_images=rest, duration=list(delays), loop=0)


def film(
    container: str = "mp4", *, count: int = 30, black: int = 0, codec: str = "libx264", turn: int = 0,
    aspect: tuple[int, int] | None = None, size: tuple[int, int] = (64, 32), audio: bool = False,
    video: bool = True, gop: int = 12, metadata: dict[str, str] | None = None,
    options: dict[str, str] | None = None, shown: list[Image.Image] | None = None, crf: int | None = None,
) -> bytes:  # fmt: skip
    """A film at ten frames a second, with sound when asked; of given pictures, or of some that differ."""
    kind = {"mkv": "matroska"}.get(container, container)
    # A real file: some options make the writer read again what it wrote.
    with tempfile.NamedTemporaryFile() as out:
        with av.open(out.name, "w", format=kind, options=options or {}) as target:
            target.metadata.update(metadata or {})
            pictures = _picture_stream(target, codec, size, turn, aspect, gop) if video else None
            sound = target.add_stream("aac", rate=48000) if audio else None
            if pictures is not None:
                if crf is not None:
                    pictures.options = {"crf": str(crf)}
                _show(target, pictures, shown or frames(count, black=black, size=size))
            if sound is not None:
                _silence(target, sound)
        return out.read()


def _show(target: Any, stream: Any, pictures: list[Image.Image]) -> None:
    for number, picture in enumerate(pictures):
        frame = av.VideoFrame.from_image(picture)
        frame.pts = number
        target.mux(stream.encode(frame))
    target.mux(stream.encode(None))


def _picture_stream(target: Any, codec: str, size: tuple[int, int], turn: int, aspect: Any, gop: int) -> Any:
    stream = target.add_stream(codec, rate=10)
    stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
    stream.gop_size = gop
    if aspect:
        stream.codec_context.sample_aspect_ratio = Fraction(*aspect)
    if turn:
        stream.set_display_rotation(turn)
    return stream


def _silence(target: Any, stream: Any) -> None:
    frame = av.AudioFrame(format="fltp", layout="stereo", samples=1024)
    for plane in frame.planes:
        plane.update(bytes(plane.buffer_size))
    frame.sample_rate, frame.pts = 48000, 0
    target.mux(stream.encode(frame))
    target.mux(stream.encode(None))


def with_stream_type(stream: bytes, number: int) -> bytes:
    """A transport stream whose tables call its H.264 by another number, with their checksums mended."""
    data = bytearray(stream)
    for packet in range(0, len(data), 188):
        start = packet + 5
        if data[packet + 1] & 0x40 and data[packet + 4 : packet + 6] == b"\0\2":
            end = start + 3 + ((data[start + 1] & 15) << 8 | data[start + 2])
            data[data.index(b"\x1b\xe1\0", start, end)] = number
            data[end - 4 : end] = _mpeg_checksum(data[start : end - 4]).to_bytes(4, "big")
    return bytes(data)


def _mpeg_checksum(data: bytes) -> int:
    found = 0xFFFFFFFF
    for byte in data:
        found ^= byte << 24
        for _ in range(8):
            found = (found << 1 ^ (0x04C11DB7 if found & 0x80000000 else 0)) & 0xFFFFFFFF
    return found


def announced(data: bytes, width: int, height: int) -> bytes:
    """The same AVIF or HEIC file, but its header announces another size."""
    at = data.index(b"ispe") + 8
    return data[:at] + struct.pack(">II", width, height) + data[at + 8 :]


def swapped_profile(srgb: bytes) -> bytes:
    """An ICC profile under which red and green have changed places."""
    return srgb.replace(b"rXYZ", b"????", 1).replace(b"gXYZ", b"rXYZ", 1).replace(b"????", b"gXYZ", 1)
