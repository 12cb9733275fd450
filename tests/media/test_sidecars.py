"""Files beside files: what downloaders, editors and people write, understood in the decode child."""

# ruff: noqa: DTZ001 -- taken dates are wall time, without a zone by design.

from __future__ import annotations

import json
import tempfile
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.media import posts, sidecars
from appliance.media.decoder import DecodePool
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import Described, DescribeRequest
from tests.media import packets
from tests.media.test_words import WORDS, safe


Describe = Callable[..., Awaitable[Described]]


@pytest.fixture
def describe(pool: DecodePool, tmp_path: Path) -> Describe:
    """Read bytes as a sidecar of a kind, in a real child."""

    async def run(content: bytes, kind: str) -> Described:
        path = tmp_path / f"a.jpg.{kind}"
        path.write_bytes(content)
        async with pool.child() as child:
            return await child.describe(bytes(path), kind)

    return run


async def test_an_xmp_sidecar_says_what_an_editor_wrote(describe: Describe) -> None:
    said = (await describe(WORDS, "xmp")).said
    assert said is not None
    assert (said.title, said.rating) == ("Evening at the lake", 4)
    assert said.tags == [("", "lake"), ("", "evening"), ("", "Bodensee")]


async def test_darktable_keeps_its_own_notes(describe: Describe) -> None:
    packet = packets.xmp(lr_hierarchicalSubject=["darktable|format|nef", "people|Anna"])
    said = (await describe(packet, "xmp")).said
    assert said is not None
    assert said.tags == [("", "Anna")]


async def test_tags_come_by_line_or_comma_with_their_kind(describe: Describe) -> None:
    text = """lake, long evening\r
artist:anna
creator:ben
# a comment
rating:safe

title:At sea
https://example.org/post/1
This is a whole sentence about the picture and no tag
"""
    said = (await describe(b"\xef\xbb\xbf" + text.encode(), "txt")).said
    assert said is not None
    assert said.tags == [("", "lake"), ("", "long evening"), ("", "artist:anna"), ("", "artist:ben")]
    assert (said.title, said.facts) == ("At sea", {"sources": ["https://example.org/post/1"]})


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
async def test_text_is_read_in_the_character_set_that_it_has(describe: Describe, encoding: str) -> None:
    said = (await describe("Zürich\n".encode(encoding), "txt")).said
    assert said is not None
    assert said.tags == [("", "Zürich")]


BOORU = {
    "category": "danbooru",
    "id": 42,
    "tag_string": "1girl hat anna_(series) big_work ben highres",
    "tag_string_general": "1girl hat",
    "tag_string_character": "anna_(series)",
    "tag_string_copyright": "big_work",
    "tag_string_artist": "ben",
    "tag_string_meta": "highres",
    "rating": "s",
    "source": "https://example.org/works/7",
    "created_at": "2023-07-09T23:04:05.000-04:00",
}
POST = {
    "category": "pixiv",
    "title": "夕方",
    "user": {"name": "Anna", "account": "anna", "id": 9},
    "tags": ["湖", "evening"],
    "caption": "Line one<br>line <b>two</b><script>alert(1)</script>",
    "date": "2023-07-09 21:04:05",
    "post_url": "https://example.org/artworks/42",
    "rating": "R-18",
}


async def test_tags_of_a_booru_keep_their_kinds(describe: Describe) -> None:
    said = (await describe(json.dumps(BOORU).encode(), "json")).said
    assert said is not None
    assert sorted(said.tags) == [
        ("artist", "ben"), ("character", "anna_(series)"), ("fandom", "big_work"), ("general", "1girl"),
        ("general", "hat"), ("meta", "highres"), ("rating", "sensitive"),
    ]  # fmt: skip
    assert said.facts == {"category": "danbooru", "id": "42", "sources": ["https://example.org/works/7"]}
    assert (said.taken_at, said.taken_offset) == (datetime(2023, 7, 9, 23, 4, 5), -240)


async def test_a_post_names_its_artist_words_page_and_moment(describe: Describe) -> None:
    said = (await describe(json.dumps(POST).encode(), "json")).said
    assert said is not None
    assert said.title == "夕方"
    assert said.tags == [("artist", "Anna"), ("", "湖"), ("", "evening"), ("rating", "explicit")]
    assert said.facts["artist"] == "Anna"
    assert said.facts["description"].startswith("Line one\nline two")
    assert "<" not in said.facts["description"]
    assert said.facts["sources"] == ["https://example.org/artworks/42"]
    assert (said.taken_at, said.taken_offset) == (datetime(2023, 7, 9, 21, 4, 5), 0)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ({"general": ["a"], "artist": ["b"], "species": ["c"], "invalid": ["d"]},
         [("general", "a"), ("artist", "b"), ("general", "c")]),
        ("one two_three", [("", "one"), ("", "two_three")]),
        ("one, two three", [("", "one"), ("", "two three")]),
        (["#one", {"name": "two"}, 3, None], [("", "one"), ("", "two")]),
        (7, []),
    ],
)  # fmt: skip
def test_tags_come_in_many_shapes(tags: Any, expected: list[tuple[str, str]]) -> None:
    assert posts.said({"tags": tags}).tags == expected


def test_a_takeout_says_words_place_and_moment_but_no_title() -> None:
    found = posts.said(
        {
            "title": "IMG_1.jpg",
            "description": "At sea",
            "photoTakenTime": {"timestamp": "1562706000", "formatted": "9 Jul 2019"},
            "geoData": {"latitude": 52.5, "longitude": 13.25, "altitude": 0.0},
        }
    )
    assert (found.title, found.taken_at, found.taken_offset) == (None, datetime(2019, 7, 9, 21), 0)
    assert found.facts == {"description": "At sea", "latitude": 52.5, "longitude": 13.25}


@pytest.mark.parametrize(
    "address",
    ["javascript:alert(1)", "data:text/html,x", "ftp://example.org/", "https://a b/", "//example.org", "http://",
     "https://example.org/\u202egpj", "https://user:secret@example.org/", 7, None],
)  # fmt: skip
def test_only_plain_addresses_of_the_web_are_sources(address: Any) -> None:
    assert "sources" not in posts.said({"source": address, "post_url": address}).facts


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [(b"{", "json", "not JSON"), (b"[1, 2]", "json", "no post"), (b"[" * 100_000, "json", "not JSON"),
     (b"<a>", "xmp", "XML is damaged"), (b"a\0b", "txt", "not text"),
     (b"\xff\xfe\x00", "json", "not written in UTF-8"), (b'{"a": "\xff"}', "json", "not written in UTF-8")],
)  # fmt: skip
async def test_what_makes_no_sense_says_why(
    describe: Describe, content: bytes, kind: str, words: str
) -> None:
    described = await describe(content, kind)
    assert described.said is None
    assert words in (described.problem or "")


async def test_half_a_sign_costs_itself_alone(describe: Describe) -> None:
    half = "A fox \ud83e"
    fields = ("title", "content", "description", "category", "author", "artist", "post_url", "date", "rating")
    post = dict.fromkeys(fields, half) | {"tags": ["lake", half], "user": {"name": half}, half: half}
    described = await describe(json.dumps(post).encode(), "json")
    assert described.said is not None
    assert (described.said.title or "").startswith("A fox")


@pytest.mark.parametrize("kind", sidecars.KINDS)
async def test_an_emptied_sidecar_says_nothing(describe: Describe, kind: str) -> None:
    described = await describe(b"", kind)
    assert described.said is not None
    assert not described.said.words


async def test_a_sidecar_of_gigabytes_is_not_read(
    describe: Describe, pool: DecodePool, tmp_path: Path
) -> None:
    path = tmp_path / "a.json"
    with path.open("wb") as out:
        out.truncate(3 << 30)
    async with pool.child() as child:
        with pytest.raises(MediaFailure) as caught:
            await child.describe(bytes(path), "json")
    assert caught.value.reason is Reason.TOO_LARGE


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=50),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    ["title", "tags", "tags_artist", "tag_string", "user", "author", "rating", "description", "date",
     "source", "sources", "post_url", "photoTakenTime", "geoData", "category", "id", "created_at", "filename"]
)  # fmt: skip


@given(st.dictionaries(KEYS, JSON, max_size=8))
def test_any_value_in_a_post_gives_safe_words(post: dict[str, Any]) -> None:
    assert safe(posts.said(post))


@given(st.binary(max_size=300), st.sampled_from(sidecars.KINDS))
def test_any_bytes_are_a_sidecar_or_say_why_not(content: bytes, kind: str) -> None:

    with tempfile.NamedTemporaryFile() as out:
        out.write(content)
        out.flush()
        described = sidecars.describe(DescribeRequest(out.name.encode(), kind))
    assert described.problem if described.said is None else safe(described.said)
