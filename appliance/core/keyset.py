"""Keyset cursors: a position in an order, opaque in a URL and safe to tamper with."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from appliance.core.errors import Invalid


@dataclass(frozen=True, slots=True)
class Position:
    """One place in the order (instant, id); `effective_at` is wall time without a zone."""

    effective_at: datetime
    id: int

    def text(self) -> str:
        """The form that stands in URLs: `20261123T101500.000000_184391`."""
        # Not strftime: it drops leading zeros of years below 1000.
        e = self.effective_at
        day = f"{e.year:04d}{e.month:02d}{e.day:02d}"
        return f"{day}T{e.hour:02d}{e.minute:02d}{e.second:02d}.{e.microsecond:06d}_{self.id}"


def parse(text: str) -> Position:
    """Read a position; anything else is refused by name."""
    instant, _, number = text.partition("_")
    try:
        if not (number.isascii() and number.isdigit()) or int(number) >= 2**63:
            raise ValueError
        return Position(datetime.strptime(instant, "%Y%m%dT%H%M%S.%f"), int(number))  # noqa: DTZ007 - wall time
    except ValueError:
        raise Invalid(f"“{text[:60]}” is not a place in the gallery", "Start at the top.") from None
