"""Why somebody was not let in."""

from __future__ import annotations

from appliance.core.errors import Conflict, Invalid, VitrineError


class NoMatch(Invalid):
    """The name and the password do not belong together; which of the two is wrong is not said."""

    def __init__(self) -> None:
        super().__init__("Name and password do not match", "Check both, then try again.")


class TooManyTries(VitrineError):
    """Sign-in from here, or for this name, has to wait; the wait always ends."""

    status = 429

    def __init__(self, seconds: int) -> None:
        super().__init__("Too many tries", f"Wait {seconds} s, then try again.")
        self.seconds = seconds


class SetUpAlready(Conflict):
    """There is an administrator, so the set-up page is closed for good."""

    def __init__(self) -> None:
        super().__init__("Vitrine is set up already", "Sign in instead.")


class WrongCode(Invalid):
    """The set-up code is not the one that was printed at the last start."""

    def __init__(self) -> None:
        super().__init__(
            "This is not the set-up code", "It is printed when Vitrine starts; a restart prints a new one."
        )


class WeakPassword(Invalid):
    """The password could be guessed."""


class BadName(Invalid):
    """The name cannot be used for signing in."""
