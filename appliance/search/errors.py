"""Refusals of a search, each at the words that it concerns."""

from __future__ import annotations

from appliance.core.errors import Invalid, Unavailable


class SearchError(Invalid):
    """A part of the search that cannot be understood; `start` and `end` say which part."""

    def __init__(self, title: str, hint: str = "", *, start: int = 0, end: int = 0) -> None:
        super().__init__(title, hint)
        self.start = start
        self.end = max(start, end)


class TooSlow(Unavailable):
    """The search was stopped, so that it could not hold up everybody else."""

    def __init__(self) -> None:
        super().__init__(
            "This search takes too long", "Add a tag or a date, so that less has to be looked through."
        )
