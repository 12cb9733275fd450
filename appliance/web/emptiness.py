"""A search that finds nothing names the words that are to blame, each with what it would find without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from appliance.search import explaining, grammar
from appliance.search.explaining import Part
from appliance.search.plan import Plan
from appliance.web import filters, places
from appliance.web.filters import Chip


if TYPE_CHECKING:
    from asyncpg import Connection

    from appliance.tagging.services import TagView


BARE = {
    "is:trashed": (
        "Nothing lies in the trash",
        "What you throw away can be taken back from here for 30 days.",
    ),
    "is:archived": ("The archive is empty", "What you put aside leaves the gallery and stays here."),
    "is:private": (
        "Nothing is private",
        "What is marked private is shown here only, and to administrators only.",
    ),
    "is:favourite": ("No favourites yet", "Press F on a picture, or mark it where it is open."),
}
ALL = ("", "this", "both", "all three", "all four", "all five", "all six", "all seven", "all eight")


class Way(NamedTuple):
    """One way on: the search without a part of it, or with a name that exists."""

    before: str
    chip: Chip
    behind: str
    url: str
    finds: str
    """How many it would find; empty where nobody knows."""


class Nothing(NamedTuple):
    """What the page says, and the ways on."""

    title: str
    lead: str
    ways: tuple[Way, ...]


async def explain(sql: Connection[Any], plan: Plan) -> Nothing:
    """Why there is nothing, and what would find something."""
    if (bare := BARE.get(plan.query.text)) is not None:
        return Nothing(*bare, ())
    parts = await explaining.explain(sql, plan)
    # A viewer is not told which names exist: they may be those of pictures that are hidden from him.
    unknown = [p for p in parts if p.unknown and plan.scope.admin]
    ways = [_instead(plan, part, tag) for part in unknown for tag in part.alike]
    ways += [_without(part) for part in parts if part.count != 0 and len(parts) > 1]
    return Nothing(_title(parts, unknown), _lead(parts, unknown, ways), tuple(ways))


def _title(parts: list[Part], unknown: list[Part]) -> str:
    if len(unknown) == 1:
        return f"No tag is called “{unknown[0].text}”"
    if unknown:
        return "No tags are called " + " or ".join(f"“{p.text}”" for p in unknown)
    if not parts:
        return "Nothing is here yet"
    return f"No picture matches {ALL[len(parts)] if len(parts) < len(ALL) else 'all of these'}"


def _lead(parts: list[Part], unknown: list[Part], ways: list[Way]) -> str:
    if any(p.alike for p in unknown):
        return "Perhaps one of these was meant."
    if len(ways) > 1:
        return "Each of these searches would find something."
    if ways:
        return "This search would find something."
    if len(parts) < 2:
        return "The rest of the gallery is where it was."
    return "Leaving out one of its parts would not find anything either."


def _chip(text: str) -> Chip:
    return filters.box(grammar.parse(text), {}).chips[0]


def _without(part: Part) -> Way:
    finds = "" if part.count is None else f"{part.count:,}"
    more = "+" if part.count == explaining.ENOUGH else ""
    return Way("Without", _chip(part.text), "", places.gallery(part.without), finds + more)


def _instead(plan: Plan, part: Part, tag: TagView) -> Way:
    name = filters.tag_text(tag.name, tag.kind)
    minus = "-" if part.text.startswith("-") else ""
    text = grammar.parse(part.without).with_(minus + name)
    # Of the one tag it is known how many there are; beside other parts that would be another number.
    finds = f"{tag.uses:,}" if plan.query.node is not None and not part.without else ""
    return Way("With", _chip(name), "instead", places.gallery(text), finds)
