# ruff: noqa: DTZ001 -- taken dates are wall time, without a zone by design.

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from appliance.media import dates, said
from tests.media import make
from tests.media.conftest import Import


def jpeg(block: Image.Exif | bytes) -> bytes:
    return make.saved(make.corner(), "JPEG", exif=block)


async def test_camera_facts_are_read(decode: Import) -> None:
    block = make.exif(
        make="Cam", model="One", iso=200, f_number=IFDRational(28, 10), exposure=IFDRational(1, 125),
        original="2023:07:09 23:04:05", offset="+08:00", fraction="25",
    )  # fmt: skip
    decoded = await decode(jpeg(block))
    assert decoded.taken_at == datetime(2023, 7, 9, 23, 4, 5, 250000)
    assert (decoded.taken_offset, decoded.date_source) == (480, "exif")
    assert decoded.facts == {
        "make": "Cam",
        "model": "One",
        "iso": 200,
        "f_number": 2.8,
        "exposure": "1/125 s",
    }


async def test_a41_one_bad_field_does_not_cost_the_others(decode: Import) -> None:
    block = make.raw_exif(
        {0x10E: (2, b"bad\0desc\0"), 0x10F: (2, b"Cam\0")},
        {0x8827: (2, b"{500}\0"), 0x829D: (5, bytes(8))},
        {2: (2, b"\0"), 4: (2, b"\0")},
    )
    decoded = await decode(jpeg(block))
    assert decoded.facts == {"make": "Cam", "description": "baddesc"}
    assert any("iso" in note for note in decoded.notes)
    assert any("zero byte" in note for note in decoded.notes)
    assert any("GPS" in note for note in decoded.notes)


async def test_a41_a_field_that_points_outside_does_not_end_the_directory(decode: Import) -> None:
    block = bytearray(make.raw_exif({0x10E: (2, b"description\0"), 0x10F: (2, b"Camera maker\0")}))
    at = block.index(struct.pack("<HHI", 0x10E, 2, 12)) + 8
    block[at : at + 4] = struct.pack("<I", 60_000)
    decoded = await decode(jpeg(bytes(block)))
    assert decoded.facts == {"make": "Camera maker"}
    assert "1 EXIF field points outside of the block" in decoded.notes


async def test_a_position_is_read_with_its_hemisphere(decode: Import) -> None:
    block = Image.Exif()
    block.get_ifd(0x8825).update({1: "S", 2: (33.0, 30.0, 0.0), 3: "E", 4: (151.0, 12.0, 36.0)})
    decoded = await decode(jpeg(block))
    assert (decoded.facts["latitude"], decoded.facts["longitude"]) == (-33.5, 151.21)


async def test_a_position_of_exactly_zero_is_no_position(decode: Import) -> None:
    block = Image.Exif()
    block.get_ifd(0x8825).update({1: "N", 2: (0.0, 0.0, 0.0), 3: "E", 4: (0.0, 0.0, 0.0)})
    assert "latitude" not in (await decode(jpeg(block))).facts


async def test_damaged_exif_costs_only_itself(decode: Import) -> None:
    decoded = await decode(jpeg(b"Exif\0\0MM\0*\0\0\0\x08\xff\xff" + bytes(64)))
    assert (decoded.width, decoded.taken_at) == (40, None)


@pytest.mark.parametrize(
    "text",
    ["0000:00:00 00:00:00", "2023:13:45 00:00:00", "9999:12:31 23:59:59", "1904:01:01 00:00:00",
     "2023:07:09 24:00:00", "    :  :     :  :  ", "2023:07:09 15:08:70", "yesterday", "\0"],
)  # fmt: skip
async def test_a43_an_impossible_date_is_no_date(decode: Import, text: str) -> None:
    decoded = await decode(jpeg(make.exif(original=text)))
    assert (decoded.taken_at, decoded.date_source) == (None, None)


async def test_a43_the_next_date_field_is_used(decode: Import) -> None:
    block = make.exif(
        original="0000:00:00 00:00:00", digitized="2001:02:03 04:05:06", date_time="2002:01:01 00:00:00"
    )
    assert (await decode(jpeg(block))).taken_at == datetime(2001, 2, 3, 4, 5, 6)


def test_a43_dates_in_the_far_future_are_dropped_and_next_year_is_not() -> None:
    year = datetime.now(UTC).year
    assert dates.parse(f"{year + 2}:06:01 00:00:00") is None
    assert dates.parse(f"{year}:01:01 00:00:00") is not None


TAKEN = """
import sys
from appliance.media import decoding, opening, reading
from appliance.media.limits import Limits
opening.prepare(Limits())
found = decoding.decode(reading.open_source(sys.argv[1].encode(), None), [], Limits())
print(found.taken_at, found.taken_offset)
"""


@pytest.mark.parametrize("zone", ["Asia/Taipei", "UTC", "America/Los_Angeles"])
@pytest.mark.parametrize("format_", ["JPEG", "HEIF"])
def test_a44_wall_time_does_not_shift_with_the_zone_of_the_machine(
    tmp_path: Path, zone: str, format_: str
) -> None:
    data = make.saved(make.corner(), format_, exif=make.exif(original="2023:07:09 23:04:00"))
    (tmp_path / "a").write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", TAKEN, tmp_path / "a"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TZ": zone, "PYTHONPATH": os.getcwd()},
    )
    assert done.stdout.strip() == "2023-07-09 23:04:00 None"


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        (b"IMG_20230709_151233.jpg", datetime(2023, 7, 9, 15, 12, 33)),
        (b"PXL_20230709_151233456.jpg", datetime(2023, 7, 9, 15, 12, 33)),
        (b"PXL_20230709_151233456.NIGHT.jpg", datetime(2023, 7, 9, 15, 12, 33)),
        (b"VID-20230709-151233.mp4", datetime(2023, 7, 9, 15, 12, 33)),
        (b"2023-07-09 15.12.33.jpg", datetime(2023, 7, 9, 15, 12, 33)),
        (b"2023-07-09_15-12-33.png", datetime(2023, 7, 9, 15, 12, 33)),
        (b"Screenshot_20230709-151233_Firefox.png", datetime(2023, 7, 9, 15, 12, 33)),
        (b"Screenshot 2023-07-09 at 15.12.33.png", datetime(2023, 7, 9, 15, 12, 33)),
        (b"WhatsApp Image 2023-07-09 at 15.12.33.jpeg", datetime(2023, 7, 9, 15, 12, 33)),
        (b"IMG-20230709-WA0001.jpg", datetime(2023, 7, 9)),
        (b"signal-2023-07-09-151233.jpg", datetime(2023, 7, 9, 15, 12, 33)),
        (b"20230709.jpg", datetime(2023, 7, 9)),
        (b"2023-07-09.jpg", datetime(2023, 7, 9)),
        (b"folder 20010101/IMG_20230709_151233.jpg", datetime(2023, 7, 9, 15, 12, 33)),
        (b"dr\xe9_20230709_151233.jpg", datetime(2023, 7, 9, 15, 12, 33)),
        (b"IMG_20231309_151233.jpg", None),
        (b"IMG_20230230_151233.jpg", None),
        (b"DSC01234.jpg", None),
        (b"120230709151233.jpg", None),
        (b"1234567890123.jpg", None),
        (b"", None),
    ],
)
def test_dates_are_read_from_file_names(name: bytes, moment: datetime | None) -> None:
    assert dates.from_name(name) == moment


@given(st.binary(max_size=80))
def test_no_file_name_breaks_the_reader(name: bytes) -> None:
    found = dates.from_name(name)
    assert found is None or found.year >= 1900


@given(st.text(alphabet="0123456789:+-TZ. ", max_size=40))
def test_no_text_breaks_the_date_parser(text: str) -> None:
    found = dates.parse(text)
    assert found is None or found[0].tzinfo is None


@given(st.one_of(st.text(), st.binary(), st.lists(st.integers()).map(tuple), st.floats(), st.none()))
def test_any_value_becomes_text_that_a_database_accepts(value: object) -> None:
    text = said.as_text(value)
    assert "\0" not in text
    assert text.encode("utf-8").decode("utf-8") == text
    assert len(text) <= said.MAX_TEXT


@pytest.mark.parametrize(
    ("marker", "segment"),
    [
        (0xED, b"Photoshop 3.0\x008BIM\x04\x04"),
        (0xED, b"Photoshop 3.0\x008BIM\x04"),
        (0xE0, b"JFIF\0"),
        (0xEE, b"Adobe"),
    ],
)
async def test_a_segment_that_breaks_off_never_costs_the_picture(
    decode: Import, marker: int, segment: bytes
) -> None:
    whole = make.saved(make.corner(), "JPEG")
    piece = bytes((0xFF, marker)) + (len(segment) + 2).to_bytes(2, "big") + segment
    decoded = await decode(whole[:2] + piece + whole[2:])
    assert (decoded.kind, decoded.width, decoded.height) == ("still", 40, 20)


def chunk(kind: bytes, body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")


MANY_WORDS = zlib.compress(b"a" * (1 << 20))


@pytest.mark.parametrize(
    "words",
    [
        chunk(b"zTXt", b"parameters\0\0" + zlib.compress(b"a" * (2 << 20))),
        chunk(b"iTXt", b"workflow\0\1\0\0\0" + zlib.compress(b"a" * (2 << 20))),
        chunk(b"zTXt", b"parameters\0\1" + MANY_WORDS),
        b"".join(chunk(b"zTXt", b"%d\0\0" % n + MANY_WORDS) for n in range(70)),
    ],
    ids=["packed", "international", "by an unknown method", "together"],
)
async def test_too_many_words_in_a_png_never_cost_the_picture(decode: Import, words: bytes) -> None:
    whole = make.saved(make.corner(), "PNG")
    after_header = 8 + 25
    decoded = await decode(whole[:after_header] + words + whole[after_header:])
    assert (decoded.kind, decoded.width, decoded.height) == ("still", 40, 20)
    assert decoded.flags == []


@pytest.mark.parametrize(("reference", "height"), [(b"\0", 430.5), (b"\1", -430.5)])
async def test_what_lies_below_the_sea_is_shown_below_it(
    decode: Import, reference: bytes, height: float
) -> None:
    side = struct.pack("<6I", 31, 1, 33, 1, 0, 1)
    place = {1: (2, b"N\0"), 2: (5, side), 3: (2, b"E\0"), 4: (5, side), 5: (1, reference),
             6: (5, struct.pack("<2I", 4305, 10))}  # fmt: skip
    data = make.saved(make.corner(), "JPEG", exif=make.raw_exif({}, {}, place))
    assert (await decode(data)).facts["altitude"] == height
