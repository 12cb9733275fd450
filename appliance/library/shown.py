"""What browsers show as it is; everything else gets a form that they can."""

from __future__ import annotations

from typing import Any


PICTURES = frozenset({"image/jpeg", "image/png", "image/apng", "image/webp", "image/avif", "image/gif"})
UNSURE = frozenset({"image/webp"})
"""Stills that some browsers show as they were stored, whatever turn their EXIF asks for."""
REDRAWN = frozenset({"application/vnd.ugoira+zip"})
"""Animations whose `full` moves, since browsers do not know the original."""
_FILMS = {
    "video/mp4": frozenset({"h264", "av1", "libdav1d", "vp9", "libvpx-vp9"}),
    "video/quicktime": frozenset({"h264"}),
    "video/webm": frozenset({"vp8", "libvpx", "vp9", "libvpx-vp9", "av1", "libdav1d"}),
}
_SOUNDS = {
    "video/mp4": frozenset({"", "aac", "mp3", "mp3float", "opus", "libopus", "flac"}),
    "video/quicktime": frozenset({"", "aac", "mp3", "mp3float"}),
    "video/webm": frozenset({"", "opus", "libopus", "vorbis", "libvorbis"}),
}
_EIGHT_BITS = frozenset({"yuv420p", "yuvj420p"})


def picture(mime: str, turn: int) -> bool:
    """Tell whether browsers show a picture or animation as it lies there; a turned one needs its own file."""
    return turn == 0 and mime in PICTURES


def moving(mime: str) -> str:
    """`original` for an animation that browsers show as it lies there, `full` for one that is drawn anew."""
    return "full" if mime in REDRAWN else "original" if mime in PICTURES else ""


def film(mime: str, turn: int, facts: dict[str, Any]) -> bool:
    """Tell whether browsers play a video as it lies there, judged by what was found in it."""
    if turn or mime not in _FILMS:
        return False
    codec, sound = facts.get("video_codec"), facts.get("audio_codec", "")
    if codec is None:
        return True
    deep = codec == "h264" and facts.get("pixel_format", "yuv420p") not in _EIGHT_BITS
    return codec in _FILMS[mime] and sound in _SOUNDS[mime] and not deep
