"""The short film within a photo, and the mark that pairs a photo with a film beside it."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Any

from PIL import ExifTags, Image

from appliance.media import bmff
from appliance.media.parts import Part
from appliance.media.reading import Source
from appliance.media.reasons import MediaFailure
from appliance.media.sniff import Family


# What a film is made of at its top level; anything else behind it is a trailer of the camera.
_BOXES = frozenset(
    {b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"uuid", b"udta", b"meta"}
    | {b"moof", b"mfra", b"sidx", b"styp", b"pnot"}
)
_SMALLEST = 64
_MAX_XMP = 512 << 10
_MICRO_OFFSET = re.compile(rb"MicroVideoOffset(?:\s*=\s*\"|>)\s*(\d{1,18})")
_ITEM = re.compile(rb"<[^<>]{0,1000}Item:Semantic\s*=\s*\"(\w{1,40})\"[^<>]{0,1000}>")
_ITEM_LENGTH = re.compile(rb"Item:Length\s*=\s*\"(\d{1,18})\"")
# Samsung's trailer: a directory of named blocks, the film's of this kind.
_SAMSUNG_FILM, _MAX_BLOCKS = 0x0A30, 64
_APPLE, _APPLE_PAIR = b"Apple iOS\0", 0x0011
_PAIR = re.compile(r"[0-9A-Za-z-]{8,64}")


def facts(source: Source, image: Image.Image) -> dict[str, Any]:
    """What binds a photo to a film: `motion` for one inside the file, `live_id` for one beside it."""
    found: dict[str, Any] = {}
    pair = _live_id(image)
    if pair is not None:
        found["live_id"] = pair
    film = _film(source, image)
    if film is not None:
        found["motion"] = film
    return found


def live_id(text: str) -> str | None:
    """Return a pair's mark when it looks like one, in the form in which both sides compare it."""
    return text.upper() if _PAIR.fullmatch(text) else None


def _film(source: Source, image: Image.Image) -> dict[str, Any] | None:
    for start in _starts(source, image):
        length = _length(source, start)
        if length >= _SMALLEST:
            return _described(source, start, length)
    return None


def _described(source: Source, start: int, length: int) -> dict[str, Any] | None:
    from appliance.media import video  # noqa: PLC0415 - loads FFmpeg

    part = Part(source, start, length)
    if part.sniffed.family is not Family.VIDEO:
        return None
    try:
        told = video.described(part)
    except MediaFailure:
        # A film that cannot be played costs the photo nothing.
        return None
    return {"offset": start, "length": length, "mime": part.sniffed.mime, **told}


def _length(source: Source, start: int) -> int:
    """How many bytes of a film lie there; 0 when none begins."""
    kinds: set[bytes] = set()
    end = start
    if not 0 < start <= source.size - _SMALLEST:
        return 0
    for box in bmff.boxes(source.file(), start, source.size):
        if box.kind not in _BOXES or box.end > source.size or (not kinds and box.kind != b"ftyp"):
            break
        kinds.add(box.kind)
        end = box.end
    return end - start if {b"ftyp", b"moov"} <= kinds else 0


def _starts(source: Source, image: Image.Image) -> Iterator[int]:
    """Where a film may begin, by every way in which cameras say it."""
    if source.sniffed.format in ("heif", "avif"):
        yield from (b.start for b in bmff.boxes(source.file(), 0, source.size) if b.kind == b"mpvd")
    if source.sniffed.format in ("heif", "avif", "jpeg"):
        yield from _by_xmp(source, image)
        yield from _by_samsung(source)


def _by_xmp(source: Source, image: Image.Image) -> Iterator[int]:
    xmp = image.info.get("xmp") or b""
    if not isinstance(xmp, bytes) or len(xmp) > _MAX_XMP:
        return
    behind = 0
    for item in reversed(list(_ITEM.finditer(xmp))):
        length = _ITEM_LENGTH.search(item[0])
        behind += int(length[1]) if length else 0
        if item[1] == b"MotionPhoto":
            yield source.size - behind
    micro = _MICRO_OFFSET.search(xmp)
    if micro:
        yield source.size - int(micro[1])


def _by_samsung(source: Source) -> Iterator[int]:
    tail = source.tail(8)
    if tail[4:] != b"SEFT":
        return
    length = int.from_bytes(tail[:4], "little")
    base = source.size - 8 - length
    directory = source.at(base, 12 + 12 * _MAX_BLOCKS) if base > 0 else b""
    if directory[:4] != b"SEFH":
        return
    count = min(int.from_bytes(directory[8:12], "little"), _MAX_BLOCKS, (len(directory) - 12) // 12)
    for number in range(count):
        _, kind, back, _size = struct.unpack_from("<HHII", directory, 12 + 12 * number)
        if kind == _SAMSUNG_FILM and 0 < back < base:
            head = source.at(base - back, 8)
            yield base - back + 8 + int.from_bytes(head[4:8], "little")


def _live_id(image: Image.Image) -> str | None:
    """Return the mark that an iPhone writes into a photo and the film that belongs to it."""
    try:
        note = image.getexif().get_ifd(ExifTags.IFD.Exif).get(ExifTags.Base.MakerNote)
        return _apple(note) if isinstance(note, bytes) and note.startswith(_APPLE) else None
    except Exception:  # noqa: BLE001
        # Hostile EXIF raises whatever its bytes lead to; the metadata's reader notes that it is damaged.
        return None


def _apple(note: bytes) -> str | None:
    order = "<" if note[12:14] == b"II" else ">"
    count = struct.unpack_from(order + "H", note, 14)[0]
    for at in range(16, min(16 + 12 * count, len(note) - 11), 12):
        tag, kind, size, where = struct.unpack_from(order + "HHII", note, at)
        if tag == _APPLE_PAIR and kind == 2 and size <= 64:
            return live_id(note[where : where + size].rstrip(b"\0").decode("ascii"))
    return None
