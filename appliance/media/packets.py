"""Where pictures keep their XMP packets and IPTC blocks, format by format and within bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from PIL import Image

from appliance.media import bmff, xmp
from appliance.media.reading import Source


_EXTENSION = b"http://ns.adobe.com/xmp/extension/\0"
# Behind the name stand a GUID in 32 letters, the whole length and the place of this piece.
_HEADER = len(_EXTENSION) + 32 + 8
_XMP_UUID = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")
_IPTC_RESOURCE, _IPTC_TAG = 0x0404, 33723
_MOST_BOXES = 1000
_GIF_NAME, _GIF_TRAILER = b"\x21\xff\x0bXMP DataXMP", b"\x01\xff\xfe\xfd"


def of(source: Source, image: Image.Image) -> Iterator[bytes]:
    """Give the packets of an opened picture, the main one first."""
    packet = image.info.get("xmp") or image.info.get("XML:com.adobe.xmp")
    if packet:
        yield packet.encode("utf-8", "replace") if isinstance(packet, str) else bytes(packet)
    if source.sniffed.format in ("jxl", "jpeg2000"):
        yield from _in_boxes(source)
    if source.sniffed.format == "gif":
        yield from _in_gif(source)
    extended = _extended(getattr(image, "applist", []))
    if extended:
        yield extended


def _extended(segments: list[tuple[str, bytes]]) -> bytes:
    """Join the pieces of a packet that did not fit into one segment of a JPEG."""
    pieces = [s for name, s in segments if name == "APP1" and s.startswith(_EXTENSION) and len(s) > _HEADER]
    if not pieces:
        return b""
    name, whole = pieces[0][: len(_EXTENSION) + 32], int.from_bytes(pieces[0][_HEADER - 8 : _HEADER - 4])
    if not 0 < whole <= xmp.MOST_BYTES:
        return b""
    packet = bytearray(whole)
    for piece in pieces:
        at, content = int.from_bytes(piece[_HEADER - 4 : _HEADER]), piece[_HEADER:]
        if piece.startswith(name) and at + len(content) <= whole:
            packet[at : at + len(content)] = content
    return bytes(packet)


def _in_boxes(source: Source) -> Iterator[bytes]:
    data = source.file()
    for count, box in enumerate(bmff.boxes(data, 0, source.size)):
        if count >= _MOST_BOXES:
            return
        length = min(box.end, source.size) - box.start
        if box.kind not in (b"xml ", b"uuid") or not 0 < length <= xmp.MOST_BYTES:
            continue
        data.seek(box.start)
        content = data.read(length)
        if box.kind == b"xml ":
            yield content
        elif content.startswith(_XMP_UUID):
            yield content[len(_XMP_UUID) :]


def _in_gif(source: Source) -> Iterator[bytes]:
    """A packet lies in a GIF as it is, behind its name; writers put it first or last."""
    for part in (source.head(), source.tail(xmp.MOST_BYTES)):
        start = part.find(_GIF_NAME)
        end = part.find(_GIF_TRAILER, start)
        if 0 <= start < end:
            yield part[start + len(_GIF_NAME) : end]
            return


def iptc(image: Image.Image) -> bytes:
    """Give the IPTC block of an opened picture, or nothing."""
    resources = image.info.get("photoshop")
    if isinstance(resources, dict):
        return _bytes(resources.get(_IPTC_RESOURCE))
    directory: Any = getattr(image, "tag_v2", None)
    if directory is None or _IPTC_TAG not in directory:
        return b""
    try:
        return _bytes(directory[_IPTC_TAG])
    except Exception:  # noqa: BLE001
        # A damaged tag raises whatever its bytes lead to, and is no block.
        return b""


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, tuple | list) and len(value) <= xmp.MOST_BYTES:
        # Some writers say that the block is a row of large numbers.
        return b"".join(int(v).to_bytes(4, "little") for v in value if 0 <= int(v) < 2**32)
    return b""
