"""What a bulk action may be asked to do, and how its arguments are read."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from datetime import datetime, time
from typing import Any

from appliance.core.errors import Invalid
from appliance.library import editing


class Kind(enum.StrEnum):
    """The things that can be done to assets and stand in the history."""

    TAG = "tag"
    UNTAG = "untag"
    RATE = "rate"
    FAVOURITE = "favourite"
    UNFAVOURITE = "unfavourite"
    ARCHIVE = "archive"
    KEEP = "keep"
    TRASH = "trash"
    RESTORE = "restore"
    PRIVATE = "private"
    PUBLIC = "public"
    DATE = "date"
    OWN_DATE = "own_date"
    TITLE = "title"
    NOTE = "note"
    TURN = "turn"
    KEEP_ONE = "keep_one"
    ALTERNATE = "alternate"
    DIFFERENT = "different"
    PURGE = "purge"
    UNDO = "undo"


FINAL = frozenset({Kind.PURGE, Kind.UNDO})
"""What cannot be undone: files that are gone, and an undo itself (doing it again is the way)."""
VERDICTS = frozenset({Kind.ALTERNATE, Kind.DIFFERENT})
"""What is said about two pictures that look alike and both stay."""
PAIRED = VERDICTS | {Kind.KEEP_ONE}
"""What is decided about two pictures that look alike."""
SINGLE = frozenset({Kind.OWN_DATE, Kind.TITLE, Kind.NOTE, Kind.TURN}) | PAIRED
"""What is done where the picture (or the pair) is open; no selection is asked for it."""
TAGGING = frozenset({Kind.TAG, Kind.UNTAG})
LONGEST_SHIFT_S = 200 * 366 * 86_400
"""Two centuries: more is a slip of the hand, and sums stay inside what a timestamp holds."""


def read(kind: str) -> Kind:
    """The kind that a form names; anything else is refused."""
    try:
        return Kind(kind)
    except ValueError:
        raise Invalid(f"“{kind[:40]}” is nothing that can be done to pictures") from None


def arguments(kind: Kind, form: Mapping[str, str]) -> dict[str, Any]:
    """What the kind needs besides the selection; tags are resolved by their own domain."""
    match kind:
        case Kind.RATE:
            return {"rating": _rating(form.get("rating", ""))}
        case Kind.DATE:
            return _date(form)
        case Kind.TITLE:
            return {"title": editing.title_of(form.get("title", ""))}
        case Kind.NOTE:
            return {"note": editing.note_of(form.get("note", ""))}
        case Kind.TURN:
            return {"by": editing.angle_of(form.get("by", ""))}
        case _:
            return {}


def _rating(text: str) -> int:
    if text not in {"0", "1", "2", "3", "4", "5"}:
        raise Invalid("A rating is a number from 0 to 5")
    return int(text)


def _date(form: Mapping[str, str]) -> dict[str, Any]:
    to = form.get("to", "").strip()
    if to:
        return {"to": _moment(to).isoformat()}
    shift = sum(_whole(form.get(name, "")) * size for name, size in _UNITS.items())
    if not shift:
        raise Invalid("Say by how much the dates shall move", "Days, hours or minutes; minus moves back.")
    if abs(shift) > LONGEST_SHIFT_S:
        raise Invalid("Dates move by two hundred years at most")
    return {"shift": shift}


_UNITS = {"days": 86_400, "hours": 3_600, "minutes": 60}


def _whole(text: str) -> int:
    text = text.strip() or "0"
    digits = text.removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 9):
        raise Invalid(f"“{text[:20]}” is not a whole number")
    return -int(digits) if text.startswith("-") else int(digits)


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(
            f"“{text[:40]}” is not a date", "Write it like 2024-05-17 or 2024-05-17T18:30."
        ) from None
    if found.tzinfo is not None:
        raise Invalid("A date here is wall time, without a zone")
    # A day without a time means noon: it stays in its day for whoever looks at it.
    return datetime.combine(found, time(12)) if len(text) == len("2024-05-17") else found
