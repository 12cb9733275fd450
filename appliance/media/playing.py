"""From any video to one that browsers play: what fits is copied, the rest is encoded as H.264 and AAC.

The file grows as a fragmented MP4, so that it can be watched while it is made, and ends as an ordinary one.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import av
import av.error
import av.filter

from appliance.media import opening, storing, video
from appliance.media.limits import Limits
from appliance.media.reading import Source
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import Converted, ConvertRequest, Fit, Step


Tell = Callable[[Step], None]

# Larger films are shrunk: on two cores 4K H.264 takes longer to make than to watch.
BOX = Fit(1920, 1920)
# Measured with noise at 1080p: 6 s of processor time for 8 s of film, decoding included. 23 is x264's own default.
_X264 = {"preset": "veryfast", "crf": "23", "profile": "high"}
_SOUND_RATE, _SOUND_BITS = 48_000, 160_000
# Players may join at a fragment; one that is too long delays the first picture.
_GOP_S, _FRAGMENT_US = 2, "1000000"
_STEP_S = 0.5
# Ticks between the decoding and the showing of a first picture whose decoding time is not known.
_AHEAD = 100
# Films without a frame rate, or with a nonsensical one, count as this.
_RATE = Fraction(30)
_VIDEO_RANGE = 1
_EIGHT_BITS = frozenset({"yuv420p", "yuvj420p"})
_SOUNDS = frozenset({"aac", "mp3", "opus", "flac"})
_TRANSPOSED = {90: ("clock",), 180: ("clock", "clock"), 270: ("cclock",)}


def fits(codec: str, pixels: str | None) -> bool:
    """Tell whether browsers play a stream of pictures as it is, once it lies in an MP4."""
    if codec in ("vp9", "av1", "libdav1d", "libaom-av1", "libvpx-vp9"):
        return True
    return codec == "h264" and (pixels is None or pixels in _EIGHT_BITS)


def convert(source: Source, request: ConvertRequest, limits: Limits, tell: Tell) -> Converted:
    """Write the film to the place that is asked for; tells of its progress on the way."""
    try:
        # Opened twice: the look at the first frame leaves the decoder set up for a single thread.
        with video.opened(source) as film:
            plan = _planned(film, request, limits, copyable=source.sniffed.format != "avi")
        with video.opened(source) as film:
            return _convert(film, request, plan, tell)
    except av.error.FFmpegError as error:
        if error.errno in (28, 122):
            raise storing.failure(OSError(error.errno, os.strerror(error.errno))) from error
        reason = Reason.UNSUPPORTED if isinstance(error, av.error.PatchWelcomeError) else Reason.CORRUPT
        raise MediaFailure(reason, f"{type(error).__name__}: {error.strerror}") from error


class _Plan(NamedTuple):
    turn: int
    copied: bool


def _planned(film: Any, request: ConvertRequest, limits: Limits, *, copyable: bool) -> _Plan:
    """Decide from the streams themselves; AVI has no times that an MP4 could take over."""
    stream = video.picture_stream(film)
    codec = stream.codec_context
    opening.check_pixels((codec.width, codec.height), limits)
    turn = (_tagged_turn(film, stream) + request.turn) % 360
    square = stream.sample_aspect_ratio in (None, 0, 1)
    return _Plan(turn, copyable and square and turn == 0 and fits(codec.name, codec.pix_fmt))


def _tagged_turn(film: Any, stream: Any) -> int:
    """Degrees clockwise that the file asks for; only a decoded frame tells."""
    with contextlib.suppress(av.error.FFmpegError):
        for frame in film.decode(stream):
            return -int(frame.rotation) % 360
    return 0


def _convert(film: Any, request: ConvertRequest, plan: _Plan, tell: Tell) -> Converted:
    pictures = video.picture_stream(film)
    with _written(request.path) as target:
        tracks = [_Copied(target, pictures) if plan.copied else _Encoded(target, pictures, plan.turn)]
        tracks += _sound(target, film)
        _pump(film, target, tracks, _Progress(film, pictures, tell))
        width, height = tracks[0].size
    return Converted(width, height, os.stat(request.path).st_size, plan.copied)


@contextlib.contextmanager
def _written(path: bytes) -> Iterator[Any]:
    """A new MP4 that is gone again unless the block succeeds."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with storing.created(path):
        options = {
            # Watchable while it grows; the index of an ordinary file is written over it at the end.
            "movflags": "hybrid_fragmented+frag_keyframe+default_base_moof",
            "min_frag_duration": _FRAGMENT_US,
            "use_editlist": "0",
            # A calm film would otherwise lie in a buffer for a minute.
            "flush_packets": "1",
        }
        with av.open(os.fsdecode(path), "w", format="mp4", options=options) as target:
            yield target


class _Progress:
    """Tells how far a film is, twice a second at most."""

    def __init__(self, film: Any, stream: Any, tell: Tell) -> None:
        whole = video.announced(film, stream)
        self._whole = whole if whole and whole > 0 else None
        self._begun = self._told = time.monotonic()
        self._tell = tell

    def at(self, seconds: float) -> None:
        now = time.monotonic()
        if now - self._told < _STEP_S:
            return
        self._told = now
        share = min(0.99, seconds / self._whole) if self._whole else 0.0
        self._tell(Step(share, seconds, now - self._begun))


class _Copied:
    """A stream whose packets go over as they are."""

    def __init__(self, target: Any, stream: Any) -> None:
        self.source = stream
        self._made = target.add_stream_from_template(stream)
        self._last: int | None = None
        context = stream.codec_context
        self.size = (getattr(context, "width", 0), getattr(context, "height", 0))

    def take(self, packet: Any) -> Iterator[Any]:
        if packet.pts is None and packet.dts is None:
            return
        # Matroska has no decoding times, and some files have ones that stand still: an MP4 needs rising ones.
        pts = packet.dts if packet.pts is None else packet.pts
        dts = pts - _AHEAD if packet.dts is None and self._last is None else packet.dts
        if self._last is not None and (dts is None or dts <= self._last):
            dts = self._last + 1
        self._last = packet.dts = dts
        packet.pts = max(pts, dts)
        packet.stream = self._made
        yield packet

    def flush(self) -> Iterator[Any]:
        return iter(())


class _Encoded:
    """Pictures that are decoded, shrunk, turned and encoded."""

    def __init__(self, target: Any, stream: Any, turn: int) -> None:
        self.source = stream
        context = stream.codec_context
        context.thread_count, context.thread_type = 0, "AUTO"
        self._rate = _rate(stream)
        self.size = _even(_shown(stream, turn))
        self._made = target.add_stream("libx264", rate=self._rate, options=_X264)
        made = self._made.codec_context
        made.width, made.height, made.pix_fmt = *self.size, "yuv420p"
        made.time_base = Fraction(1, 90_000)
        made.gop_size = max(1, round(self._rate * _GOP_S))
        self._turn = turn
        self._graph: Any = None
        self._last = -1

    def take(self, packet: Any) -> Iterator[Any]:
        try:
            frames = packet.decode()
        except av.error.InvalidDataError:
            # One damaged packet is a blemish, not the end of the film.
            return
        for frame in frames:
            yield from self._frame(frame)

    def flush(self) -> Iterator[Any]:
        with contextlib.suppress(av.error.FFmpegError):
            for frame in self.source.codec_context.decode(None):
                yield from self._frame(frame)
        yield from self._made.encode(None)

    def _frame(self, frame: Any) -> Iterator[Any]:
        at = self._moment(frame)
        if at <= self._last:
            return
        self._last = at
        if self._graph is None:
            self._graph = _graph(frame, self.source.time_base, self.size, self._turn)
            # Colours keep their meaning, HDR too: the player shows them as well as its screen can.
            made = self._made.codec_context
            made.colorspace, made.color_range = frame.colorspace, _VIDEO_RANGE
            made.color_trc, made.color_primaries = frame.color_trc, frame.color_primaries
        self._graph.push(frame)
        drawn = self._graph.pull()
        drawn.pts, drawn.time_base = at, Fraction(1, 90_000)
        drawn.colorspace, drawn.color_range = frame.colorspace, _VIDEO_RANGE
        drawn.pict_type = 0
        yield from self._made.encode(drawn)

    def _moment(self, frame: Any) -> int:
        if frame.pts is None or frame.time_base is None:
            return self._last + max(1, round(90_000 / self._rate))
        return round(float(frame.pts * frame.time_base) * 90_000)


class _Heard:
    """Sound that is decoded and encoded as AAC, in two channels."""

    size = (0, 0)

    def __init__(self, target: Any, stream: Any) -> None:
        self.source = stream
        self._made = target.add_stream("aac", rate=_SOUND_RATE)
        self._made.codec_context.layout = "stereo"
        self._made.codec_context.bit_rate = _SOUND_BITS
        self._even = av.AudioResampler(format="fltp", layout="stereo", rate=_SOUND_RATE, frame_size=1024)

    def take(self, packet: Any) -> Iterator[Any]:
        try:
            frames = packet.decode()
        except av.error.InvalidDataError:
            return
        for frame in frames:
            for even in self._even.resample(frame):
                yield from self._made.encode(even)

    def flush(self) -> Iterator[Any]:
        with contextlib.suppress(av.error.FFmpegError, ValueError):
            for even in self._even.resample(None):
                yield from self._made.encode(even)
        yield from self._made.encode(None)


def _sound(target: Any, film: Any) -> list[Any]:
    """The first track of sound that a decoder knows; films without one are silent."""
    for stream in film.streams.audio:
        if stream.codec_context is None or not stream.codec_context.sample_rate:
            continue
        copied = stream.codec_context.name.removesuffix("float") in _SOUNDS
        return [_Copied(target, stream) if copied else _Heard(target, stream)]
    return []


def _pump(film: Any, target: Any, tracks: list[Any], progress: _Progress) -> None:
    """Read to the end; a film that breaks off is played up to there."""
    by_index = {track.source.index: track for track in tracks}
    written = 0
    try:
        for packet in film.demux([track.source for track in tracks]):
            if packet.dts is None and packet.size == 0:
                continue
            for made in by_index[packet.stream_index].take(packet):
                target.mux(made)
                written += 1
            if packet.stream_index == tracks[0].source.index and packet.pts is not None:
                progress.at(float(packet.pts * packet.time_base))
    except (av.error.InvalidDataError, av.error.EOFError):
        if not written:
            raise
    for track in tracks:
        for made in track.flush():
            target.mux(made)
            written += 1
    if not written:
        raise MediaFailure(Reason.CORRUPT, "no frame could be decoded")


def _rate(stream: Any) -> Fraction:
    rate = stream.average_rate or stream.guessed_rate
    return Fraction(rate) if rate and 1 <= rate <= 240 else _RATE


def _shown(stream: Any, turn: int) -> tuple[int, int]:
    """The size as shown: pixels made square, turned, within the box."""
    width, height = video.displayed((stream.codec_context.width, stream.codec_context.height), stream, turn)
    scale = min(1.0, BOX.width / width, BOX.height / height)
    return round(width * scale), round(height * scale)


def _even(size: tuple[int, int]) -> tuple[int, int]:
    # 4:2:0 stores colours for two by two pixels.
    return max(2, size[0] // 2 * 2), max(2, size[1] // 2 * 2)


def _graph(frame: Any, time_base: Any, size: tuple[int, int], turn: int) -> Any:
    flat = (size[1], size[0]) if turn % 180 else size
    graph = av.filter.Graph()
    steps = [
        graph.add_buffer(width=frame.width, height=frame.height, format=frame.format, time_base=time_base)
    ]
    steps.append(graph.add("scale", f"{flat[0]}:{flat[1]}:flags=bicubic:out_range=tv"))
    steps += [graph.add("transpose", way) for way in _TRANSPOSED.get(turn, ())]
    steps += [graph.add("format", "yuv420p"), graph.add("setsar", "1"), graph.add("buffersink")]
    for one, following in itertools.pairwise(steps):
        one.link_to(following)
    graph.configure()
    return graph
