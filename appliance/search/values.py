"""Values of filters: words, ranges of numbers, and spans of time; all half-open."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import MAXYEAR, date, datetime, timedelta
from fractions import Fraction
from typing import NamedTuple


class BadValue(ValueError):
    """The value cannot be understood; the key's own words say what would be."""


@dataclass(frozen=True, slots=True)
class Word:
    """One of the words that a key knows, or free text."""

    text: str


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` on and below `high`; None is no end. The ends themselves belong to it as the flags say."""

    low: Fraction | None = None
    high: Fraction | None = None
    with_low: bool = True
    with_high: bool = True


@dataclass(frozen=True, slots=True)
class Days:
    """Calendar days: from `low` on and before `high`."""

    low: date | None = None
    high: date | None = None


@dataclass(frozen=True, slots=True)
class Ago:
    """Counted back from now: within the last `span`, or before that."""

    span: timedelta
    within: bool


@dataclass(frozen=True, slots=True)
class Today:
    """A day by its distance from today."""

    back: int


Value = Word | Range | Days | Ago | Today


class Amount(NamedTuple):
    """A number, and the half-open span of what would be written like it."""

    value: Fraction
    low: Fraction
    high: Fraction


Reader = Callable[[str], Amount]
_COMPARED = re.compile(r"(>=|<=|>|<|=)?(.*)", re.DOTALL)
_DECIMAL = re.compile(r"(\d{1,15})(?:\.(\d{1,9}))?")
_TIME = re.compile(r"(?:(\d{1,4}):)?(\d{1,6}):(\d{1,2})(?:\.(\d{1,3}))?")
_AGO = re.compile(r"(\d{1,5})(h|d|w|m|y)")
_DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
HOURS = {"h": 1, "d": 24, "w": 7 * 24, "m": 30 * 24, "y": 365 * 24}


def number_range(text: str, read: Reader) -> Range:
    """`5`, `>=5`, `<5`, `2..5`, `2..`, `..5`."""
    if ".." in text:
        low, _, high = text.partition("..")
        if not low and not high:
            raise BadValue
        first, last = (read(low).value if low else None), (read(high).value if high else None)
        if first is not None and last is not None and first > last:
            raise BadValue
        return Range(first, last)
    found = _COMPARED.fullmatch(text)
    sign, written = (found[1] or "=", found[2]) if found else ("", "")
    amount = read(written)
    match sign:
        case ">" | ">=":
            return Range(low=amount.value, with_low=sign == ">=")
        case "<" | "<=":
            return Range(high=amount.value, with_high=sign == "<=")
        case _:
            return Range(amount.low, amount.high, with_high=amount.low == amount.high)


def whole(text: str) -> Amount:
    """A whole number, exactly."""
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise BadValue
    return Amount(Fraction(int(text)), Fraction(int(text)), Fraction(int(text)))


def decimal(text: str, factor: int = 1) -> Amount:
    """A number as precise as it was written: `4` is all from 3.5 up to 4.5."""
    found = _DECIMAL.fullmatch(text)
    if not found:
        raise BadValue
    half = Fraction(1, 2 * 10 ** len(found[2] or ""))
    value = Fraction(text)
    return Amount(value * factor, max(Fraction(0), (value - half)) * factor, (value + half) * factor)


def with_unit(units: Mapping[str, int], plain: int) -> Reader:
    """Numbers with a unit; one without means `plain`, a factor that makes it exact when it is 1."""

    def read(text: str) -> Amount:
        digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
        unit = text[len(digits) :]
        if unit and unit not in units:
            raise BadValue
        factor = units[unit] if unit else plain
        return whole(digits) if factor == 1 else decimal(digits, factor)

    return read


SECOND = 1000
_seconds = with_unit(
    {"ms": 1, "s": SECOND, "sec": SECOND, "m": 60 * SECOND, "min": 60 * SECOND, "h": 3600 * SECOND}, SECOND
)


def duration(text: str) -> Amount:
    """Milliseconds: `10s`, `2m`, `1.5h`, `90`, `1:30`, `1:02:03`."""
    found = _TIME.fullmatch(text)
    if not found:
        return _seconds(text)
    seconds = int(found[1] or 0) * 3600 + int(found[2]) * 60 + int(found[3])
    return decimal(f"{seconds}.{found[4]}" if found[4] else str(seconds), SECOND)


def ratio(text: str) -> Amount:
    """Width by height, `16:9` or `1.78`; within one part in a hundred, as pictures are rounded."""
    left, colon, right = text.replace("/", ":").partition(":")
    width, height = decimal(left).value, decimal(right).value if colon else Fraction(1)
    if not width or not height:
        raise BadValue
    value = width / height
    return Amount(value, value * Fraction(99, 100), value * Fraction(101, 100))


def days(text: str) -> Days | Ago | Today:
    """`2024`, `2024-05`, `2024-05-31`, compared or as a range; `<7d`, `>1y`; `today`, `yesterday`."""
    if text in ("today", "yesterday"):
        return Today(int(text == "yesterday"))
    if ".." in text:
        low, _, high = text.partition("..")
        if not low and not high:
            raise BadValue
        first, last = _day(low)[0] if low else None, _day(high)[1] if high else None
        if first and last and first >= last:
            raise BadValue
        return Days(first, last)
    found = _COMPARED.fullmatch(text)
    sign, written = (found[1] or "=", found[2]) if found else ("", "")
    if ago := _AGO.fullmatch(written):
        return Ago(timedelta(hours=int(ago[1]) * HOURS[ago[2]]), within=sign in ("<", "<=", "="))
    return _compared(sign, *_day(written))


def _compared(sign: str, first: date, after: date | None) -> Days:
    match sign:
        case ">":
            # Behind the last day that there is, nothing is left.
            return Days(after or date.max, None if after else date.max)
        case ">=":
            return Days(first)
        case "<":
            return Days(high=first)
        case "<=":
            return Days(high=after)
        case _:
            return Days(first, after)


def _day(text: str) -> tuple[date, date | None]:
    # The first day and the one after the last; None where the calendar ends.
    found = _DATE.fullmatch(text)
    if not found or not text.isascii():
        raise BadValue
    year, month, day = int(found[1]), found[2], found[3]
    try:
        first = date(year, int(month or 1), int(day or 1))
    except ValueError:
        raise BadValue from None
    if day:
        return first, first + timedelta(days=1) if first < date.max else None
    carries = not month or first.month == 12
    year, following = (year + 1, 1) if carries else (year, first.month + 1)
    return first, date(year, following, 1) if year <= MAXYEAR else None


def span(value: Days | Ago | Today, now: datetime) -> tuple[datetime | None, datetime | None]:
    """From when on, and before when; wall times where `now` is the wall's."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    match value:
        case Ago(length, within):
            try:
                edge = now - length
            except OverflowError:
                edge = datetime.min.replace(tzinfo=now.tzinfo)
            return (edge, None) if within else (None, edge)
        case Today(back):
            return midnight - timedelta(days=back), midnight - timedelta(days=back - 1)
        case Days(low, high):
            return _midnight(low, now), _midnight(high, now)


def _midnight(day: date | None, now: datetime) -> datetime | None:
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=now.tzinfo)
