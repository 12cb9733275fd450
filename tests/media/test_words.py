"""Words inside files: XMP, IPTC and EXIF, each where its format keeps it, and none believed blindly."""

# ruff: noqa: DTZ001 -- taken dates are wall time, without a zone by design.

from __future__ import annotations

import math
import struct
import tempfile
from collections.abc import Iterator
from datetime import datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from appliance.media import filmtags, iptc, metadata, reading, xmp
from appliance.media.said import LONGEST_TAG, LONGEST_TITLE, MOST_KEYWORDS, Said
from tests.media import make, packets
from tests.media.conftest import Import


Fields = dict[int, tuple[int, bytes]]
WORDS = packets.xmp(
    dc_title=["Evening at the lake"],
    dc_subject=["lake", "evening"],
    dc_creator=["Anna Berg"],
    dc_rights=["© Anna Berg"],
    dc_description=["Seen from the pier"],
    lr_hierarchicalSubject=["places|Europe|Bodensee"],
    xmp_Rating="4",
    xmp_Label="Green",
    photoshop_City="Lindau",
    photoshop_DateCreated="2019-08-03T21:15:00+02:00",
    exif_GPSLatitude="47,32.75N",
    exif_GPSLongitude="9,41,2.4E",
)


def plain(format_: str = "JPEG", **options: object) -> bytes:
    return make.saved(make.corner(), format_, **options)


def jpeg2000(packet: bytes) -> bytes:
    uuid = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")
    return plain("JPEG2000") + struct.pack(">I", 8 + 16 + len(packet)) + b"uuid" + uuid + packet


def gif(packet: bytes) -> bytes:
    trailer = bytes([1, *range(255, -1, -1), 0])
    data = plain("GIF")
    return data[:-1] + b"\x21\xff\x0bXMP DataXMP" + packet + trailer + data[-1:]


def png(packet: bytes) -> bytes:
    import zlib

    data, content = plain("PNG"), b"XML:com.adobe.xmp\0\0\0\0\0" + packet
    chunk = struct.pack(">I", len(content)) + b"iTXt" + content
    return data[:33] + chunk + struct.pack(">I", zlib.crc32(chunk[4:])) + data[33:]


CARRIERS = {
    "jpg": lambda p: plain("JPEG", xmp=p),
    "png": png,
    "webp": lambda p: plain("WEBP", xmp=p),
    "avif": lambda p: plain("AVIF", xmp=p),
    "heic": lambda p: plain("HEIF", xmp=p),
    "tiff": lambda p: plain("TIFF", tiffinfo={700: p}),
    "jxl": lambda p: plain("JXL", xmp=p),
    "gif": gif,
    "jp2": jpeg2000,
}


@pytest.mark.parametrize("format_", CARRIERS)
async def test_every_format_says_what_its_packet_says(decode: Import, format_: str) -> None:
    decoded = await decode(CARRIERS[format_](WORDS))

    assert (decoded.title, decoded.rating) == ("Evening at the lake", 4)
    assert [name for _, name in decoded.tags] == ["lake", "evening", "Bodensee"]
    assert (decoded.taken_at, decoded.taken_offset) == (datetime(2019, 8, 3, 21, 15), 120)
    assert decoded.date_source == "exif"
    assert {k: decoded.facts[k] for k in ("artist", "copyright", "description", "label", "city")} == {
        "artist": "Anna Berg",
        "copyright": "© Anna Berg",
        "description": "Seen from the pier",
        "label": "Green",
        "city": "Lindau",
    }
    assert (decoded.facts["latitude"], decoded.facts["longitude"]) == (47.5458333, 9.684)
    assert decoded.notes == []


async def test_words_of_xmp_stand_above_iptc_and_those_above_exif(decode: Import) -> None:
    block = make.exif(description="from exif", make="Cam")
    data = plain("JPEG", exif=block, xmp=packets.xmp(dc_description=["from xmp"], dc_subject=["Lake"]))
    data = packets.with_iptc(data, packets.iptc((120, b"from iptc"), (116, b"iptc rights"), (25, b"lake")))

    decoded = await decode(data)

    assert decoded.facts["description"] == "from xmp"
    assert decoded.facts["copyright"] == "iptc rights"
    assert decoded.facts["make"] == "Cam"
    assert decoded.tags == [("", "Lake")]


async def test_the_date_of_the_camera_stands_above_a_packet_and_that_above_the_last_change(
    decode: Import,
) -> None:
    packet = packets.xmp(photoshop_DateCreated="1999-05-01T10:00:00")
    camera = plain("JPEG", exif=make.exif(original="2001:02:03 04:05:06"), xmp=packet)
    scan = plain("JPEG", exif=make.exif(date_time="2020:01:01 00:00:00"), xmp=packet)

    assert (await decode(camera)).taken_at == datetime(2001, 2, 3, 4, 5, 6)
    assert (await decode(scan)).taken_at == datetime(1999, 5, 1, 10)


async def test_iptc_is_read_in_its_character_set_with_date_and_zone(decode: Import) -> None:
    fields = ((5, "Zürich".encode()), (25, b"news"), (55, b"20070110"), (60, b"231500-0500"))
    decoded = await decode(packets.with_iptc(plain(), packets.iptc(*fields, utf8=True)))
    older = await decode(packets.with_iptc(plain(), packets.iptc((5, "Zürich".encode("cp1252")))))

    assert (decoded.title, older.title) == ("Zürich", "Zürich")
    assert (decoded.taken_at, decoded.taken_offset) == (datetime(2007, 1, 10, 23, 15), -300)
    assert decoded.tags == [("", "news")]


async def test_words_that_windows_writes_are_read(decode: Import) -> None:
    block = make.raw_exif(
        {
            0x9C9B: (1, "Am See\0".encode("utf-16-le")),
            0x9C9E: (1, "lake;evening\0".encode("utf-16-le")),
            0x4746: (3, struct.pack("<H", 3)),
        }
    )
    decoded = await decode(plain("JPEG", exif=block))
    assert (decoded.title, decoded.rating) == ("Am See", 3)
    assert decoded.tags == [("", "lake"), ("", "evening")]


@pytest.mark.parametrize(
    ("field", "value", "stars"),
    [("xmp_Rating", "5", 5), ("xmp_Rating", "4.0", 4), ("xmp_Rating", "0", None), ("xmp_Rating", "-1", None),
     ("xmp_Rating", "99", None), ("xmp_Rating", "nan", None), ("xmp_Rating", "1e400", None),
     ("MicrosoftPhoto_Rating", "99", 5), ("MicrosoftPhoto_Rating", "50", 3),
     ("MicrosoftPhoto_Rating", "1", 1)],
)  # fmt: skip
def test_ratings_are_one_to_five_stars(field: str, value: str, stars: int | None) -> None:
    assert xmp.said(packets.xmp(**{field: value})).rating == stars


async def test_a_packet_in_many_segments_is_joined(decode: Import) -> None:
    data = plain()
    for segment in reversed(packets.extended(WORDS)):
        data = packets.with_segment(data, 0xE1, segment)
    assert (await decode(data)).title == "Evening at the lake"


async def test_an_extension_that_lies_about_its_length_is_no_packet(decode: Import) -> None:
    lie = packets.EXTENSION + packets.GUID + struct.pack(">II", 2**31, 0) + b"<x/>"
    decoded = await decode(packets.with_segment(plain(), 0xE1, lie))
    assert (decoded.title, decoded.width) == (None, 40)


def test_a_packet_that_declares_entities_is_refused() -> None:
    laughs = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 12))
    found = xmp.said(b'<!DOCTYPE x [<!ENTITY l0 "ha">' + laughs + b"]>" + WORDS)
    assert (found.title, found.tags) == (None, [])
    assert any("document type" in note for note in found.notes)


def test_what_stands_before_the_damage_counts() -> None:
    found = xmp.said(WORDS[: WORDS.index(b"</dc:subject>")])
    assert ("", "lake") in found.tags
    assert any("XMP is damaged" in note for note in found.notes)


def test_deep_and_huge_packets_end_early() -> None:
    deep = xmp.said(b"<a>" * 100_000)
    huge = xmp.said(b"<a>" + b" " * xmp.MOST_BYTES + b"</a>")
    assert any("deeply" in note for note in deep.notes)
    assert any("larger than 1 MiB" in note for note in huge.notes)


async def test_many_keywords_are_capped_and_said(decode: Import) -> None:
    packet = packets.xmp(dc_subject=[f"word {n}" for n in range(250)])
    decoded = await decode(plain("JPEG", xmp=packet))
    assert len(decoded.tags) == MOST_KEYWORDS
    assert "100 of 250 keywords became tags" in decoded.notes


async def test_a_film_says_title_keywords_place_and_a_packet(decode: Import) -> None:
    decoded = await decode(
        make.film(metadata={"title": "At sea", "comment": "windy", "location": "+52.5200+013.4050/"})
    )
    assert decoded.title == "At sea"
    assert (decoded.facts["description"], decoded.facts["latitude"]) == ("windy", 52.52)


def test_a_film_with_a_packet_among_its_tags_says_both() -> None:
    found = filmtags.read(
        {"xmp": WORDS.decode(), "com.apple.quicktime.keywords": "boat, sea"}, {"title": "eng"}
    )
    assert found.title == "Evening at the lake"
    assert [name for _, name in found.tags] == ["boat", "sea", "lake", "evening", "Bodensee"]


FIELDS = st.dictionaries(
    st.sampled_from(
        [0x10E, 0x10F, 0x132, 0x4746, 0x4749, 0x9C9B, 0x9C9E, 0x9003, 0x8827, 0x829A, 0x9204, 2, 4, 6]
    ),
    st.tuples(st.sampled_from([1, 2, 3, 4, 5]), st.binary(max_size=40)),
    max_size=6,
)


@pytest.mark.filterwarnings("ignore::UserWarning")
@given(FIELDS, FIELDS, FIELDS)
def test_any_exif_field_is_safe_and_costs_only_itself(main: Fields, detail: Fields, gps: Fields) -> None:
    with tempfile.NamedTemporaryFile() as out:
        out.write(plain("JPEG", exif=make.raw_exif({**main, 0x110: (2, b"Model\0")}, detail, gps)))
        out.flush()
        source = reading.open_source(out.name.encode(), None)
        with Image.open(source.file()) as image:
            found = metadata.of_picture(source, image)
        source.close()
    assert safe(found)
    assert found.facts["model"] == "Model"


TEXTS = st.text(max_size=300)


def safe(found: Said) -> bool:
    """Whether all of it can be stored: real JSON, no zero byte, no half of a surrogate pair."""
    msgspec.json.encode(found)
    assert len(found.title or "") <= LONGEST_TITLE
    assert all(len(name) <= LONGEST_TAG for _, name in found.tags)
    assert found.rating is None or 1 <= found.rating <= 5
    assert found.taken_offset is None or abs(found.taken_offset) <= 14 * 60
    return all(storable(value) for value in values_in(msgspec.to_builtins(found)))


def values_in(value: object) -> Iterator[object]:
    """What a tree of lists and objects holds, names of fields included."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from values_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from values_in(inner)
    else:
        yield value


def storable(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, str) or "\0" not in value


@given(st.dictionaries(st.sampled_from(["xmp_Rating", "exif_GPSLatitude", "photoshop_DateCreated"]), TEXTS))
def test_any_text_in_a_property_gives_safe_facts(values: dict[str, str]) -> None:
    assert safe(xmp.said(packets.xmp(**values)))


@given(st.lists(TEXTS, max_size=5))
def test_any_text_in_a_list_gives_safe_tags(values: list[str]) -> None:
    assert safe(xmp.said(packets.xmp(dc_subject=values, dc_title=values)))


@given(st.binary(max_size=400))
def test_any_bytes_are_a_packet_that_says_nothing_bad(data: bytes) -> None:
    assert safe(xmp.said(data))
    assert safe(iptc.said(data))


@given(st.integers(0, len(WORDS)), st.binary(max_size=20))
def test_any_splice_of_a_packet_is_safe(at: int, data: bytes) -> None:
    assert safe(xmp.said(WORDS[:at] + data + WORDS[at:]))


@given(st.lists(st.tuples(st.integers(0, 255), st.binary(max_size=50)), max_size=10))
def test_any_iptc_field_is_safe(fields: list[tuple[int, bytes]]) -> None:
    assert safe(iptc.said(packets.iptc(*fields)))


@given(
    st.dictionaries(st.sampled_from(["title", "keywords", "location", "creation_time", "xmp", "make"]), TEXTS)
)
def test_any_tag_of_a_film_is_safe(tags: dict[str, str]) -> None:
    assert safe(filmtags.read(tags, tags))
