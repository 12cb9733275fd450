"""Photos with a film: inside the file as phones write it, or beside it with the same mark."""

from __future__ import annotations

import struct

from PIL import Image

from tests.media import make


PAIR = "6F3A2B10-0C5D-4E7F-9A1B-123456789ABC"

_CONTAINER = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description
 xmlns:Camera="http://ns.google.com/photos/1.0/camera/"
 xmlns:Container="http://ns.google.com/photos/1.0/container/"
 xmlns:Item="http://ns.google.com/photos/1.0/container/item/" Camera:MotionPhoto="1">
<Container:Directory><rdf:Seq>
<rdf:li rdf:parseType="Resource"><Container:Item Item:Mime="image/jpeg" Item:Semantic="Primary"
 Item:Length="0" Item:Padding="0"/></rdf:li>
<rdf:li rdf:parseType="Resource"><Container:Item Item:Mime="video/mp4" Item:Semantic="MotionPhoto"
 Item:Length="{length}" Item:Padding="0"/></rdf:li>
</rdf:Seq></Container:Directory></rdf:Description></rdf:RDF></x:xmpmeta>"""
_MICRO = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description
 xmlns:GCamera="http://ns.google.com/photos/1.0/camera/" GCamera:MicroVideo="1"
 GCamera:MicroVideoOffset="{length}"/></rdf:RDF></x:xmpmeta>"""


def photo(xmp: str = "", *, exif: bytes | Image.Exif | None = None, seed: int = 40) -> bytes:
    """A JPEG with a red corner."""
    picture = make.corner((seed * 2, seed))
    return make.saved(picture, "JPEG", xmp=xmp.encode(), **({"exif": exif} if exif else {}))


def google(film: bytes) -> bytes:
    """The film behind the picture, its length in a directory of items."""
    return photo(_CONTAINER.format(length=len(film))) + film


def google_before(film: bytes) -> bytes:
    """The same as older phones say it."""
    return photo(_MICRO.format(length=len(film))) + film


def samsung(film: bytes) -> bytes:
    """The film in a block of the trailer, whose directory comes last."""
    name = b"MotionPhoto_Data"
    block = struct.pack("<HHI", 0, 0x0A30, len(name)) + name + film
    directory = b"SEFH" + struct.pack("<II", 106, 1) + struct.pack("<HHII", 0, 0x0A30, len(block), len(block))
    return photo() + block + directory + struct.pack("<I", len(directory)) + b"SEFT"


def heic(film: bytes) -> bytes:
    """The film in a box of its own."""
    return make.saved(make.corner((80, 40)), "HEIF") + struct.pack(">I", 8 + len(film)) + b"mpvd" + film


def apple_still(pair: str = PAIR, *, format_: str = "JPEG", seed: int = 40) -> bytes:
    """A photo of an iPhone, with the mark that its film bears too."""
    mark = pair.encode() + b"\0"
    # Offsets count from the beginning of the note: header, one entry, no next directory, the mark.
    note = b"Apple iOS\0\0\1MM" + struct.pack(">HHHII", 1, 0x0011, 2, len(mark), 32) + bytes(4) + mark
    block = Image.Exif()
    block.get_ifd(0x8769)[0x927C] = note
    return make.saved(make.corner((seed * 2, seed)), format_, exif=block.tobytes())


def apple_film(pair: str = PAIR, **options: object) -> bytes:
    """The film of an iPhone's photo."""
    return make.film(
        "mov",
        metadata={"com.apple.quicktime.content.identifier": pair},
        options={"movflags": "use_metadata_tags"},
        **options,  # type: ignore[arg-type]
    )
