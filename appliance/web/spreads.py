"""What of a volume is seen at once: one page or two, and what comes before and after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from litestar import Request

from appliance.library import volumes
from appliance.library.volumes import PageView, VolumeView


if TYPE_CHECKING:
    from asyncpg import Connection

FITS = {"page": "Whole page", "width": "Full width", "real": "Real size"}
COOKIE = "reader"


@dataclass(frozen=True, slots=True)
class Manner:
    """How a person reads: one page or two, how large, from which side."""

    fit: str
    two: bool
    right_to_left: bool

    @classmethod
    def of(cls, request: Request[Any, Any, Any], volume: VolumeView) -> Manner:
        """What the address says, else what was chosen last, else what suits the volume."""
        asked = request.query_params
        kept_fit, _, kept_two = request.cookies.get(COOKIE, "").partition(".")
        fit = asked.get("fit", kept_fit)
        two = asked.get("two", "1" if kept_two == "two" else "0") == "1"
        way = asked.get("rtl", "1" if volume.right_to_left else "0") == "1"
        return cls(fit if fit in FITS else "page", two, way)

    @property
    def kept(self) -> str:
        """As it stands in the cookie."""
        return f"{self.fit}.{'two' if self.two else 'one'}"


@dataclass(frozen=True, slots=True)
class Spread:
    """The pages that are seen at once, in their order."""

    volume: VolumeView
    manner: Manner
    pages: Sequence[PageView]

    @property
    def first(self) -> int:
        """The number of its first page, which is its place."""
        return self.pages[0].position

    @property
    def last(self) -> int:
        """The number of its last page."""
        return self.pages[-1].position

    @property
    def previous(self) -> int | None:
        """A page of the one before."""
        return self.first - 1 if self.first > 1 else None

    @property
    def next(self) -> int | None:
        """The first page of the one after it."""
        return self.last + 1 if self.last < self.volume.pages else None

    @property
    def told(self) -> str:
        """Which pages these are, in words."""
        here = f"{self.first:,}" if self.first == self.last else f"{self.first:,}–{self.last:,}"  # noqa: RUF001
        return f"{here} of {self.volume.pages:,}"

    def to(self, page: int | None = None, **changed: str) -> str:
        """The address of a page, read in the same manner or in a changed one."""
        manner = {
            "fit": self.manner.fit,
            "two": str(int(self.manner.two)),
            "rtl": str(int(self.manner.right_to_left)),
        }
        asked = {"page": str(page or self.first)} | manner | changed
        return f"/asset/{self.volume.asset_id}/read?{urlencode(asked)}"


async def spread(sql: Connection[Any], volume: VolumeView, page: int, manner: Manner) -> Spread:
    """The spread in which a page stands: the cover alone, then two by two; a wide page stands alone."""
    page = max(1, min(page, volume.pages))
    first, last = page, page
    if manner.two and page > 1:
        first = page - page % 2
        last = min(first + 1, volume.pages)
    found = await volumes.pages(sql, volume.asset_id, first, last)
    if len(found) > 1 and any(each.wide for each in found):
        found = [each for each in found if each.position == page]
    return Spread(volume, manner, found)
