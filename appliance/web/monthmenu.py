"""Months as links: the bars of the scrubber and the entries of the menu."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from appliance.web import places, words


LONGEST = 12
"""The bar of the fullest month, in the steps that the style sheet knows."""


class Month(NamedTuple):
    """One month of a search."""

    of: str
    words: str
    short: str
    assets: int
    length: int
    url: str


def by_year(found: Sequence[tuple[date, int]], q: str) -> list[tuple[int, list[Month]]]:
    """Newest first, with bars as long as they are full."""
    most = max((count for _, count in found), default=1)
    years: dict[int, list[Month]] = {}
    for first, count in sorted(found, reverse=True):
        if count > 0:
            years.setdefault(first.year, []).append(_month(first, count, most, q))
    return list(years.items())


def _month(first: date, count: int, most: int, q: str) -> Month:
    of = f"{first.year:04d}-{first.month:02d}"
    return Month(
        of,
        f"{words.LONG_MONTHS[first.month - 1]} {first.year}",
        words.MONTHS[first.month - 1],
        count,
        max(1, round(LONGEST * count / most)),
        places.gallery(q, at=of) + f"#m{of}",
    )
