"""Refusals of tagging."""

from __future__ import annotations

from appliance.core.errors import Conflict, Invalid, NotFound


class BadName(Invalid):
    """A name that no tag can have."""


class BadKind(Invalid):
    """A kind that does not exist, or a fandom where there can be none."""


class NoTag(NotFound):
    """The tag is not there (any more)."""

    def __init__(self) -> None:
        super().__init__("This tag is gone", "It was deleted or merged meanwhile.")


class Taken(Conflict):
    """The name belongs to another tag; merging into that one is the way out."""

    def __init__(self, name: str, other_id: int) -> None:
        quoted = f"\N{LEFT DOUBLE QUOTATION MARK}{name}\N{RIGHT DOUBLE QUOTATION MARK}"
        super().__init__(f"{quoted} is a tag already", "The two can be merged.")
        self.other_id = other_id


class InUse(Conflict):
    """Something still depends on the tag."""
