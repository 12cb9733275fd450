"""Keyset cursors: a position in an order, opaque in a URL and safe to tamper with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from appliance.core.errors import Invalid


LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Position:
    """One place in the order (value, id); the value is what is sorted by: wall time, or a whole number."""

    value: datetime | int
    id: int

    @property
    def effective_at(self) -> datetime:
        """The wall time of a place in an order of dates; other orders have none."""
        if not isinstance(self.value, datetime):
            raise Invalid(f"“{self.text()}” is not a place in an order of dates", "Start at the top.")
        return self.value

    def text(self) -> str:
        """The form that stands in URLs: `20261123T101500.000000_184391`, or `5_184391`."""
        return f"{_instant(self.value) if isinstance(self.value, datetime) else self.value}_{self.id}"


def _instant(e: datetime) -> str:
    # Not strftime: it drops leading zeros of years below 1000.
    day = f"{e.year:04d}{e.month:02d}{e.day:02d}"
    return f"{day}T{e.hour:02d}{e.minute:02d}{e.second:02d}.{e.microsecond:06d}"


def parse(text: str) -> Position:
    """Read a position; anything else is refused by name."""
    value, _, number = text.partition("_")
    try:
        return Position(_value(value), _number(number))
    except ValueError:
        raise Invalid(f"“{text[:60]}” is not a place in the gallery", "Start at the top.") from None


def _value(text: str) -> datetime | int:
    if "T" in text:
        return datetime.strptime(text, "%Y%m%dT%H%M%S.%f")  # noqa: DTZ007 - wall time
    return _number(text)


def _number(text: str) -> int:
    # Longer digits than a bigint has are not even read: their conversion is quadratic.
    if not (text.isascii() and text.isdigit() and len(text) <= 19) or int(text) > LARGEST:
        raise ValueError
    return int(text)
