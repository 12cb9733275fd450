"""From any video to one that browsers play: what fits is copied, the rest is encoded as H.264 and AAC.

The file grows as a fragmented MP4, so that it can be watched while it is made, and ends as an ordinary one.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import av
import av.error

from appliance.media import lengths, opening, pictures, storing, video
from appliance.media.limits import Limits
from appliance.media.reading import Source
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.tracks import Copied, Encoded, Heard
from appliance.media.wire import Converted, ConvertRequest, Step


Tell = Callable[[Step], None]

_FRAGMENT_US = "1000000"
_STEP_S = 0.5
_EIGHT_BITS = frozenset({"yuv420p", "yuvj420p"})
_SOUNDS = frozenset({"aac", "mp3", "opus", "flac"})


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
        raise video.failure(error, source) from error


class _Plan(NamedTuple):
    upright: int
    copied: bool


def _planned(film: Any, request: ConvertRequest, limits: Limits, *, copyable: bool) -> _Plan:
    """Decide from the streams themselves; AVI has no times that an MP4 could take over."""
    stream = video.picture_stream(film)
    codec = stream.codec_context
    opening.check_pixels((codec.width, codec.height), limits)
    upright = pictures.turned(_orientation(film, stream), request.turn)
    square = stream.sample_aspect_ratio in (None, 0, 1)
    return _Plan(upright, copyable and square and upright == 1 and fits(codec.name, codec.pix_fmt))


def _orientation(film: Any, stream: Any) -> int:
    """How the file asks to be shown; only a decoded frame tells."""
    with contextlib.suppress(av.error.FFmpegError):
        for frame in film.decode(stream):
            return video.orientation(frame)
    return 1


def _convert(film: Any, request: ConvertRequest, plan: _Plan, tell: Tell) -> Converted:
    shown = video.picture_stream(film)
    with _written(request.path) as target:
        tracks = [Copied(target, shown) if plan.copied else Encoded(target, shown, plan.upright)]
        tracks += _sound(target, film)
        _pump(film, target, tracks, _Progress(film, shown, tell))
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
        whole = lengths.announced(film, stream)
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


def _sound(target: Any, film: Any) -> list[Any]:
    """The first track of sound that a decoder knows; films without one are silent."""
    for stream in film.streams.audio:
        if stream.codec_context is None or not stream.codec_context.sample_rate:
            continue
        copied = stream.codec_context.name.removesuffix("float") in _SOUNDS
        return [Copied(target, stream) if copied else Heard(target, stream)]
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
