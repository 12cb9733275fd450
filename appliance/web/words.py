"""How numbers, times and places are written for people."""

from __future__ import annotations

from datetime import datetime, timedelta

from appliance.core import clock, settings
from appliance.media.reasons import Reason


MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
LONG_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
NOTHING = "–"  # noqa: RUF001 - the sign for a missing value
FORMATS = {
    "application/vnd.comicbook+zip": "Volume",
    "application/vnd.ugoira+zip": "Ugoira",
    "image/jpeg": "JPEG",
    "image/png": "PNG",
    "image/webp": "WebP",
    "image/avif": "AVIF",
    "image/heic": "HEIC",
    "image/heif": "HEIF",
    "image/jxl": "JPEG XL",
    "image/gif": "GIF",
    "image/tiff": "TIFF",
    "image/bmp": "BMP",
    "image/jp2": "JPEG 2000",
    "image/apng": "APNG",
    "video/mp4": "MP4",
    "video/webm": "WebM",
    "video/x-matroska": "Matroska",
    "video/quicktime": "QuickTime",
    "video/x-msvideo": "AVI",
    "video/mp2t": "MPEG-TS",
    "video/mpeg": "MPEG",
}


def number(value: int | None) -> str:
    """184392 -> 184,392."""
    return NOTHING if value is None else f"{value:,}"


def count(value: int, one: str, many: str | None = None) -> str:
    """A number with its noun: 1 file, 2 files."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def size(value: int | None) -> str:
    """Bytes in the largest unit that keeps a digit before the point."""
    if value is None:
        return NOTHING
    if value < 1000:
        return count(value, "byte")
    scaled = float(value)
    for unit in ("kB", "MB", "GB", "TB"):
        scaled /= 1000
        if scaled < 999.95 or unit == "TB":
            break
    return f"{scaled:.1f} {unit}"


def length(milliseconds: int) -> str:
    """The length of a video as players write it: 0:14, 1:02:03."""
    seconds = max(1, round(milliseconds / 1000))
    hours, rest = divmod(seconds, 3600)
    minutes, last = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{last:02d}" if hours else f"{minutes}:{last:02d}"


def duration(value: timedelta | float | None) -> str:
    """0.2 s, 41 s, 6 min 12 s, 1 h 12 min."""
    if value is None:
        return NOTHING
    seconds = value.total_seconds() if isinstance(value, timedelta) else float(value)
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return count(whole // 86400, "day")


def _local(instant: datetime) -> datetime:
    return instant.astimezone(settings.current().zone)


def full(instant: datetime | None) -> str:
    """An instant in the zone of the installation, to the second."""
    if instant is None:
        return NOTHING
    local = _local(instant)
    return f"{local.day} {MONTHS[local.month - 1]} {local.year}, {local:%H:%M:%S}"


def ago(instant: datetime | None) -> str:
    """6 min ago under a day, then yesterday, 03:15, then 28 Nov, 11:02."""
    if instant is None:
        return NOTHING
    seconds = (clock.now() - instant).total_seconds()
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{int(seconds // 60)} min ago"
    if seconds < 86400:
        return f"{int(seconds // 3600)} h ago"
    local, today = _local(instant), _local(clock.now())
    if (today.date() - local.date()).days == 1:
        return f"yesterday, {local:%H:%M}"
    year = "" if local.year == today.year else f" {local.year}"
    return f"{local.day} {MONTHS[local.month - 1]}{year}, {local:%H:%M}"


def wall(moment: datetime | None) -> str:
    """A wall-clock time without a zone: 12 Nov 2026, 15:42."""
    if moment is None:
        return NOTHING
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}, {moment.hour:02d}:{moment.minute:02d}"


def month(moment: datetime) -> str:
    """November 2026."""
    return f"{LONG_MONTHS[moment.month - 1]} {moment.year}"


def offset(minutes: int | None) -> str:
    """A distance from UTC: UTC+2, UTC-3:30."""
    if minutes is None:
        return "no time zone"
    hours, rest = divmod(abs(minutes), 60)
    sign = "−" if minutes < 0 else "+"  # noqa: RUF001 - the real minus sign
    return f"UTC{sign}{hours}" + (f":{rest:02d}" if rest else "")


def form(mime: str) -> str:
    """The everyday name of a format."""
    return FORMATS.get(mime) or mime.partition("/")[2].rpartition("-")[2].upper()


SHORT_REASONS = {
    "empty": "The file is empty",
    "truncated": "File ends early",
    "corrupt": "File is damaged",
    "too_large": "Too large to decode safely",
    "unsupported": "A format that cannot be shown",
    "no_video_stream": "No video inside",
    "timeout": "Took too long",
    "crashed": "The decoder crashed",
    "out_of_memory": "Needs too much memory",
    "unreadable": "Could not be read",
    "unwritable": "Could not be written",
    "no_space": "The disk is full",
    "changed": "Changed while it was read",
    "vanished": "The file is gone",
    "not_media": "Not a picture or video",
    "sidecar": "Describes another file",
    "hidden": "Hidden file",
    "special": "Not a regular file",
    "symlink": "A link",
    "tombstoned": "Deleted here before",
}


def why(reason: str | None) -> str:
    """A class of failure as a short plain name."""
    return SHORT_REASONS.get(reason or "", "No picture could be made")


def advice(reason: str) -> str:
    """What a class of failure means and what to do, in one sentence."""
    try:
        return Reason(reason).plain
    except ValueError:
        return "Look into the log for what happened."
