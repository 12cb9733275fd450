"""The tracks of a film that is made playable: copied as they are, or decoded and encoded."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import av
import av.error
import av.filter

from appliance.media import hdr, pictures, video
from appliance.media.wire import Fit


# Larger films are shrunk: on two cores 4K H.264 takes longer to make than to watch.
BOX = Fit(1920, 1920)
# Measured with noise at 1080p: 6 s of processor time for 8 s of film, decoding included. x264's own
# default is a quality of 23.
_X264 = {"preset": "veryfast", "crf": "23", "profile": "high"}
_SOUND_RATE, _SOUND_BITS = 48_000, 160_000
# Players join at a key frame; one that is far away delays the first picture.
_GOP_S = 2
# Ticks between the decoding and the showing of a first picture whose decoding time is not known.
_AHEAD = 100
# Films without a frame rate, or with a nonsensical one, count as this.
_RATE = Fraction(30)
_VIDEO_RANGE = 1
_BT709 = 1
# Back from the table's red, green and blue to what films are made of.
_PLAIN = ("scale", "out_color_matrix=bt709:out_range=tv")
# The filters that show a film upright, by its orientation.
_UPRIGHT = {
    2: ("hflip",),
    3: ("hflip", "vflip"),
    4: ("vflip",),
    5: ("transpose=cclock_flip",),
    6: ("transpose=clock",),
    7: ("transpose=clock_flip",),
    8: ("transpose=cclock",),
}


class Copied:
    """A stream whose packets go over as they are."""

    def __init__(self, target: Any, stream: Any) -> None:
        self.source = stream
        self._made = target.add_stream_from_template(stream)
        self._last: int | None = None
        context = stream.codec_context
        self.size = (getattr(context, "width", 0), getattr(context, "height", 0))

    def take(self, packet: Any) -> Iterator[Any]:
        """The packets that one packet of the film becomes."""
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
        """What is left at the end."""
        return iter(())


class Encoded:
    """Pictures that are decoded, shrunk, turned and encoded."""

    def __init__(self, target: Any, stream: Any, upright: int) -> None:
        self.source = stream
        context = stream.codec_context
        context.thread_count, context.thread_type = 0, "AUTO"
        self._rate = _rate(stream)
        self.size = _even(_shown(stream, upright))
        self._made = target.add_stream("libx264", rate=self._rate, options=_X264)
        made = self._made.codec_context
        made.width, made.height, made.pix_fmt = *self.size, "yuv420p"
        made.time_base = Fraction(1, 90_000)
        made.gop_size = max(1, round(self._rate * _GOP_S))
        self._upright = upright
        self._graph: Any = None
        self._shape: tuple[int, int, str] | None = None
        self._last = -1
        self._space = _BT709

    def take(self, packet: Any) -> Iterator[Any]:
        """The packets that one packet of the film becomes."""
        try:
            frames = packet.decode()
        except av.error.InvalidDataError:
            # One damaged packet is a blemish, not the end of the film.
            return
        for frame in frames:
            yield from self._frame(frame)

    def flush(self) -> Iterator[Any]:
        """What is left at the end."""
        with contextlib.suppress(av.error.FFmpegError):
            for frame in self.source.codec_context.decode(None):
                yield from self._frame(frame)
        yield from self._made.encode(None)

    def _frame(self, frame: Any) -> Iterator[Any]:
        at = self._moment(frame)
        if at <= self._last:
            return
        self._last = at
        self._prepare(frame)
        self._graph.push(frame)
        drawn = self._graph.pull()
        drawn.pts, drawn.time_base = at, Fraction(1, 90_000)
        drawn.colorspace, drawn.color_range = self._space, _VIDEO_RANGE
        drawn.pict_type = 0
        yield from self._made.encode(drawn)

    def _prepare(self, frame: Any) -> None:
        shape = (frame.width, frame.height, frame.format.name)
        if shape == self._shape:
            return
        if self._shape is None:
            self._describe(frame)
        # Broadcasts change their size in the middle.
        self._shape = shape
        self._graph = _graph(frame, self.source.time_base, self.size, self._upright)

    def _describe(self, frame: Any) -> None:
        """Colours keep their meaning; what is brighter than eight bits can hold becomes a plain film."""
        made = self._made.codec_context
        self._space = _BT709 if _is_bright(frame) else frame.colorspace
        made.colorspace, made.color_range = self._space, _VIDEO_RANGE
        made.color_trc = _BT709 if _is_bright(frame) else frame.color_trc
        made.color_primaries = _BT709 if _is_bright(frame) else frame.color_primaries

    def _moment(self, frame: Any) -> int:
        if frame.pts is None or frame.time_base is None:
            return self._last + max(1, round(90_000 / self._rate))
        return round(float(frame.pts * frame.time_base) * 90_000)


class Heard:
    """Sound that is decoded and encoded as AAC, in two channels."""

    size = (0, 0)

    def __init__(self, target: Any, stream: Any) -> None:
        self.source = stream
        self._made = target.add_stream("aac", rate=_SOUND_RATE)
        self._made.codec_context.layout = "stereo"
        self._made.codec_context.bit_rate = _SOUND_BITS
        self._even = av.AudioResampler(format="fltp", layout="stereo", rate=_SOUND_RATE, frame_size=1024)

    def take(self, packet: Any) -> Iterator[Any]:
        """The packets that one packet of the film becomes."""
        try:
            frames = packet.decode()
        except av.error.InvalidDataError:
            return
        for frame in frames:
            for even in self._even.resample(frame):
                yield from self._made.encode(even)

    def flush(self) -> Iterator[Any]:
        """What is left at the end."""
        with contextlib.suppress(av.error.FFmpegError, ValueError):
            for even in self._even.resample(None):
                yield from self._made.encode(even)
        yield from self._made.encode(None)


def _rate(stream: Any) -> Fraction:
    rate = stream.average_rate or stream.guessed_rate
    return Fraction(rate) if rate and 1 <= rate <= 240 else _RATE


def _shown(stream: Any, upright: int) -> tuple[int, int]:
    """The size as shown: pixels made square, turned, within the box."""
    width, height = video.displayed(
        (stream.codec_context.width, stream.codec_context.height), stream, upright
    )
    scale = min(1.0, BOX.width / width, BOX.height / height)
    return round(width * scale), round(height * scale)


def _even(size: tuple[int, int]) -> tuple[int, int]:
    # 4:2:0 stores colours for two by two pixels.
    return max(2, size[0] // 2 * 2), max(2, size[1] // 2 * 2)


def _is_bright(frame: Any) -> bool:
    return frame.color_trc in hdr.TRANSFERS


def _graph(frame: Any, time_base: Any, size: tuple[int, int], upright: int) -> Any:
    steps = [*_scaled(size, upright)]
    if not _is_bright(frame):
        return _linked(frame, time_base, steps)
    with tempfile.NamedTemporaryFile("w", suffix=".cube") as table:
        table.write(hdr.cube(hdr.Curve(int(frame.color_trc), int(frame.color_primaries))))
        table.flush()
        steps += [("format", "gbrp10le"), ("lut3d", f"file={table.name}"), _PLAIN]
        return _linked(frame, time_base, steps)


def _scaled(size: tuple[int, int], upright: int) -> Iterator[tuple[str, str]]:
    flat = pictures.displayed(size, upright)
    yield "scale", f"{flat[0]}:{flat[1]}:flags=bicubic:out_range=tv"
    for step in _UPRIGHT.get(upright, ()):
        name, _, how = step.partition("=")
        yield name, how


def _linked(frame: Any, time_base: Any, steps: list[tuple[str, str]]) -> Any:
    graph = av.filter.Graph()
    made = [
        graph.add_buffer(width=frame.width, height=frame.height, format=frame.format, time_base=time_base)
    ]
    made += [graph.add(name, how) for name, how in (*steps, ("format", "yuv420p"), ("setsar", "1"))]
    made.append(graph.add("buffersink"))
    for one, following in itertools.pairwise(made):
        one.link_to(following)
    graph.configure()
    return graph
