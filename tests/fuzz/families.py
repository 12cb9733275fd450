"""The families of input: sound files to begin with, made here and, where it lies, from the corpus."""

from __future__ import annotations

import functools
import itertools
import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from appliance.media.sniff import HEAD, sniff
from tests.fuzz import numbers
from tests.fuzz.breaking import Numbers, broken
from tests.media import make, zips
from tests.media_files import jpeg


CORPUS = os.environ.get("VITRINE_TEST_CORPUS", "")
_LARGEST = 120_000
"""Of a file from the corpus: what is broken in it is as broken in a smaller one, and takes less time."""
_FILMS = frozenset({".mp4", ".mkv", ".webm", ".avi", ".ts", ".mpg", ".wmv", ".flv", ".ogv"})


class Family(NamedTuple):
    """Inputs of one kind."""

    name: str
    extension: str
    numbers: Numbers
    bases: Callable[[], Sequence[bytes]]
    wrap: Callable[[bytes, int], bytes] = lambda part, _number: part
    """What is broken is a part of the file, which is put into a sound one."""
    beside: str = ""
    """What is broken is a sidecar with this ending, and the picture beside it is sound."""
    comes_in: Callable[[int], bool] = lambda _number: False
    """Whether the picture itself is whole in the input of this number, so that it must come in."""

    @property
    def film(self) -> bool:
        """Whether it can be asked for frames, and made playable."""
        return self.extension in _FILMS

    @staticmethod
    def sound(number: int) -> bytes:
        """The picture beside a broken sidecar."""
        return jpeg(number, size=(16, 16))

    def input(self, seed: int, number: int) -> bytes:
        """The broken file of this number; the same for the same seed."""
        rng = random.Random(f"{seed}/{self.name}/{number}")
        bases = _bases(self.name)
        return self.wrap(broken(rng.choice(bases), rng.choice(bases), self.numbers, rng), number)


@functools.cache
def _bases(name: str) -> tuple[bytes, ...]:
    return tuple(BY_NAME[name].bases())


def _chained(*sources: Callable[[bytes], Iterator[numbers.Number]]) -> Numbers:
    return lambda data: itertools.chain.from_iterable(source(data) for source in sources)


@functools.cache
def _of_corpus() -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    files = sorted(Path(CORPUS).rglob("*")) if CORPUS else []
    for path in files:
        if path.is_file() and path.stat().st_size <= _LARGEST:
            content = path.read_bytes()
            found.setdefault(sniff(content[:HEAD], len(content)).format, []).append(content)
    return found


def _picture(format_: str, sniffed: str, *more: Callable[[], bytes]) -> Callable[[], Sequence[bytes]]:
    """A few pictures of a format, with what the tests of the format know as odd."""

    def bases() -> Sequence[bytes]:
        exif = make.exif(make="Acme", orientation=6, original="2021:05:06 07:08:09")
        made = [make.saved(make.corner(), format_), make.saved(make.corner((300, 200)), format_)]
        if format_ in {"JPEG", "PNG", "WEBP", "AVIF", "TIFF"}:
            made.append(make.saved(make.corner(), format_, exif=exif))
        return [*made, *(each() for each in more), *_of_corpus().get(sniffed, [])]

    return bases


def _film(
    container: str, sniffed: str, codec: str = "libx264", **options: object
) -> Callable[[], Sequence[bytes]]:
    def bases() -> Sequence[bytes]:
        films = [make.film(container, codec=codec, count=12, **options)]  # type: ignore[arg-type]
        if codec not in {"libvpx", "mpeg2video"}:
            # These containers take the sound that is at hand.
            films.append(make.film(container, codec=codec, count=25, audio=True, **options))  # type: ignore[arg-type]
        return [*films, *_of_corpus().get(sniffed, [])]

    return bases


def _gray(mode: str, format_: str, **options: object) -> Callable[[], bytes]:
    return lambda: make.saved(make.corner().convert(mode), format_, **options)


def _exif_blocks() -> Sequence[bytes]:
    wild = {
        tag: (kind, bytes(range(8)) * 3) for tag, kind in ((0x112, 3), (0x132, 2), (0x10F, 2), (0x8298, 1))
    }
    camera = {0x9003: (2, b"2020:01:02 03:04:05\0"), 0x829A: (5, bytes(16)), 0x927C: (1, bytes(64))}
    place = {1: (2, b"N\0"), 2: (5, bytes(24)), 3: (2, b"W\0"), 4: (5, bytes(24)), 6: (5, b"\xff" * 8)}
    made = [make.raw_exif(wild, camera, place), make.raw_exif(wild)]
    full = make.exif(
        make="Acme", model="A\u00e9", original="2021:05:06 07:08:09", iso=100, f_number=2.8, offset="+02:00"
    )
    return [*made, full]


_TIFF = 3


def _always(_number: int) -> bool:
    return True


def _as_exif(block: bytes, number: int) -> bytes:
    """A broken EXIF block in one of the formats that carry one."""
    format_ = ("JPEG", "PNG", "WEBP", "TIFF")[number % 4]  # the last is the block itself
    if format_ == "TIFF":
        return block.removeprefix(b"Exif\0\0")
    if format_ == "JPEG":
        block = block[:65_000]
    return make.saved(make.corner((8, 8)), format_, exif=block)


_XMP = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"
 xmlns:exif="http://ns.adobe.com/exif/1.0/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/"
 xmp:Rating="4" xmp:CreateDate="2021-05-06T07:08:09+02:00" photoshop:DateCreated="2021-05-06"
 exif:GPSLatitude="52,30.5N" exif:GPSLongitude="13,22.5E" exif:GPSAltitude="34/1">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">A title</rdf:li></rdf:Alt></dc:title>
<dc:subject><rdf:Bag><rdf:li>sea</rdf:li><rdf:li>character:someone</rdf:li></rdf:Bag></dc:subject>
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>"""
_XMP_MARK = b"http://ns.adobe.com/xap/1.0/\0"


def _xmp_packets() -> Sequence[bytes]:
    text = _XMP.encode()
    deep = text.replace(b"<dc:title>", b"<rdf:li>" * 5000 + b"<dc:title>")
    laughs = b'<!DOCTYPE a [<!ENTITY b "ha"><!ENTITY c "&b;&b;&b;&b;">]>' + text.replace(
        b"A title", b"&c;&c;"
    )
    return [text, _XMP.encode("utf-16"), deep[:60_000], laughs, text.replace(b'Rating="4"', b'Rating="nan"')]


def _jpeg_with(marker: int, mark: bytes) -> Callable[[bytes, int], bytes]:
    def wrap(part: bytes, _number: int) -> bytes:
        body = (mark + part)[:65_000]
        whole = make.saved(make.corner((8, 8)), "JPEG")
        return whole[:2] + bytes((0xFF, marker)) + (len(body) + 2).to_bytes(2, "big") + body + whole[2:]

    return wrap


def _iptc_blocks() -> Sequence[bytes]:
    def record(number: int, value: bytes) -> bytes:
        return bytes((0x1C, 2, number)) + len(value).to_bytes(2, "big") + value

    fields = {5: b"A title", 25: b"sea", 55: b"20210506", 60: b"070809+0200", 80: b"Someone", 120: b"Words"}
    iim = b"\x1c\x01\x5a\0\x03\x1b%G" + b"".join(record(n, v) for n, v in fields.items())
    bim = b"8BIM\x04\x04\0\0" + len(iim).to_bytes(4, "big") + iim
    return [bim, b"8BIM\x04\x0c\0\0\0\0\0\0" + bim, b"8BIM\x04\x04\0\0" + (70_000).to_bytes(4, "big") + iim]


_IPTC = numbers.marked(b"8BIM", b"\x1c\x02", width=2, order="big", skip=1, count=3)


def _animation(format_: str) -> Callable[[], bytes]:
    return lambda: make.animated(format_, [100, 0, 40, 70])


_COMIC = b"""<?xml version="1.0"?><ComicInfo><Title>A comic</Title><Series>Row</Series><Number>3</Number>
<Year>2020</Year><Month>2</Month><Day>30</Day>
<Tags>sea, sun</Tags><Characters>Anna</Characters></ComicInfo>"""


def _archives() -> Sequence[bytes]:
    comic = zips.comic(3, ComicInfo__xml=_COMIC)
    plan = b'{"frames": [{"file": "1.jpg", "delay": 60}, {"file": "2.jpg", "delay": 1e308}]}'
    packed = zips.comic(4, packed=True, ComicInfo__xml=_COMIC * 50)
    inner = zips.zipped(
        {"a/1.cbz": comic, "a/2.png": make.saved(make.corner(), "PNG"), "b/../../3.jpg": b"\xff\xd8\xff"}
    )
    behind = bytes(range(1, 201)) * 2 + comic
    return [comic, packed, zips.comic(2, animation__json=plan), inner, behind]


def _posts() -> Sequence[bytes]:
    post = {
        "category": "booru",
        "id": 123,
        "tags": ["sea", "long evening"],
        "tags_artist": "anna ben",
        "rating": "s",
        "tags_character": {"someone": 1},
        "date": "2021-05-06 07:08:09",
        "title": "A title",
        "description": "<b>Words</b>",
        "url": "https://example.org/post/1",
        "author": {"name": "Anna"},
        "width": 10**30,
        "score": 1.5,
    }
    text = json.dumps(post)
    deep = '{"tags": ' + "[" * 30_000 + "]" * 30_000 + "}"
    numbers_ = text.replace("123", "NaN").replace("1.5", "-1e999")
    return [
        text.encode(),
        deep.encode(),
        numbers_.encode(),
        text.encode("utf-16"),
        json.dumps([post] * 3).encode(),
    ]


def _lines() -> Sequence[bytes]:
    text = "lake, long evening\r\nartist:anna\nrating:safe\n\ntitle:At sea\nhttps://example.org/1\n"
    return [text.encode(), text.encode("utf-16"), "Z\u00fcrich\n".encode("cp1252"), b"a," * 30_000]


FAMILIES: Sequence[Family] = (
    Family(
        "jpeg",
        ".jpg",
        _chained(numbers.jpeg, numbers.tiff),
        _picture(
            "JPEG", "jpeg", _gray("L", "JPEG"), _gray("CMYK", "JPEG"), _gray("RGB", "JPEG", progressive=True)
        ),
    ),
    Family(
        "png",
        ".png",
        numbers.png,
        _picture("PNG", "png", _gray("P", "PNG"), _gray("I;16", "PNG"), _gray("1", "PNG"), _animation("PNG")),
    ),
    Family(
        "gif", ".gif", numbers.gif, _picture("GIF", "gif", _gray("P", "GIF", interlace=1), _animation("GIF"))
    ),
    Family(
        "webp",
        ".webp",
        numbers.riff,
        _picture("WEBP", "webp", _gray("RGBA", "WEBP", lossless=True), _animation("WEBP")),
    ),
    Family("avif", ".avif", numbers.boxes, _picture("AVIF", "avif", _animation("AVIF"))),
    Family("heif", ".heic", numbers.boxes, _picture("HEIF", "heif", _gray("RGBA", "HEIF"))),
    Family(
        "jxl", ".jxl", _chained(numbers.boxes, numbers.head), _picture("JXL", "jxl", _gray("RGBA", "JXL"))
    ),
    Family(
        "tiff",
        ".tif",
        numbers.tiff,
        _picture(
            "TIFF",
            "tiff",
            _gray("1", "TIFF", compression="group4"),
            _gray("CMYK", "TIFF"),
            _gray("RGB", "TIFF", compression="tiff_lzw"),
            _gray("I;16", "TIFF"),
            _gray("RGB", "TIFF", compression="jpeg"),
            _gray("RGB", "TIFF", compression="tiff_deflate"),
        ),
    ),
    Family("bmp", ".bmp", numbers.head, _picture("BMP", "bmp", _gray("P", "BMP"), _gray("1", "BMP"))),
    Family(
        "jpeg2000",
        ".jp2",
        _chained(numbers.boxes, numbers.codestream),
        _picture("JPEG2000", "jpeg2000", _gray("L", "JPEG2000", no_jp2=True), _gray("RGBA", "JPEG2000")),
    ),
    Family("mov", ".mp4", numbers.boxes, _film("mp4", "mov", turn=90)),
    Family(
        "fragments",
        ".mp4",
        numbers.boxes,
        _film("mp4", "-", options={"movflags": "frag_keyframe+empty_moov"}),
    ),
    Family("matroska", ".mkv", numbers.ebml, _film("mkv", "matroska")),
    Family("webm", ".webm", numbers.ebml, _film("webm", "-", codec="libvpx")),
    Family("avi", ".avi", numbers.riff, _film("avi", "avi", codec="mpeg4")),
    Family("mpegts", ".ts", numbers.packets, _film("mpegts", "mpegts")),
    Family("mpeg", ".mpg", numbers.starts, _film("vob", "mpeg", codec="mpeg2video")),
    Family("asf", ".wmv", numbers.objects, _film("asf", "asf", codec="msmpeg4")),
    Family("flv", ".flv", numbers.tags, _film("flv", "flv")),
    Family("ogg", ".ogv", numbers.pages, _film("ogg", "ogg", codec="libvpx")),
    Family("exif", ".jpg", numbers.tiff, _exif_blocks, _as_exif, comes_in=lambda number: number % 4 != _TIFF),
    Family("xmp", ".jpg", numbers.head, _xmp_packets, _jpeg_with(0xE1, _XMP_MARK), comes_in=_always),
    Family("iptc", ".jpg", _IPTC, _iptc_blocks, _jpeg_with(0xED, b"Photoshop 3.0\0"), comes_in=_always),
    Family("zip", ".cbz", numbers.members, _archives),
    Family("json", ".jpg", numbers.head, _posts, beside=".json", comes_in=_always),
    Family("xml", ".jpg", numbers.head, _xmp_packets, beside=".xmp", comes_in=_always),
    Family("txt", ".jpg", numbers.head, _lines, beside=".txt", comes_in=_always),
)
BY_NAME = {family.name: family for family in FAMILIES}
