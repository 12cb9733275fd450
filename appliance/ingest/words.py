"""What files and their sidecars say, weighed: one title, one rating, one date, all tags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from appliance.library.models import DateSource
from appliance.media.said import Said


class Moment(msgspec.Struct, frozen=True):
    """A date as an asset carries it."""

    taken_at: datetime | None
    offset: int | None
    source: str
    effective_at: datetime


class Own(msgspec.Struct, frozen=True):
    """What a file itself said, and the date that it has without its sidecars."""

    date: Moment
    title: str | None = None
    rating: int | None = None
    tags: list[tuple[str, str]] = []


class Given(msgspec.Struct, frozen=True):
    """What was put on an asset; tags by id."""

    title: str | None = None
    rating: int = 0
    tags: list[int] = []


class Stated(msgspec.Struct, frozen=True):
    """What shall be on the asset, unless a person says otherwise."""

    title: str | None
    rating: int
    tags: list[tuple[str, str]]
    date: Moment


class Beside(msgspec.Struct, frozen=True):
    """One sidecar; `place` is the file of the asset it stands beside, `exact` when it names that wholly."""

    kind: str
    place: int
    exact: bool
    said: Said
    path: bytes
    read_at: datetime


_ORDER = {"xmp": 0, "json": 1, "txt": 2}
_OF_THE_FILE = frozenset({DateSource.EXIF, DateSource.CONTAINER})


def applying(sidecars: Iterable[Beside]) -> list[Beside]:
    """Those that count, the weightiest first: what a person wrote with a program, then a post, then tags.

    Beside one file, `a.jpg.xmp` stands for `a.xmp`.
    """
    found = list(sidecars)
    exact = {(s.place, s.kind) for s in found if s.exact}
    kept = [s for s in found if s.exact or (s.place, s.kind) not in exact]
    return sorted(kept, key=lambda s: (_ORDER.get(s.kind, 9), s.place))


def weigh(own: Own, said: Sequence[Said]) -> Stated:
    """Sidecars stand above the file's own words, and below its own date."""
    title = next((s.title for s in said if s.title), own.title)
    rating = next((s.rating for s in said if s.rating), own.rating)
    tags = list(dict.fromkeys([*own.tags, *(tag for s in said for tag in s.tags)]))
    return Stated(title, rating or 0, tags, _date(own, said))


def _date(own: Own, said: Sequence[Said]) -> Moment:
    if own.date.source in _OF_THE_FILE:
        return own.date
    for each in said:
        if each.taken_at is not None:
            return Moment(each.taken_at, each.taken_offset, DateSource.SIDECAR, each.taken_at)
    return own.date
