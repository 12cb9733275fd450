"""Videos through PyAV: true length, size as displayed, damage, and a poster that shows something."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import Any

import av
import av.error
from PIL import Image

from appliance.media import filmtags, hdr, lengths, metadata, motion, opening, pictures
from appliance.media.lengths import Length
from appliance.media.limits import Limits
from appliance.media.reading import Source
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.said import as_text
from appliance.media.wire import Decoded, Wanted


# Where a poster is looked for: past the fade-in, then later, then at the very start.
_POSTER_AT = (0.1, 0.3, 0.5, 0.8, 0.0)
# From a key frame on, so many frames are decoded in search of one that is not flat.
_POSTER_FRAMES = 48
_APPLE_PAIR = "com.apple.quicktime.content.identifier"
_UNTAGGED = 2
# Orientations by whether the display matrix turns x and y round, without and with an exchange of both.
_STRAIGHT = {(False, False): 1, (True, False): 2, (True, True): 3, (False, True): 4}
_CROSSED = {(False, False): 5, (False, True): 6, (True, True): 7, (True, False): 8}
# How Dolby Vision without another layer is marked: its colours can only be guessed.
_DOLBY_ALONE = frozenset({"dvh1", "dvhe", "dav1"})


def decode(source: Source, wanted: list[Wanted], limits: Limits, *, turn: int = 0) -> Decoded:
    """Describe a video and render its poster."""
    try:
        with opened(source) as container:
            return _decode(source, container, wanted, limits, turn)
    except av.error.FFmpegError as error:
        raise failure(error, source) from error


def failure(error: Any, source: Source) -> MediaFailure:
    """Classify an error of FFmpeg over a file."""
    reason = Reason.CORRUPT
    if isinstance(error, av.error.PatchWelcomeError | av.error.DecoderNotFoundError):
        reason = Reason.UNSUPPORTED
    # Where memory is short no thread can be started, and FFmpeg says "try again".
    if isinstance(error, av.error.MemoryError | av.error.BlockingIOError):
        reason = Reason.OUT_OF_MEMORY
    # Many films have what describes them behind their pictures: FFmpeg only says that it found nothing.
    missing = "the end of the film is missing; " if opening.is_short(source) else ""
    return MediaFailure(reason, f"{missing}{type(error).__name__}: {error.strerror}")


def opened(source: Source) -> Any:
    """Open the container that was recognised, and nothing that it refers to."""
    format_ = source.sniffed.format
    # The sniffed demuxer alone, and no protocol: playlists and references cannot open other files.
    options = {"format_whitelist": format_, "protocol_whitelist": "none"}
    if format_ == "mov":
        options["enable_drefs"] = "0"
        options["export_xmp"] = "1"
    return av.open(source.file(), format=format_, options=options, metadata_errors="replace")


def _decode(source: Source, container: Any, wanted: list[Wanted], limits: Limits, by: int) -> Decoded:
    stream = picture_stream(container)
    stored = (stream.codec_context.width, stream.codec_context.height)
    opening.check_pixels(stored, limits)
    length = lengths.measured(source, container, stream)
    frame = _poster(container, stream, length)
    upright = pictures.turned(orientation(frame), by)
    shown = displayed((frame.width, frame.height), stream, upright)
    poster = picture(frame, upright, pictures.largest(shown, wanted))
    made, errors = pictures.render(poster, shown, wanted)
    said = filmtags.read(container.metadata, stream.metadata)
    if length.unmeasured:
        said.note("it is too long to be measured")
    said.facts = (
        _facts(container, stream) | ({"hdr": True} if frame.color_trc in hdr.TRANSFERS else {}) | said.facts
    )
    return Decoded(
        kind="video",
        mime=source.sniffed.mime,
        width=shown[0],
        height=shown[1],
        frames=length.frames,
        duration_s=None if length.seconds is None else round(length.seconds, 3),
        date_source="container" if said.taken_at else None,
        dominant=pictures.dominant(poster),
        flags=["truncated"] if length.truncated else [],
        **metadata.described(said),
        renditions=made,
        rendition_errors=errors,
    )


def described(source: Source) -> dict[str, Any]:
    """What a player must know of a film, without decoding any of it."""
    try:
        with opened(source) as container:
            stream = picture_stream(container)
            told = _facts(container, stream)
            seconds = lengths.announced(container, stream)
    except av.error.FFmpegError as error:
        raise failure(error, source) from error
    kept: dict[str, Any] = {
        name: told[name] for name in ("video_codec", "audio_codec", "pixel_format") if name in told
    }
    return kept if seconds is None else kept | {"seconds": round(seconds, 3)}


def picture_stream(container: Any) -> Any:
    """Return the moving stream; the cover of a music file is none."""
    if not container.streams:
        raise MediaFailure(Reason.CORRUPT, "it holds no streams")
    covers = av.stream.Disposition.attached_pic
    moving = [stream for stream in container.streams.video if not stream.disposition & covers]
    if not moving:
        raise MediaFailure(Reason.NO_VIDEO_STREAM, f"{len(container.streams)} streams, none with video")
    known = [stream for stream in moving if stream.codec_context is not None]
    if not known:
        raise MediaFailure(Reason.UNSUPPORTED, "the video is in a format that no decoder knows")
    stream = max(known, key=lambda stream: stream.codec_context.width * stream.codec_context.height)
    if stream.codec_context.width <= 0 or stream.codec_context.height <= 0:
        raise MediaFailure(Reason.CORRUPT, "the video stream has no size")
    # One thread: the pool already uses every core, and frame threads keep several frames in memory.
    stream.codec_context.thread_count = 1
    return stream


def _poster(container: Any, stream: Any, length: Length) -> Any:
    """Return the first frame that is not flat at a few places of the film, else the first decodable."""
    fallback: Any = None
    for share in _POSTER_AT:
        for frame in _frames_from(container, stream, share * (length.seconds or 0.0)):
            if fallback is None:
                fallback = frame
            if not frame.is_corrupt and not _is_flat(frame):
                return frame
    if fallback is None:
        raise MediaFailure(Reason.CORRUPT, "no frame could be decoded")
    return fallback


def _is_flat(frame: Any) -> bool:
    return pictures.is_flat(frame.reformat(width=64, height=64, format="rgb24").to_image())


def _frames_from(container: Any, stream: Any, at: float) -> Iterator[Any]:
    try:
        if at:
            container.seek(int((lengths.start(stream) + at) / stream.time_base), stream=stream, backward=True)
        else:
            # Without an index a stream is entered behind the moment: its first picture is at the start.
            container.seek(0)
        for count, frame in enumerate(container.decode(stream), start=1):
            yield frame
            if count >= _POSTER_FRAMES:
                return
    except (av.error.FFmpegError, EOFError):
        return


def orientation(frame: Any) -> int:
    """Return how a frame is meant to be shown, turned or mirrored, as an orientation of EXIF."""
    matrix = frame.side_data.get("DISPLAYMATRIX")
    if matrix is None:
        return 1
    a, b, _, c, d = struct.unpack("=5i", bytes(matrix)[:20])
    if abs(a) + abs(d) >= abs(b) + abs(c):
        return _STRAIGHT[a < 0, d < 0]
    return _CROSSED[b < 0, c < 0]


def displayed(size: tuple[int, int], stream: Any, upright: int) -> tuple[int, int]:
    """Return the size as shown: pixels made square, then turned."""
    ratio = stream.sample_aspect_ratio
    aspect = float(ratio) if ratio else 1.0
    # Ratios outside of this come from damaged headers.
    width = round(size[0] * aspect) if 0.2 < aspect < 5 and not math.isclose(aspect, 1.0) else size[0]
    return pictures.displayed((width, size[1]), upright)


def picture(frame: Any, upright: int, target: tuple[int, int]) -> Image.Image:
    """Make a small upright picture of a decoded frame."""
    flat = pictures.displayed(target, upright)
    # Untagged video of at least 720 lines is BT.709 for every player, but not for swscale.
    space = "ITU709" if frame.colorspace == _UNTAGGED and frame.height >= 720 else None
    small = frame.reformat(
        width=flat[0], height=flat[1], format="rgb24", interpolation="AREA", src_colorspace=space
    ).to_image()
    if frame.color_trc in hdr.TRANSFERS:
        small = hdr.toned(small, hdr.Curve(int(frame.color_trc), int(frame.color_primaries)))
    return pictures.upright(small, upright)


def _tag(context: Any) -> str:
    """The four letters of a codec; transport streams put a number there that need not be any."""
    try:
        return str(context.codec_tag)
    except UnicodeDecodeError:
        return ""


def _facts(container: Any, stream: Any) -> dict[str, Any]:
    rate = float(stream.average_rate) if stream.average_rate else 0.0
    facts: dict[str, Any] = {
        "video_codec": stream.codec_context.name,
        "pixel_format": stream.codec_context.pix_fmt or "",
        "container": container.format.name,
        "audio_codec": next((audio.codec_context.name for audio in container.streams.audio), ""),
    }
    if math.isfinite(rate) and 0 < rate < 1000:
        facts["frame_rate"] = round(rate, 3)
    if _tag(stream.codec_context) in _DOLBY_ALONE:
        facts["dolby_vision"] = True
    if container.bit_rate and 0 < container.bit_rate < 2**53:
        facts["bit_rate"] = int(container.bit_rate)
    pair = motion.live_id(as_text(container.metadata.get(_APPLE_PAIR) or ""))
    if pair is not None:
        facts["live_id"] = pair
    return {name: fact for name, fact in facts.items() if fact != ""}
