"""How long a film is in truth: what its header says, unless the file ends before that."""

from __future__ import annotations

import time
from typing import Any

import av
import av.error
import msgspec

from appliance.media.reading import Source
from appliance.media.reasons import MediaFailure, Reason


# A walk over all packets (only files without a usable index need it) ends after this time.
_WALK_S = 20.0
# The last packets may lie a little before the announced end without anything missing.
_TAIL_S = 1.0
_TAIL_SHARE = 0.03


# Old MPEG has no length anywhere: what stands for it is a guess, and a bad one for short films.
_GUESSING, _GUESSED_S = ("mpeg", "mpegvideo"), 3.0


class Length(msgspec.Struct):
    """Seconds and frames where they are known, whether the end is missing, and whether it was not reached."""

    seconds: float | None
    frames: int | None
    truncated: bool = False
    unmeasured: bool = False


class _Walk(msgspec.Struct, frozen=True):
    """Where a walk over packets came to; `frames` where it came to the end without damage."""

    end: float | None
    frames: int | None
    gave_up: bool = False


def measured(source: Source, container: Any, stream: Any, patience: float = _WALK_S) -> Length:
    """Find the true length: what the header says, unless the file ends before that."""
    told, counted = announced(container, stream), int(stream.frames) or None
    if told is not None and told < _GUESSED_S and source.sniffed.format in _GUESSING:
        told = None
    overrun = False
    if source.sniffed.format == "mov" and told is not None and counted is not None:
        # The index of an MP4 names the place of every frame; reading them would tell nothing more.
        overrun = max((entry.pos + entry.size for entry in stream.index_entries), default=0) > source.size
        if not overrun:
            return Length(told, counted)
    walk, header = None if overrun else _tail(container, stream, told, patience), counted
    if walk is None or (walk.end is None and not walk.gave_up):
        walk = _walked(container, stream, patience)
        counted = walk.frames
    if walk.gave_up:
        # Where patience ended is no end of the film: what the header says is all that is known.
        return Length(None, None, unmeasured=True) if told is None else Length(told, header, overrun)
    if told is None:
        return Length(walk.end, counted)
    short = overrun or (walk.end or 0.0) < told - max(_TAIL_S, _TAIL_SHARE * told)
    return Length(walk.end if short else told, None if short else counted, short)


def announced(container: Any, stream: Any) -> float | None:
    """Return the length in seconds that the header tells."""
    if stream.duration:
        return float(stream.duration * stream.time_base)
    return container.duration / av.time_base if container.duration and container.duration > 0 else None


def start(stream: Any) -> float:
    """Return the moment of the first picture in seconds, which need not be zero."""
    return float(stream.start_time * stream.time_base) if stream.start_time else 0.0


def _tail(container: Any, stream: Any, announced: float | None, patience: float) -> _Walk | None:
    """Seek close to the announced end and walk from there."""
    if announced is None:
        return None
    target = start(stream) + max(0.0, announced - 2.0)
    try:
        container.seek(int(target / stream.time_base), stream=stream, backward=True)
    except av.error.FFmpegError:
        return None
    return _walk(container, stream, patience)


def _walked(container: Any, stream: Any, patience: float) -> _Walk:
    """Read every packet: the only truth for piped files, which announce nothing."""
    try:
        container.seek(0)
    except av.error.FFmpegError as error:
        raise MediaFailure(Reason.CORRUPT, "it cannot be read from the start") from error
    return _walk(container, stream, patience)


def _walk(container: Any, stream: Any, patience: float) -> _Walk:
    end: float | None = None
    count, give_up = 0, time.monotonic() + patience
    rate = float(stream.average_rate or stream.guessed_rate or 0)
    try:
        for packet in container.demux(stream):
            count += packet.size > 0
            if packet.pts is not None:
                until = float((packet.pts + (packet.duration or 0)) * packet.time_base) - start(stream)
                end = max(end or 0.0, until)
            elif packet.size and rate:
                # Many MPEG files say the moment of a few pictures only.
                end = max(end or 0.0, count / rate)
            if time.monotonic() > give_up:
                return _Walk(end, None, gave_up=True)
    except av.error.FFmpegError:
        return _Walk(end, None)
    return _Walk(end, count)
