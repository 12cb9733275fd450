"""Taken dates: from EXIF text, from containers and from file names; what is impossible is no date."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta


# The first photograph is older, the first digital file is not; scans may carry the year of the print.
_FIRST_YEAR = 1826
# Containers count from 1904; a zero there, or any text that means it, is "unknown".
_EPOCHS = frozenset({datetime(1904, 1, 1), datetime(1970, 1, 1), datetime(1980, 1, 1)})  # noqa: DTZ001
_LONGEST = 64

_EXIF = re.compile(
    r"\s*(\d{4})[:\-./](\d{1,2})[:\-./](\d{1,2})(?:[ T]+(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?)?"
    r"\s*(Z|[+-]\d{2}:?\d{2})?\s*\Z"
)
_OFFSET = re.compile(r"\s*([+-])(\d{2}):?(\d{2})\s*\Z")

_NAME_DATE = r"(?P<y>(?:19|20)\d\d)(?P<s>[-_.:]?)(?P<m>0[1-9]|1[0-2])(?P=s)(?P<d>0[1-9]|[12]\d|3[01])"
_NAME_TIME = r"(?P<H>[01]\d|2[0-3])(?P<t>[-_.:h ]?)(?P<M>[0-5]\d)(?P=t)(?P<S>[0-5]\d)"
# Between date and time stand nothing, one separator, or the " at " of WhatsApp and macOS.
_NAMED_MOMENT = re.compile(rf"(?<!\d){_NAME_DATE}(?:[-_. T]|[-_ ]at[-_ ])?{_NAME_TIME}(?:\d{{3}})?(?!\d)")
_NAMED_DAY = re.compile(rf"(?<!\d){_NAME_DATE}(?!\d)")
_EPOCH_MS = re.compile(r"(?:mmexport|FB_IMG_|wx_camera_|received_)(1[0-9]{12})(?!\d)")


def plausible(moment: datetime) -> datetime | None:
    """Drop moments before photography, more than a year ahead, and the zeros of container formats."""
    latest = datetime.now(UTC).replace(tzinfo=None) + timedelta(days=366)
    if moment.year < _FIRST_YEAR or moment > latest or moment in _EPOCHS:
        return None
    return moment


def parse(text: str) -> tuple[datetime, int | None] | None:
    """Read an EXIF or ISO date as wall time with its offset in minutes when it says one."""
    # No date is longer, and a megabyte of blanks would be tried from each of them.
    found = _EXIF.match(text[:_LONGEST])
    if not found:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    micro = int((found.group(7) or "0")[:6].ljust(6, "0"))
    try:
        moment = plausible(datetime(year, month, day, hour, minute, second, micro))  # noqa: DTZ001
    except ValueError:
        return None
    return None if moment is None else (moment, offset(found.group(8) or ""))


def offset(text: str) -> int | None:
    """Read "+02:00" as minutes; None when it says nothing possible."""
    if text == "Z":
        return 0
    found = _OFFSET.match(text)
    if not found:
        return None
    minutes = int(found.group(2)) * 60 + int(found.group(3))
    if minutes > 14 * 60:
        return None
    return -minutes if found.group(1) == "-" else minutes


def from_name(name: bytes) -> datetime | None:
    """Read the date that cameras, phones and screenshot tools write into file names; never fails."""
    text = name.rsplit(b"/", 1)[-1].decode("utf-8", "replace")
    for pattern in (_NAMED_MOMENT, _NAMED_DAY):
        for found in pattern.finditer(text):
            moment = _built(found)
            if moment is not None:
                return moment
    millis = _EPOCH_MS.search(text)
    return _from_epoch(int(millis.group(1))) if millis else None


def _built(found: re.Match[str]) -> datetime | None:
    part = found.groupdict()
    year, month, day, hour, minute, second = (int(part.get(key) or 0) for key in "ymdHMS")
    try:
        return plausible(datetime(year, month, day, hour, minute, second))  # noqa: DTZ001
    except ValueError:
        return None


def _from_epoch(millis: int) -> datetime | None:
    # Messengers write an instant; wall time is what the machine's zone made of it.
    return plausible(datetime.fromtimestamp(millis // 1000))  # noqa: DTZ006
