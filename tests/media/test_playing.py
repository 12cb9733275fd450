"""Films for browsers: copied where the codecs fit, encoded otherwise, watchable before they are done."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Awaitable, Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest

from appliance.media.decoder import DecodePool
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import Converted, Step
from tests.media import make


Play = Callable[..., Awaitable[Converted]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "play.mp4"


@pytest.fixture
def play(pool: DecodePool, tmp_path: Path, place: Path) -> Play:
    async def run(content: bytes, *, turn: int = 0, told: Callable[[Step], None] = print) -> Converted:
        path = tmp_path / "film"
        path.write_bytes(content)
        async with pool.child() as child:
            await child.open(bytes(path))
            return await child.convert(bytes(place), turn=turn, timeout=60, told=told)

    return run


def seen(place: Path) -> tuple[str, str, int, tuple[int, int], str]:
    """Codec, pixel format, decodable frames, size and sound codec of a film."""
    with av.open(str(place)) as film:
        stream: Any = film.streams.video[0]
        count = sum(1 for _ in film.decode(stream))
        sound = film.streams.audio[0].codec_context.name if film.streams.audio else ""
        context = stream.codec_context
        return context.name, context.pix_fmt or "", count, (context.width, context.height), sound


def short(
    container: str, codec: str, *, pix_fmt: str = "yuv420p", sound: str = "",
    size: tuple[int, int] = (64, 32), count: int = 20,
) -> bytes:  # fmt: skip
    """A film in any pixel format, with sound of any codec."""
    with tempfile.NamedTemporaryFile() as out:
        with av.open(out.name, "w", format=container) as target:
            stream: Any = target.add_stream(codec, rate=10)
            stream.width, stream.height, stream.pix_fmt = *size, pix_fmt
            heard: Any = target.add_stream(sound, rate=48000) if sound else None
            for number, picture in enumerate(make.frames(count, size=size)):
                frame = av.VideoFrame.from_image(picture)
                frame.pts, frame.time_base = number, Fraction(1, 10)
                target.mux(stream.encode(frame))
            target.mux(stream.encode(None))
            if heard is not None:
                make._silence(target, heard)
        return out.read()


@pytest.mark.parametrize(("container", "sound"), [("matroska", "aac"), ("mpegts", "aac"), ("mov", "")])
async def test_a_film_whose_codecs_fit_is_copied(play: Play, place: Path, container: str, sound: str) -> None:
    made = await play(short(container, "libx264", sound=sound))
    assert made.copied
    assert seen(place) == ("h264", "yuv420p", 20, (64, 32), sound)


async def test_vp9_in_matroska_is_copied(play: Play, place: Path) -> None:
    assert (await play(short("matroska", "libvpx-vp9"))).copied
    assert seen(place)[:3] == ("vp9", "yuv420p", 20)


@pytest.mark.parametrize(
    ("container", "codec", "pix_fmt", "sound"),
    [
        ("avi", "mpeg4", "yuv420p", "libmp3lame"),
        ("mpeg", "mpeg2video", "yuv420p", "mp2"),
        ("asf", "wmv2", "yuv420p", "libmp3lame"),
        ("flv", "flv", "yuv420p", ""),
        ("matroska", "libx264", "yuv420p10le", "ac3"),
        ("matroska", "libx264", "yuv444p", "pcm_s16le"),
        ("matroska", "ffv1", "yuv420p", "flac"),
        ("mp4", "mpeg4", "yuv420p", "aac"),
    ],
)
async def test_any_other_film_is_encoded(
    play: Play, place: Path, container: str, codec: str, pix_fmt: str, sound: str
) -> None:
    made = await play(short(container, codec, pix_fmt=pix_fmt, sound=sound))
    assert not made.copied
    name, pixels, count, size, heard = seen(place)
    assert (name, pixels, size) == ("h264", "yuv420p", (64, 32))
    assert count >= 19
    assert heard in ({""} if not sound else {"aac", "mp3float", "mp3", "flac"})


@pytest.mark.parametrize(
    ("turn", "size", "red"), [(90, (32, 64), (24, 8)), (180, (64, 32), (48, 24)), (270, (32, 64), (8, 48))]
)
async def test_a_turned_film_is_turned_clockwise(
    play: Play, place: Path, turn: int, size: tuple[int, int], red: tuple[int, int]
) -> None:
    made = await play(make.film("mkv", count=5), turn=turn)
    assert (made.width, made.height) == size
    with av.open(str(place)) as film:
        picture = next(film.decode(video=0)).to_image()
    assert picture.getpixel(red)[0] > 180  # type: ignore[index]
    assert picture.getpixel((size[0] - red[0], size[1] - red[1]))[0] < 120  # type: ignore[index]


async def test_a_film_that_asks_to_be_turned_is_turned(play: Play) -> None:
    made = await play(make.film("mov", turn=90))
    assert (made.width, made.height) == (32, 64)


async def test_oblong_pixels_become_square_ones(play: Play) -> None:
    made = await play(make.film("mkv", aspect=(2, 1)))
    assert (made.width, made.height) == (128, 32)


async def test_odd_sizes_become_even(play: Play, place: Path) -> None:
    await play(short("matroska", "ffv1", pix_fmt="bgr0", size=(65, 33)))
    assert seen(place)[3] == (64, 32)


async def test_a_film_that_breaks_off_is_played_up_to_there(play: Play, place: Path) -> None:
    data = make.film("mkv", count=90, size=(160, 120))
    await play(data[: len(data) // 2])
    assert 5 < seen(place)[2] < 90


async def test_a_film_can_be_watched_while_it_is_made(play: Play, place: Path) -> None:
    watched: list[int] = []

    def look(step: Step) -> None:
        if step.made_s > 4 and not watched:
            with av.open(io.BytesIO(place.read_bytes())) as film:
                watched.append(sum(1 for _ in film.decode(video=0)))

    # So large that it takes a while.
    data = short("avi", "mjpeg", pix_fmt="yuvj420p", size=(1280, 720), count=150)
    made = await play(data, told=look)
    assert watched
    assert 1 <= watched[0] < 150
    assert seen(place)[2] == 150
    assert made.bytes == place.stat().st_size


async def test_the_finished_film_has_its_length_and_an_index(play: Play, place: Path) -> None:
    await play(short("avi", "mpeg4", count=50))
    with av.open(str(place)) as film:
        assert (film.duration or 0) / av.time_base == pytest.approx(5.0, abs=0.3)
        film.seek(4_000_000)
        assert next(film.decode(video=0)).time == pytest.approx(4.0, abs=2.1)


async def test_a_film_that_changes_its_size_keeps_the_first_one(play: Play, place: Path) -> None:
    first = short("mpegts", "mpeg2video", size=(128, 64), count=20)
    made = await play(first + short("mpegts", "mpeg2video", size=(64, 96), count=20))
    assert (made.width, made.height) == (128, 64)
    assert seen(place)[2] >= 20


async def test_the_meaning_of_colours_is_kept(play: Play, place: Path, tmp_path: Path) -> None:
    source = tmp_path / "wide.mkv"
    with av.open(str(source), "w") as target:
        stream: Any = target.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 32, "yuv420p10le"
        context = stream.codec_context
        context.color_trc, context.color_primaries, context.colorspace = 14, 9, 9
        for number, picture in enumerate(make.frames(5, size=(64, 32))):
            frame = av.VideoFrame.from_image(picture)
            frame.pts, frame.time_base = number, Fraction(1, 10)
            target.mux(stream.encode(frame))
        target.mux(stream.encode(None))
    await play(source.read_bytes())
    with av.open(str(place)) as film:
        frame = next(film.decode(video=0))
    assert (frame.format.name, frame.color_trc, frame.color_primaries) == ("yuv420p", 14, 9)


async def test_sound_alone_is_no_film(play: Play) -> None:
    with pytest.raises(MediaFailure) as caught:
        await play(make.film(audio=True, video=False))
    assert caught.value.reason is Reason.NO_VIDEO_STREAM


async def test_a_film_of_noise_fails_with_a_class_and_leaves_nothing(play: Play, place: Path) -> None:
    data = bytearray(short("avi", "mpeg4"))
    start = data.index(b"movi") + 4
    data[start:] = bytes(len(data) - start)
    with pytest.raises(MediaFailure) as caught:
        await play(bytes(data))
    assert caught.value.reason in {Reason.CORRUPT, Reason.NO_VIDEO_STREAM, Reason.UNSUPPORTED}
    assert not place.exists()


async def test_a_picture_is_not_converted(play: Play) -> None:
    with pytest.raises(MediaFailure) as caught:
        await play(make.saved(make.corner(), "PNG"))
    assert caught.value.reason is Reason.UNSUPPORTED
