"""Which curve of brightness a still picture says that it was stored with."""

from __future__ import annotations

from appliance.media import bmff, hdr
from appliance.media.reading import Source


_MAX_CHUNKS = 64


def of(source: Source) -> hdr.Curve | None:
    """Return the curve of a picture that is brighter than a plain screen; None for all others."""
    codes = None
    if source.sniffed.format in ("avif", "heif"):
        codes = bmff.colour_codes(source.file(), source.size)
    elif source.sniffed.format == "png":
        codes = _png(source)
    return hdr.Curve(*codes) if codes is not None and codes[0] in hdr.TRANSFERS else None


def _png(source: Source) -> tuple[int, int] | None:
    at = 8
    for _ in range(_MAX_CHUNKS):
        head = source.at(at, 12)
        if len(head) < 12 or head[4:8] in (b"IDAT", b"IEND"):
            return None
        if head[4:8] == b"cICP":
            return head[9], head[8]
        at += 12 + int.from_bytes(head[:4], "big")
    return None
