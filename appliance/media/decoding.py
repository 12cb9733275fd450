"""Decoding one open file: choosing the decoder, and giving every failure its class."""

from __future__ import annotations

import errno
from collections.abc import Callable

from PIL import Image

from appliance.media import animations, archives, opening, raws, stills, storing, timing, volumes
from appliance.media.limits import Limits
from appliance.media.parts import Part
from appliance.media.reading import Source
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.sniff import Family
from appliance.media.wire import Converted, ConvertRequest, Decoded, Frames, Step, Wanted


_LOST_DISK = frozenset({errno.EIO, errno.ESTALE, errno.ENXIO, errno.ENOTCONN, errno.EHOSTDOWN, errno.EACCES})
_MAX_DETAIL = 300
_MOST_FRAMES = 2**31 - 1
_MOST_SECONDS = 10 * 366 * 86_400.0


def decode(source: Source, wanted: list[Wanted], limits: Limits, *, turn: int = 0) -> Decoded:
    """Decode a file that was opened; fails only with a class."""
    try:
        decoded = _by_family(source, wanted, limits, turn)
        source.check_unchanged()
    except Exception as error:
        # Decoders raise anything on hostile bytes; nothing may leave the child without a class.
        raise classified(error, source, limits) from error
    _drop_impossible(decoded)
    return decoded


def _drop_impossible(decoded: Decoded) -> None:
    """Headers announce any number: what no film can have is not known, and would not fit into a row."""
    if decoded.frames is not None and not 0 < decoded.frames <= _MOST_FRAMES:
        decoded.frames = None
        decoded.notes.append("the number of frames that it announces is impossible")
    if decoded.duration_s is not None and not 0 <= decoded.duration_s <= _MOST_SECONDS:
        decoded.duration_s = None
        decoded.notes.append("the length that it announces is impossible")


def convert(
    source: Source, request: ConvertRequest, limits: Limits, tell: Callable[[Step], None]
) -> Converted:
    """Make a video that was opened playable; fails only with a class."""
    from appliance.media import playing  # noqa: PLC0415 - loads FFmpeg

    source = Part(source, *request.part) if request.part else source
    if source.sniffed.family is not Family.VIDEO:
        raise MediaFailure(Reason.UNSUPPORTED, f"{source.sniffed.name} is no video")
    try:
        converted = playing.convert(source, request, limits, tell)
        source.check_unchanged()
    except Exception as error:
        raise classified(error, source, limits) from error
    return converted


def frames(source: Source, count: int, limits: Limits) -> Frames:
    """Hash frames of a video that was opened; fails only with a class."""
    from appliance.media import framing  # noqa: PLC0415 - loads FFmpeg

    if source.sniffed.family is not Family.VIDEO:
        raise MediaFailure(Reason.UNSUPPORTED, f"{source.sniffed.name} is no video")
    try:
        found = framing.frames(source, count)
        source.check_unchanged()
    except Exception as error:
        raise classified(error, source, limits) from error
    return Frames(found)


def look(source: Source, limits: Limits) -> None:
    """Refuse an archive without pages; fails only with a class."""
    if source.sniffed.family is not Family.ARCHIVE:
        return
    try:
        archives.listing(source, limits)
    except Exception as error:
        raise classified(error, source, limits) from error


def _by_family(source: Source, wanted: list[Wanted], limits: Limits, turn: int) -> Decoded:
    if source.sniffed.family is Family.ARCHIVE:
        draw = lambda page, drawn: decode(page, drawn, limits, turn=turn)  # noqa: E731
        return volumes.decode(source, wanted, limits, draw, turn=turn)
    if source.sniffed.family is Family.VIDEO:
        # Loaded when the first video arrives: FFmpeg takes 25 MB in every child.
        from appliance.media import video  # noqa: PLC0415

        return video.decode(source, wanted, limits, turn=turn)
    if source.sniffed.format == "raw":
        return raws.decode(source, wanted, limits, turn=turn)
    mixed = source.sniffed.family is Family.ANIMATION_OR_STILL
    times = timing.of(source, limits.frames) if mixed else timing.STILL
    with opening.open_picture(source, limits, moves=times.frames > 1) as image:
        if times.frames > 1:
            return animations.decode(source, image, times, wanted, limits, turn=turn)
        return stills.decode(source, image, wanted, turn=turn)


def classified(error: Exception, source: Source, limits: Limits) -> MediaFailure:
    """Turn any exception of a decoder into the class that a person can act on."""
    if isinstance(error, MediaFailure):
        return error
    if isinstance(error, Image.DecompressionBombError | Image.DecompressionBombWarning):
        return opening.bomb(error, limits)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return storing.failure(error)
    return MediaFailure(_reason(error, source), f"{type(error).__name__}: {error}"[:_MAX_DETAIL])


def _reason(error: Exception, source: Source) -> Reason:
    if isinstance(error, MemoryError):
        return Reason.OUT_OF_MEMORY
    if isinstance(error, OSError) and error.errno in _LOST_DISK:
        return Reason.UNREADABLE
    if source.sniffed.family is not Family.VIDEO and (_says_short(error) or opening.is_short(source)):
        return Reason.TRUNCATED
    return Reason.CORRUPT


def _says_short(error: Exception) -> bool:
    return isinstance(error, EOFError) or "truncated" in str(error).lower()
