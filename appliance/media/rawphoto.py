"""Names and types of camera raw families, most of which pretend to be TIFF."""

from __future__ import annotations

import struct


CR3 = "Canon CR3 raw photo"
_TYPE = "image/x-"
# The usual names of those whose family is not spelled like their extension.
_KINDS = {"Kodak raw photo": "kodak-dcr", "camera raw photo": "raw", "DNG raw photo": "adobe-dng"}

_PLAIN: tuple[tuple[bytes, str], ...] = (
    (b"IIRO", "Olympus ORF raw photo"),
    (b"IIRS", "Olympus ORF raw photo"),
    (b"MMOR", "Olympus ORF raw photo"),
    (b"IIU\0", "Panasonic RW2 raw photo"),
    (b"FUJIFILMCCD-RAW", "Fujifilm RAF raw photo"),
    (b"FOVb", "Sigma X3F raw photo"),
    (b"\0MRM", "Minolta MRW raw photo"),
    (b"II\x1a\0\0\0HEAPCCDR", "Canon CRW raw photo"),
)

_MAKERS: tuple[tuple[bytes, str], ...] = (
    (b"NIKON", "Nikon NEF raw photo"),
    (b"SONY", "Sony ARW raw photo"),
    (b"PENTAX", "Pentax PEF raw photo"),
    (b"RICOH", "Pentax PEF raw photo"),
    (b"SAMSUNG", "Samsung SRW raw photo"),
    (b"KODAK", "Kodak raw photo"),
    (b"EASTMAN", "Kodak raw photo"),
    (b"HASSELBLAD", "Hasselblad 3FR raw photo"),
    (b"PHASE ONE", "Phase One IIQ raw photo"),
    (b"LEAF", "Leaf MOS raw photo"),
    (b"EPSON", "Epson ERF raw photo"),
)

_SUBFILE, _COMPRESSION, _MAKE, _SUB_IFDS, _DNG_VERSION = 0xFE, 0x103, 0x10F, 0x14A, 0xC612
# Compressions that only raw photos use: Sony, Nikon, Samsung, Kodak, Pentax.
_RAW_COMPRESSIONS = frozenset({32767, 34713, 32770, 65000, 65535})


def name(head: bytes) -> str | None:
    """Return the family of a raw photo, or None when the bytes are something else."""
    for prefix, family in _PLAIN:
        if head.startswith(prefix):
            return family
    if head[:4] not in (b"II*\0", b"MM\0*"):
        return None
    if head[8:10] == b"CR":
        return "Canon CR2 raw photo"
    return _by_directory(head)


def _by_directory(head: bytes) -> str | None:
    tags = _directory(head)
    if _DNG_VERSION in tags:
        return "DNG raw photo"
    thumbnail_first = tags.get(_SUBFILE) == 1 and _SUB_IFDS in tags
    if not thumbnail_first and tags.get(_COMPRESSION) not in _RAW_COMPRESSIONS:
        return None
    maker = head[tags.get(_MAKE, len(head)) :][:16].upper()
    return next((family for prefix, family in _MAKERS if maker.startswith(prefix)), "camera raw photo")


def _directory(head: bytes) -> dict[int, int]:
    order = "<" if head[:2] == b"II" else ">"
    at = struct.unpack_from(order + "I", head, 4)[0] if len(head) >= 8 else len(head)
    if at + 2 > len(head):
        return {}
    count = struct.unpack_from(order + "H", head, at)[0]
    tags: dict[int, int] = {}
    for entry in range(at + 2, min(at + 2 + 12 * count, len(head) - 11), 12):
        tag, kind = struct.unpack_from(order + "HH", head, entry)
        tags[tag] = struct.unpack_from(order + ("H" if kind == 3 else "I"), head, entry + 8)[0]
    return tags


def mime(family: str) -> str:
    """Return the type of a family, in the way that desktops call it: `image/x-nikon-nef`."""
    maker, _, rest = family.removesuffix(" raw photo").rpartition(" ")
    return _TYPE + _KINDS.get(family, f"{maker.replace(' ', '').lower()}-{rest.lower()}")


def extension(mime: str) -> str:
    """Return the extension of a type that stands above, else nothing."""
    return mime.rpartition("-")[2] if mime.startswith(_TYPE) else ""
