"""Keyset cursors: a position in an order, opaque in a URL and safe to tamper with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Literal, TypeVar

from appliance.core.errors import Invalid


T = TypeVar("T")


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


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A run of items and whether more lie beyond either end."""

    items: Sequence[T]
    more: bool


Direction = Literal["before", "after"]


def page(
    rows: Sequence[T], *, limit: int, backwards: bool, keep: Callable[[T], bool] | None = None
) -> Page[T]:
    """Cut a result that was asked for one row too many, and put a backward one into reading order."""
    more = len(rows) > limit
    items = [r for r in rows[:limit] if keep is None or keep(r)]
    if backwards:
        items.reverse()
    return Page(items, more)
