"""The one error family; three edges (command line, web, queues) turn it into words."""

from __future__ import annotations


class VitrineError(Exception):
    """A refusal that a person can act on: what happened (`title`) and the way out (`hint`)."""

    status = 500

    def __init__(self, title: str, hint: str = "", *, status: int | None = None) -> None:
        super().__init__(title)
        self.title = title
        self.hint = hint
        if status is not None:
            self.status = status

    def line(self) -> str:
        """Both halves in one line, for a terminal."""
        return f"{self.title}. {self.hint}" if self.hint else self.title


class NotFound(VitrineError):
    """The named thing does not exist, or not for this person."""

    status = 404


class Conflict(VitrineError):
    """The thing exists already or is in another state than the request assumes."""

    status = 409


class Invalid(VitrineError):
    """The input cannot be understood; the title names the part that is wrong."""

    status = 422


class SettingsError(VitrineError):
    """A setting is unknown or has a value that cannot be used."""


class Unavailable(VitrineError):
    """A dependency does not answer at this moment; the same request may work later."""

    status = 503
