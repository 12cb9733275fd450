"""Packets of words for the tests: XMP, IPTC, and the ways in which files carry them."""

from __future__ import annotations

import struct
from xml.sax.saxutils import escape, quoteattr


_NAMES = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "xmp": "http://ns.adobe.com/xap/1.0/",
    "photoshop": "http://ns.adobe.com/photoshop/1.0/",
    "exif": "http://ns.adobe.com/exif/1.0/",
    "lr": "http://ns.adobe.com/lightroom/1.0/",
    "MicrosoftPhoto": "http://ns.microsoft.com/photo/1.0/",
}
EXTENSION = b"http://ns.adobe.com/xmp/extension/\0"
GUID = b"0123456789ABCDEF0123456789ABCDEF"


def xmp(**fields: str | list[str]) -> bytes:
    """A packet with properties named like `dc_subject`; a list becomes a bag."""
    simple, listed = [], []
    for key, value in fields.items():
        name = key.replace("_", ":", 1)
        if isinstance(value, str):
            simple.append(f"{name}={quoteattr(value)}")
        else:
            items = "".join(f"<rdf:li>{escape(each)}</rdf:li>" for each in value)
            listed.append(f"<{name}><rdf:Bag>{items}</rdf:Bag></{name}>")
    spaces = " ".join(f'xmlns:{prefix}="{url}"' for prefix, url in _NAMES.items())
    return (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>'
        '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        f'<rdf:Description rdf:about="" {spaces} {" ".join(simple)}>{"".join(listed)}</rdf:Description>'
        '</rdf:RDF></x:xmpmeta><?xpacket end="w"?>'
    ).encode()


def iptc(*fields: tuple[int, bytes], utf8: bool = False) -> bytes:
    """An IPTC block with numbered fields of its second record."""
    head = _dataset(1, 90, b"\x1b%G") if utf8 else b""
    return head + b"".join(_dataset(2, number, value) for number, value in fields)


def _dataset(record: int, number: int, value: bytes) -> bytes:
    return struct.pack(">BBBH", 0x1C, record, number, len(value)) + value


def with_segment(jpeg: bytes, marker: int, content: bytes) -> bytes:
    """A JPEG with one more segment behind its start."""
    return jpeg[:2] + struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content + jpeg[2:]


def with_iptc(jpeg: bytes, block: bytes) -> bytes:
    """A JPEG that carries an IPTC block as Photoshop writes it."""
    padded = block + b"\0" * (len(block) % 2)
    resource = b"8BIM" + struct.pack(">H", 0x0404) + b"\0\0" + struct.pack(">I", len(block)) + padded
    return with_segment(jpeg, 0xED, b"Photoshop 3.0\0" + resource)


def extended(packet: bytes, *, piece: int = 200) -> list[bytes]:
    """The segments of a packet that does not fit into one."""
    return [
        EXTENSION + GUID + struct.pack(">II", len(packet), at) + packet[at : at + piece]
        for at in range(0, len(packet), piece)
    ]
