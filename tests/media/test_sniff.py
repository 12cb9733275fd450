from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.media.sniff import HEAD, Family, sniff
from tests.media import make


PICTURE = make.corner()

TEXTS = {
    "html": b"<!DOCTYPE html><html><body><svg></svg></body></html>",
    "playlist": b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
    "ffconcat": b"ffconcat version 1.0\nfile real.ts\n",
    "text": b"BMW drives well, and GIF is a word.",
    "xmp": b"<?xpacket begin=''?><x:xmpmeta xmlns:x='adobe:ns:meta/'/>",
    "json": b'{"category": "booru"}',
    "zeros": bytes(4096),
}

UNSUPPORTED = {
    "SVG drawing": b"<?xml version='1.0'?>\n<!-- x -->\n<svg xmlns='http://www.w3.org/2000/svg'/>",
    "Photoshop document": b"8BPS\0\x01" + bytes(40),
    "GIMP document": b"gimp xcf v011\0",
    "PDF document": b"%PDF-1.7\n",
    "EPS drawing": b"\xc5\xd0\xd3\xc6" + bytes(40),
    "PostScript drawing": b"%!PS-Adobe-3.0 EPSF-3.0\n",
    "Flash (SWF)": b"CWS\x09" + bytes(40),
    "FLI animation": struct.pack("<IH", 128, 0xAF12) + bytes(122),
    "SGI picture": b"\x01\xda\x01\x01" + bytes(60),
    "Windows icon": b"\0\0\x01\0\x01\0\x10\x10\0\0" + bytes(20),
    "MP3 audio": b"ID3\x04" + bytes(40),
    "MPEG-4 audio": b"\0\0\0\x1cftypM4A \0\0\0\0M4A mp42isom\0\0\0\0",
    "Ogg audio": b"OggS\0\x02" + bytes(22) + b"\x01\x1e\x01vorbis" + bytes(20),
    "WAV audio": b"RIFF\x24\0\0\0WAVEfmt ",
    "QOI picture": b"qoif" + bytes(20),
}


RAWS = {
    "Canon CR2 raw photo": b"II*\0\x10\0\0\0CR\x02\0" + bytes(40),
    "Canon CR3 raw photo": b"\0\0\0\x18ftypcrx \0\0\0\x01crx isom",
    "Olympus ORF raw photo": b"IIRO\x08\0\0\0" + bytes(40),
    "Panasonic RW2 raw photo": b"IIU\0\x18\0\0\0" + bytes(40),
    "Fujifilm RAF raw photo": b"FUJIFILMCCD-RAW 0201" + bytes(40),
}


def directory(*entries: tuple[int, int, int, int]) -> bytes:
    """A little-endian TIFF with one directory."""
    body = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(entries)) + body + bytes(4) + b"NIKON CORPORATION\0"


@pytest.mark.parametrize(("name", "format_"), make.FORMATS.items())
def test_a_picture_is_known_by_its_content(name: str, format_: str) -> None:
    data = make.saved(PICTURE, format_)
    found = sniff(data[:HEAD], len(data))
    assert found.family in (Family.STILL, Family.ANIMATION_OR_STILL)
    assert found.extension == name


@pytest.mark.parametrize(
    ("format_", "mime"),
    [("GIF", "image/gif"), ("TIFF", "image/tiff"), ("BMP", "image/bmp"), ("JPEG2000", "image/jp2")],
)
def test_older_picture_formats_are_known(format_: str, mime: str) -> None:
    data = make.saved(PICTURE, format_)
    assert sniff(data[:HEAD], len(data)).mime == mime


@pytest.mark.parametrize(
    ("container", "codec", "mime"),
    [
        ("mp4", "libx264", "video/mp4"),
        ("mov", "libx264", "video/quicktime"),
        ("mkv", "libx264", "video/x-matroska"),
        ("webm", "libvpx-vp9", "video/webm"),
        ("avi", "mpeg4", "video/x-msvideo"),
        ("mpegts", "libx264", "video/mp2t"),
        ("flv", "flv", "video/x-flv"),
        ("asf", "mpeg4", "video/x-ms-asf"),
        ("ogg", "libtheora", "video/ogg"),
    ],
)
def test_a_video_is_known_by_its_content(container: str, codec: str, mime: str) -> None:
    try:
        data = make.film(container, codec=codec, count=10)
    except ValueError:
        # Not every build of FFmpeg can write Theora; its first page is enough to be recognised.
        data = b"OggS\0\x02" + bytes(22) + b"\x01\x2a\x80theora\x03\x02\x01" + bytes(40)
    found = sniff(data[:HEAD], len(data))
    assert (found.family, found.mime) == (Family.VIDEO, mime)


@pytest.mark.parametrize("content", TEXTS.values(), ids=TEXTS.keys())
def test_what_is_not_media_is_none(content: bytes) -> None:
    assert sniff(content, len(content)).family is Family.NONE


def test_an_archive_may_hold_pages() -> None:
    assert sniff(b"PK\x03\x04" + bytes(60), 64).family is Family.ARCHIVE


@pytest.mark.parametrize(("name", "content"), UNSUPPORTED.items(), ids=UNSUPPORTED.keys())
def test_media_that_cannot_be_shown_is_named(name: str, content: bytes) -> None:
    found = sniff(content, len(content))
    assert (found.family, found.name) == (Family.UNSUPPORTED, name)


@pytest.mark.parametrize(("name", "content"), RAWS.items(), ids=RAWS.keys())
def test_a_raw_photo_is_named_by_its_family(name: str, content: bytes) -> None:
    found = sniff(content, len(content))
    assert (found.format, found.name) == ("raw", name)
    assert found.mime == f"image/x-{name.partition(' ')[0].lower()}-{found.extension}"


def test_a_raw_photo_is_not_mistaken_for_tiff() -> None:
    nef = directory((0xFE, 4, 1, 1), (0x10F, 2, 18, 58), (0x14A, 4, 1, 200))
    dng = directory((0xFE, 4, 1, 0), (0x100, 4, 1, 10), (0xC612, 1, 4, 0x0401))
    nef = nef[:-18] + bytes(58 - len(nef) + 18) + b"NIKON CORPORATION\0"
    assert sniff(nef, len(nef)).name == "Nikon NEF raw photo"
    assert sniff(dng, len(dng)).name == "DNG raw photo"


def test_a16_content_decides_against_the_name() -> None:
    jpeg, png = make.saved(PICTURE, "JPEG"), make.saved(PICTURE, "PNG")
    assert sniff(jpeg, len(jpeg)).mime == "image/jpeg"
    assert sniff(png, len(png)).mime == "image/png"


@given(st.binary(max_size=300))
def test_any_bytes_have_an_answer(content: bytes) -> None:
    assert isinstance(sniff(content, len(content)).family, Family)


@given(
    st.sampled_from([b"\0\0\0\x20ftyp", b"II*\0", b"MM\0*", b"RIFF", b"OggS", b"BM", b"\x1aE\xdf\xa3"]),
    st.binary(max_size=100),
)
def test_known_beginnings_with_any_rest_have_an_answer(start: bytes, rest: bytes) -> None:
    assert sniff(start + rest, len(start + rest)).name
