"""The buttons over a picture: what each of them asks for."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from appliance.core.errors import Invalid
from appliance.operations.kinds import Kind, arguments


class Marks(msgspec.Struct):
    """The form of the marks: whichever button was pressed."""

    rating: str = ""
    favourite: str = ""
    private: str = ""
    state: str = ""


class Wish(NamedTuple):
    """One action of the marks, and the words of a line with an undo where it is worth one."""

    kind: Kind
    arguments: dict[str, Any]
    told: str = ""


FAVOURITES = {"1": Wish(Kind.FAVOURITE, {}), "0": Wish(Kind.UNFAVOURITE, {})}
PRIVACY = {
    "1": Wish(Kind.PRIVATE, {}, "Only administrators see it now"),
    "0": Wish(Kind.PUBLIC, {}, "Everybody sees it again"),
}
STATES = {
    "archive": Wish(Kind.ARCHIVE, {}, "Archived"),
    "keep": Wish(Kind.KEEP, {}, "Taken out of the archive"),
    "trash": Wish(Kind.TRASH, {}, "Moved to the trash"),
    "restore": Wish(Kind.RESTORE, {}, "Restored"),
}


def wish_of(sent: Marks) -> Wish:
    """What a pressed button asks for; refused when it is none of ours."""
    if sent.rating:
        return Wish(Kind.RATE, arguments(Kind.RATE, {"rating": sent.rating}))
    if sent.favourite in FAVOURITES:
        return FAVOURITES[sent.favourite]
    if sent.private in PRIVACY:
        return PRIVACY[sent.private]
    if sent.state in STATES:
        return STATES[sent.state]
    raise Invalid("No button was pressed")
