# ruff: noqa: DTZ001 -- taken dates are wall time, without a zone by design.

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from PIL import Image

from appliance.media import decoding, lengths, reading, video
from appliance.media.reasons import Reason
from appliance.media.wire import Decoded
from tests.media import make
from tests.media.conftest import Import, Refuse


Shown = Callable[..., Image.Image]


@pytest.mark.parametrize(
    ("container", "codec"),
    [("mp4", "libx264"), ("mov", "libx264"), ("mkv", "libx264"), ("webm", "libvpx-vp9"), ("avi", "mpeg4"),
     ("mpegts", "libx264"), ("flv", "flv"), ("asf", "mpeg4")],
)  # fmt: skip
async def test_a_film_has_size_length_and_a_poster(
    decode: Import, shown: Shown, container: str, codec: str
) -> None:
    decoded = await decode(make.film(container, codec=codec))
    assert (decoded.kind, decoded.width, decoded.height, decoded.flags) == ("video", 64, 32, [])
    assert decoded.duration_s == pytest.approx(3.0, abs=0.15)
    assert shown().size == (64, 32)


@pytest.mark.parametrize("container", ["mpegts", "mkv", "mp4"])
async def test_a_film_with_a_single_key_frame_has_a_poster(
    decode: Import, shown: Shown, container: str
) -> None:
    decoded = await decode(make.film(container, count=9, gop=100, metadata={"title": "short"}))
    assert decoded.duration_s == pytest.approx(0.9, abs=0.11)
    assert shown().size == (64, 32)


async def test_a28_a_film_that_begins_black_has_a_poster_that_shows_something(
    decode: Import, shown: Shown
) -> None:
    await decode(make.film(count=30, black=12))
    assert shown().convert("RGB").getpixel((8, 4))[0] > 150  # type: ignore[index]


async def test_a_film_that_is_black_until_late_is_searched(decode: Import, shown: Shown) -> None:
    await decode(make.film(count=100, black=75, gop=10))
    assert shown().convert("RGB").getpixel((8, 4))[0] > 150  # type: ignore[index]


async def test_a_black_film_has_a_black_poster(decode: Import, shown: Shown) -> None:
    assert (await decode(make.film(count=10, black=10))).duration_s == pytest.approx(1.0, abs=0.1)
    assert shown().size == (64, 32)


async def test_a31_sound_without_video_is_no_video(refuse: Refuse) -> None:
    failure = await refuse(make.film(audio=True, video=False))
    assert failure.reason is Reason.NO_VIDEO_STREAM


async def test_a32_half_an_mp4_without_its_index_is_corrupt(refuse: Refuse) -> None:
    data = make.film()
    failure = await refuse(data[: len(data) // 2])
    assert failure.reason is Reason.CORRUPT
    assert failure.detail.startswith("the end of the film is missing")


async def test_a32_half_a_matroska_film_is_usable_and_flagged(decode: Import) -> None:
    data = make.film("mkv", count=90, size=(160, 120))
    decoded = await decode(data[: len(data) // 2])
    assert decoded.flags == ["truncated"]
    assert 0.5 < (decoded.duration_s or 0) < 7.0


async def test_an_mp4_whose_end_is_missing_is_usable_and_flagged(decode: Import) -> None:
    data = make.film(count=90, size=(160, 120), options={"movflags": "faststart"})
    assert data.index(b"moov") < data.index(b"mdat")
    decoded = await decode(data[: len(data) * 3 // 4])
    assert decoded.flags == ["truncated"]
    assert 0.5 < (decoded.duration_s or 0) < 8.9


async def test_a_fragmented_mp4_has_its_whole_length(decode: Import) -> None:
    data = make.film(count=60, options={"movflags": "frag_keyframe+empty_moov"})
    decoded = await decode(data)
    assert decoded.duration_s == pytest.approx(6.0, abs=0.2)
    assert decoded.flags == []


async def test_a_film_without_any_announced_length_is_measured(decode: Import) -> None:
    data = bytearray(make.film("mkv"))
    at = data.index(b"\x44\x89\x88")
    data[at : at + 2] = b"\xec\x89"  # the duration becomes a void element
    assert (await decode(bytes(data))).duration_s == pytest.approx(3.0, abs=0.2)


@pytest.mark.parametrize(("told", "container"), [(True, "mkv"), (False, "mkv"), (True, "mpegts")])
def test_a_walk_that_gives_up_is_not_the_end(tmp_path: Path, told: bool, container: str) -> None:
    data = bytearray(make.film(container, count=60))
    if not told:
        at = data.index(b"\x44\x89\x88")
        data[at : at + 2] = b"\xec\x89"
    (tmp_path / "film").write_bytes(data)
    source = reading.open_source(bytes(tmp_path / "film"), None)
    try:
        with video.opened(source) as film:
            length = lengths.measured(source, film, video.picture_stream(film), patience=-1.0)
    finally:
        source.close()
    assert length.seconds == (pytest.approx(6.0, abs=0.2) if told else None)
    assert (length.truncated, length.unmeasured) == (False, not told)


async def test_a_transport_stream_whose_codec_has_no_letters_is_shown(decode: Import) -> None:
    decoded = await decode(make.with_stream_type(make.film("mpegts"), 0xF0))
    assert (decoded.facts["video_codec"], decoded.width) == ("h264", 64)


@pytest.mark.parametrize(("turn", "size", "red"), [
    (0, (64, 32), (4, 4)), (90, (32, 64), (4, 60)), (180, (64, 32), (60, 28)), (-90, (32, 64), (28, 4)),
])  # fmt: skip
async def test_a_turned_film_is_shown_upright(
    decode: Import, shown: Shown, turn: int, size: tuple[int, int], red: tuple[int, int]
) -> None:
    decoded = await decode(make.film(turn=turn))
    assert (decoded.width, decoded.height) == size
    assert shown().size == size
    assert shown().convert("RGB").getpixel(red)[0] > 150  # type: ignore[index]


async def test_pixels_that_are_not_square_are_made_square(decode: Import, shown: Shown) -> None:
    decoded = await decode(make.film(aspect=(2, 1)))
    assert (decoded.width, decoded.height) == (128, 32)
    assert shown().size == (128, 32)


async def test_sound_longer_than_the_film_does_not_count(decode: Import) -> None:
    decoded = await decode(make.film(count=20, audio=True))
    assert decoded.duration_s == pytest.approx(2.0, abs=0.1)
    assert decoded.facts["audio_codec"] == "aac"


async def test_the_container_date_is_kept_with_its_offset(decode: Import) -> None:
    decoded = await decode(make.film(metadata={"creation_time": "2019-07-09T21:04:05.000000Z"}))
    assert decoded.taken_at == datetime(2019, 7, 9, 21, 4, 5)
    assert (decoded.taken_offset, decoded.date_source) == (0, "container")
    assert any("UTC" in note for note in decoded.notes)


async def test_a43_the_epoch_of_a_container_is_no_date(decode: Import) -> None:
    decoded = await decode(make.film(metadata={"creation_time": "1904-01-01T00:00:00.000000Z"}))
    assert (decoded.taken_at, decoded.date_source) == (None, None)


async def test_a_number_of_frames_that_no_film_can_have_is_unknown_and_said_so(decode: Import) -> None:
    film = bytearray(make.film())
    times = film.index(b"stts") + 12
    film[times : times + 8] = struct.pack(">II", 2**31, 2**31 - 1)

    decoded = await decode(bytes(film))
    assert decoded.frames is None
    assert any("impossible" in note for note in decoded.notes)


def test_a_length_that_no_film_can_have_is_unknown_and_said_so() -> None:
    def after(seconds: float) -> Decoded:
        decoded = Decoded(kind="video", mime="video/mp4", width=1, height=1, frames=3, duration_s=seconds)
        decoding._drop_impossible(decoded)
        return decoded

    assert [after(seconds).duration_s for seconds in (9e15, -1.0, math.inf, math.nan)] == [None] * 4
    assert (after(86_400.0).duration_s, after(86_400.0).notes) == (86_400.0, [])
    assert len(after(9e15).notes) == 1


@pytest.mark.parametrize(
    "content", [b"ffconcat version 1.0\nfile other.ts\n", b"#EXTM3U\n#EXTINF:1,\nother.ts\n"]
)
async def test_playlists_never_reach_the_demuxer(refuse: Refuse, content: bytes) -> None:
    assert (await refuse(content, "film.mp4")).reason is Reason.NOT_MEDIA


@pytest.mark.parametrize("content", [
    b"\0\0\0\x20ftypisom\0\0\2\0isomiso2avc1mp41" + bytes(200),
    b"\x1aE\xdf\xa3\x93B\x82\x88matroska" + bytes(200),
    b"RIFF\xff\xff\xff\x7fAVI LIST" + bytes(200),
    b"\0\0\1\xba" + bytes(3000),
    (b"G" + bytes(187)) * 20,
    b"FLV\1\5\0\0\0\x09" + bytes(300),
    b"0&\xb2u\x8ef\xcf\x11\xa6\xd9\0\xaa\0b\xcel" + bytes(300),
])  # fmt: skip
async def test_nonsense_behind_a_good_beginning_fails_with_a_class(refuse: Refuse, content: bytes) -> None:
    assert (await refuse(content)).reason in (Reason.CORRUPT, Reason.NO_VIDEO_STREAM)
