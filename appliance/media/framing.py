"""Frames spread over a video, each hashed; the same moments in every copy of the film, however encoded."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import av.error

from appliance.media import lengths, phash, pictures, video
from appliance.media.reading import Source
from appliance.media.wire import Frame


# Titles and fades stand at the ends.
_FIRST, _LAST = 0.02, 0.98
# So far a frame may lie behind its key frame; past that the one that was reached has to do.
_REACH = 250
# A film that takes longer is known by the frames that were found until then.
_BUDGET_S = 60.0
# Without an index a seek lands behind the moment; broadcasts have a key frame at least this often.
_BEHIND_S = 3.0


def frames(source: Source, count: int) -> list[Frame]:
    """Return those of `count` frames, spread over the film, that show enough to be told from others."""
    try:
        with video.opened(source) as container:
            return _frames(container, video.picture_stream(container), count)
    except av.error.FFmpegError as error:
        raise video.failure(error, source) from error


def _frames(container: Any, stream: Any, count: int) -> list[Frame]:
    length = lengths.announced(container, stream) or 0.0
    give_up = time.monotonic() + _BUDGET_S
    found: dict[int, Frame] = {}
    for n in range(count):
        share = _FIRST + (_LAST - _FIRST) * n / max(1, count - 1)
        frame = _frame_at(container, stream, share * length, give_up)
        hashed = frame and _hashed(frame, stream)
        if hashed:
            found.setdefault(hashed.at_ms, hashed)
        if time.monotonic() > give_up or not length:
            break
    return [found[at] for at in sorted(found)]


def _frame_at(container: Any, stream: Any, at: float, give_up: float) -> Any:
    """Return the frame that is on screen at a moment, or the last that can be decoded before it."""
    before, last = None, None
    until = at + lengths.start(stream)
    try:
        for count, frame in enumerate(_from_before(container, stream, until), start=1):
            before, last = last, frame
            if (frame.time or 0.0) > until:
                break
            if count >= _REACH or time.monotonic() > give_up:
                return frame
    except (av.error.FFmpegError, EOFError):
        return last
    return last if last is None or (last.time or 0.0) <= until else before or last


def _from_before(container: Any, stream: Any, until: float) -> Iterator[Any]:
    """Give the frames from a key frame before a moment on, also where there is no index to find it by."""
    for earlier in (0.0, _BEHIND_S):
        container.seek(int(max(0.0, until - earlier) / stream.time_base), stream=stream, backward=True)
        frames = container.decode(stream)
        first = next(frames, None)
        if first is not None and (first.time or 0.0) <= until:
            return itertools.chain([first], frames)
    container.seek(0)
    return iter(container.decode(stream))


def _hashed(frame: Any, stream: Any) -> Frame | None:
    if frame.is_corrupt:
        return None
    upright = video.orientation(frame)
    shown = video.displayed((frame.width, frame.height), stream, upright)
    found = phash.fingerprint(video.picture(frame, upright, pictures.largest(shown, [])))
    moment = (frame.time or 0.0) - lengths.start(stream)
    return Frame(max(0, round(moment * 1000)), found) if found else None
