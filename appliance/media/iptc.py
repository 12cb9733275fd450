"""IPTC-IIM: the older words of news pictures, a flat list of numbered fields."""

from __future__ import annotations

from collections.abc import Iterator

from appliance.media import dates
from appliance.media.said import LONGEST_TITLE, Said, as_text, line


_MOST_BYTES, _MOST_FIELDS = 1 << 20, 2000
_UTF8 = b"\x1b%G"

Fields = dict[int, list[str]]


def fields(block: bytes) -> Fields:
    """Return the texts of the second record by number; what is damaged ends it and costs only the rest."""
    found: Fields = {}
    charset = b""
    for count, (record, number, value) in enumerate(_datasets(block[:_MOST_BYTES])):
        if count >= _MOST_FIELDS:
            break
        if (record, number) == (1, 90):
            charset = value
        elif record == 2:
            text = as_text(_decoded(value, utf8=charset == _UTF8))
            if text:
                found.setdefault(number, []).append(text)
    return found


def _datasets(block: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = block.find(b"\x1c")
    while at >= 0 and at + 5 <= len(block) and block[at] == 0x1C:
        length = int.from_bytes(block[at + 3 : at + 5])
        # Lengths above 32 KiB are written in another way, for pictures within pictures.
        if length & 0x8000 or at + 5 + length > len(block):
            return
        yield block[at + 1], block[at + 2], block[at + 5 : at + 5 + length]
        at += 5 + length


def _decoded(value: bytes, *, utf8: bool) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("utf-8" if utf8 else "cp1252", "replace")


def said(block: bytes) -> Said:
    """Read what a block says; never fails."""
    known, found = fields(block), Said()
    title = known.get(5) or known.get(105) or [""]
    found.title = line(title[0], LONGEST_TITLE) or None
    found.tag(known.get(25, []))
    for fact, number in _FACTS.items():
        if number in known:
            found.facts[fact] = as_text(", ".join(known[number][:20]))
    _date(known, found)
    return found


_FACTS = {
    "description": 120,
    "artist": 80,
    "copyright": 116,
    "credit": 110,
    "city": 90,
    "state": 95,
    "country": 101,
}


def _date(known: Fields, found: Said) -> None:
    day, time = (known.get(55) or [""])[0], (known.get(60) or [""])[0]
    if len(day) != 8 or not day.isascii() or not day.isdigit():
        return
    written = f"{day[:4]}-{day[4:6]}-{day[6:]}"
    if len(time) >= 6 and time[:6].isascii() and time[:6].isdigit():
        written += f"T{time[:2]}:{time[2:4]}:{time[4:6]}{time[6:11]}"
    parsed = dates.parse(written)
    if parsed is not None:
        found.taken_at, found.taken_offset = parsed
