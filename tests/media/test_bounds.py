"""Words without end: what says too much costs little, and nothing but its own words."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
import pytest
from PIL import TiffImagePlugin

from appliance.media import channel, comicinfo, dates, posts, sidecars, xmp
from appliance.media.said import MOST_READ, MOST_TAGS, Said
from appliance.media.sidecars import describe
from appliance.media.wire import Described, DescribeRequest
from tests.media import make, packets
from tests.media.conftest import Import


Read = Callable[[bytes, str], Described]


@contextmanager
def quickly(seconds: float = 5.0) -> Iterator[None]:
    """What is quadratic takes minutes, what is not takes far less than a second."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


@pytest.fixture
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Read bytes as a sidecar of a kind."""

    def run(content: bytes, kind: str) -> Described:
        path = tmp_path_factory.mktemp("beside") / f"a.jpg.{kind}"
        path.write_bytes(content)
        with quickly():
            return describe(DescribeRequest(bytes(path), kind))

    return run


def test_a_long_text_is_no_list_of_tags(read: Read) -> None:
    words = "\n".join(f"w{number}" for number in range(400_000))
    assert read(words.encode(), "txt").problem == "it is no list of tags"
    blanks = read(b" , " * 1_000_000 + b"lake", "txt").said
    assert blanks is not None
    assert blanks.tags == [("", "lake")]


def test_a_list_of_very_many_tags_gives_some_of_them() -> None:
    found = Said()
    with quickly():
        found.tag(f"t{number}" for number in range(1_000_000))
    found.at_most(MOST_TAGS)
    assert len(found.tags) == MOST_TAGS
    assert found.notes == [f"{MOST_TAGS} of more than {MOST_READ:,} keywords became tags"]


@pytest.mark.parametrize(
    "post",
    [
        {f"tags_{number}": f"t{number % 1599}" for number in range(150_000)},
        {"tags": {f"k{number}": [f"t{number % 1599}"] for number in range(150_000)}},
        {"sources": [f"https://example.org/{number}" for number in range(100_000)]},
        {"date": "2020-01-01" + " " * 3_000_000 + "x"},
    ],
    ids=["keys", "groups", "sources", "blanks"],
)
def test_a_post_of_megabytes_is_read_at_once(read: Read, post: dict[str, object]) -> None:
    assert read(json.dumps(post).encode(), "json").said is not None


def test_sources_are_the_first_few() -> None:
    found = posts.said({"sources": [f"https://example.org/{number}" for number in range(9)]})
    assert found.facts["sources"] == [f"https://example.org/{number}" for number in range(posts.MOST_SOURCES)]


def test_a_date_among_blanks_is_read() -> None:
    with quickly():
        assert dates.parse("2020-01-01" + " " * 1_000_000) is not None


def test_a_comic_says_no_more_than_fits_into_an_answer() -> None:
    text = b"<ComicInfo><Title>T</Title><Summary>" + b"word, " * 150_000 + b"</Summary></ComicInfo>"
    many = b"".join(
        b"<%b>%b</%b>" % (n, b"\n".join(b"%d" % i for i in range(9000)), n) for n in (b"Tags", b"Genre")
    )
    with quickly():
        long, wide = comicinfo.read(text), comicinfo.read(b"<ComicInfo>" + many + b"</ComicInfo>")
    assert long.title == "T"
    assert len(long.facts["summary"]) <= 2000
    assert len(wide.tags) <= MOST_TAGS
    assert len(msgspec.json.encode([long, wide])) < channel.MAX_MESSAGE // 20


def test_a_comic_with_unknown_fields_keeps_the_known() -> None:
    many = b"".join(b"<x%d>%d</x%d>" % (n, n, n) for n in range(20_000))
    found = comicinfo.read(b"<ComicInfo>" + many + b"<Series>Shores</Series><Number>2</Number></ComicInfo>")
    assert (found.title, found.facts) == ("Shores 2", {"series": "Shores", "number": "2"})


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_wide_letters_are_read(read: Read, encoding: str) -> None:
    packet = packets.xmp(dc_subject=["lake"]).decode().replace("\ufeff", "").partition("?>")[2]
    described = read(packet.rpartition("<?")[0].encode(encoding) + "\n".encode(encoding)[-2:], "xmp")
    assert described.problem is None
    assert described.said is not None
    assert described.said.tags == [("", "lake")]


def test_a_sidecar_may_be_larger_than_a_packet_in_a_file(read: Read) -> None:
    packet = packets.xmp(dc_subject=["lake"], dc_description=["x" * 300_000 * 5])
    assert len(packet) > xmp.MOST_BYTES
    said = read(packet, "xmp").said
    assert said is not None
    assert said.tags == [("", "lake")]
    assert len(packet) < sidecars.MOST_BYTES
    assert "larger than 1 MiB" in xmp.said(packet).notes[0]


@pytest.mark.parametrize("kind", [3, 4])
async def test_a_tiff_whose_packet_is_said_to_be_numbers_is_shown(decode: Import, kind: int) -> None:
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    tags.tagtype[700] = kind
    tags[700] = (60_000, 7, 9)
    decoded = await decode(make.saved(make.corner(), "TIFF", tiffinfo=tags))
    assert decoded.width == 40
