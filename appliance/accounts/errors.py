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


class NameTaken(Conflict):
    """Somebody has this name already, perhaps in other capitals."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is an account “{name}” already", "Choose another name.")


class WrongPassword(Invalid):
    """Whoever sits there could not say the present password."""

    def __init__(self) -> None:
        super().__init__("This is not your present password", "Nothing was changed.")


class LastAdmin(Conflict):
    """Without an administrator nobody could let anybody in again."""

    def __init__(self) -> None:
        super().__init__("This is the only administrator", "Make somebody else an administrator first.")
