"""Two pictures fact by fact: what differs, which of them is the better one, and why."""

from __future__ import annotations

from typing import NamedTuple

from appliance.core import names
from appliance.duplicates.services import Side
from appliance.library.models import DateSource
from appliance.web import words


LOSSLESS = frozenset({"image/png", "image/apng", "image/bmp", "image/tiff"})
SOURCES = list(DateSource)


class Fact(NamedTuple):
    """One fact of one side; the mark says how it stands to the other, and whether that is for it."""

    label: str
    text: str
    mark: str = ""
    good: bool = False


class Versus(NamedTuple):
    """Both sides, with a proposal."""

    a: list[Fact]
    b: list[Fact]
    keep: int
    """The asset that is proposed to stay."""
    reason: str


def versus(a: Side, b: Side) -> Versus:
    """Put two sides beside each other."""
    keep, reason = proposal(a, b)
    return Versus(facts(a, b), facts(b, a), keep, reason)


def proposal(a: Side, b: Side) -> tuple[int, str]:
    """Which one to keep, and why, in one sentence about the two as they are named on the page."""
    for measure, says in _BETTER:
        one, other = measure(a), measure(b)
        if one != other:
            better, letter = (a, "A") if one > other else (b, "B")
            return better.id, f"{letter} {says}."
    return a.id, "Nothing tells them apart; A was here first." if a.id < b.id else "B was here first."


def _there(side: Side) -> bool:
    return not side.missing


def _larger(side: Side) -> int:
    return side.pixels


def _lossless(side: Side) -> bool:
    return side.mime in LOSSLESS


def _bytes(side: Side) -> int:
    return side.size


def _said(side: Side) -> int:
    return side.own_tags + side.rating + side.favourite + bool(side.title)


_BETTER = (
    (_there, "has its file; that of the other one is missing"),
    (_larger, "has more pixels"),
    (_lossless, "is stored without loss"),
    (_bytes, "is the larger file, so probably less compressed"),
    (_said, "carries more of what you said about it"),
)


def facts(side: Side, other: Side) -> list[Fact]:
    """The facts of one side, each against the other's."""
    found = [_pixels(side, other), _file(side, other)]
    if side.duration_ms or other.duration_ms:
        found.append(Fact("Length", words.length(side.duration_ms) if side.duration_ms else words.NOTHING))
    return [
        *found,
        _taken(side, other),
        _added(side, other),
        _origin(side),
        _tags(side, other),
        *_opinion(side),
    ]


def _pixels(side: Side, other: Side) -> Fact:
    text = f"{side.width:,} × {side.height:,}"  # noqa: RUF001 - the real multiplication sign
    if (side.width, side.height) == (other.width, other.height):
        return Fact("Pixels", text, "same")
    if side.pixels <= other.pixels:
        return Fact("Pixels", text)
    return Fact("Pixels", text, f"{side.pixels / max(1, other.pixels):.1f} times as many", good=True)


def _file(side: Side, other: Side) -> Fact:
    text = f"{words.size(side.size)}, {words.form(side.mime)}"
    if side.missing:
        return Fact("File", f"Missing. It was {text}")
    if side.bit_rate:
        text += f", {side.bit_rate / 1e6:.1f} Mbit/s"
    if _lossless(side) and not _lossless(other):
        return Fact("File", text, "without loss", good=True)
    alike = side.mime == other.mime and side.pixels == other.pixels
    if alike and side.size > other.size:
        return Fact("File", text, "less compressed", good=True)
    return Fact("File", text, "same" if alike and side.size == other.size else "")


def _taken(side: Side, other: Side) -> Fact:
    text = words.wall(side.taken_at) if side.taken_at else words.NOTHING
    better = SOURCES.index(DateSource(side.date_source)) < SOURCES.index(DateSource(other.date_source))
    if side.taken_at and other.taken_at is None:
        return Fact("Taken", text, "knows its date", good=True)
    return Fact("Taken", text, "better known" if better and side.taken_at else "", good=better)


def _added(side: Side, other: Side) -> Fact:
    days = (other.added_at - side.added_at).days
    mark = f"{words.count(days, 'day')} earlier" if days > 0 else ""
    return Fact("Added", words.ago(side.added_at), mark)


def _origin(side: Side) -> Fact:
    came = {"upload": "Upload", "subscription": "Subscription", "folder": "Folder"}.get(side.how or "", "")
    text = f"{came}: {names.display(side.path)}" if side.path else came or words.NOTHING
    more = side.origins - 1
    return Fact("Source", text, f"{more} more" if more > 0 else "")


def _tags(side: Side, other: Side) -> Fact:
    text = words.number(side.tags) + (f", {side.own_tags} by people" if 0 < side.own_tags < side.tags else "")
    more = side.tags - other.tags
    return Fact("Tags", text, f"{more} more" if more > 0 else "", good=more > 0)


def _opinion(side: Side) -> list[Fact]:
    said = [words.count(side.rating, "star")] if side.rating else []
    said += ["favourite"] if side.favourite else []
    said += [f"“{side.title}”"] if side.title else []
    return [Fact("Yours", ", ".join(said) or words.NOTHING)]
