"""What a browser told us about itself in cookies: theme, density, width."""

from __future__ import annotations

from typing import Any, NamedTuple

from litestar import Request
from litestar.datastructures import Cookie

from appliance.accounts.sessions import Person


THEMES = frozenset({"light", "dark"})
DENSITIES = {"s": "S", "m": "M", "l": "L"}
WIDTHS = frozenset({"wide", "tablet", "phone"})
# How many heights a row is wide; more means smaller pictures.
TARGETS = {
    ("wide", "s"): 11.0,
    ("wide", "m"): 7.0,
    ("wide", "l"): 4.5,
    ("tablet", "s"): 7.5,
    ("tablet", "m"): 5.0,
    ("tablet", "l"): 3.25,
    ("phone", "s"): 4.0,
    ("phone", "m"): 2.75,
    ("phone", "l"): 1.75,
}
YEAR = 365 * 86400


class Visitor(NamedTuple):
    """One request's view settings and, when signed in, its person."""

    theme: str
    density: str
    width: str
    person: Person | None

    @classmethod
    def of(cls, request: Request[Any, Any, Any]) -> Visitor:
        """Read the cookies; anything unknown is the default."""
        jar = request.cookies
        theme, density, width = jar.get("theme", ""), jar.get("density", ""), jar.get("view", "")
        return cls(
            theme if theme in THEMES else "",
            density if density in DENSITIES else "m",
            width if width in WIDTHS else _guess(request.headers.get("User-Agent", "")),
            request.scope.get("state", {}).get("person"),
        )

    @property
    def target(self) -> float:
        """The width of a full row in heights."""
        return TARGETS[(self.width, self.density)]


def _guess(agent: str) -> str:
    # Only until the script has measured the window and set the cookie.
    return "phone" if "Mobi" in agent else "wide"


def remember(name: str, value: str) -> Cookie:
    """A view setting that a script may read; it holds no secret."""
    return Cookie(key=name, value=value, path="/", max_age=YEAR, samesite="lax", httponly=False)
