"""The search box and the menus beside it: each entry is the same search, changed by one term."""

from __future__ import annotations

import enum
import secrets
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from appliance.core import clock
from appliance.core.errors import VitrineError
from appliance.search import grammar, tree
from appliance.search.errors import SearchError
from appliance.search.query import Query, Term, show_leaf
from appliance.search.tree import And, Node, Not, Tag
from appliance.tagging.names import KINDS
from appliance.web import places


SORTS = {
    "date": "Date taken",
    "added": "Date added",
    "rating": "Rating",
    "size": "Size",
    "duration": "Length",
}
RANDOM = "Random"


class Sorting(enum.StrEnum):
    """The orders as an address may name them beside a search; anything else is no request."""

    DATE = "date"
    ADDED = "added"
    RATING = "rating"
    SIZE = "size"
    DURATION = "duration"
    RANDOM = "random"


SHUFFLES = 1_000_000
REMEMBERED = 256
WORLDS = ("is:archived", "is:trashed", "is:private")


class Chip(NamedTuple):
    """One part of the search as it stands in the box; `without` is the search when it is removed."""

    text: str
    negated: bool
    prefix: str
    value: str
    kind: str
    without: str


class Box(NamedTuple):
    """The search box of a page."""

    q: str
    chips: tuple[Chip, ...] = ()
    error: bool = False


class Refusal(NamedTuple):
    """A search that was refused, cut at the words that it was refused for."""

    before: str
    token: str
    behind: str
    title: str
    hint: str


class Choice(NamedTuple):
    """One entry of a menu."""

    words: str
    url: str
    on: bool


class Group(NamedTuple):
    """Entries that belong together."""

    words: str
    choices: tuple[Choice, ...]


def refusal(q: str, error: VitrineError) -> Refusal:
    """Where in the text the error is, and what it says; a search that was too slow is at fault as a whole."""
    if not isinstance(error, SearchError):
        return Refusal(q, "", "", error.title, error.hint)
    start, end = min(error.start, len(q)), min(error.end, len(q))
    return Refusal(q[:start], q[start:end] or " ", q[end:], error.title, error.hint)


def tag_text(name: str, kind: str) -> str:
    """A tag as it is typed; its kind is said where it has one of its own."""
    return show_leaf(Tag(name, None if kind == "general" else kind))


def box(query: Query, kinds: Mapping[str, str]) -> Box:
    """The search as chips; `kinds` says of which kind a tag is that was named without one."""
    q = query.source.strip()
    return Box(q, tuple(_chips(query, kinds)))


def _chips(query: Query, kinds: Mapping[str, str]) -> Iterator[Chip]:
    parts = tree.conjuncts(query.node)
    terms = {id(t.leaf): t for t in query.terms}
    for part in parts:
        rest = tree.joined(And, [p for p in parts if p is not part])
        without = places.gallery(Query("", rest, query.sort).text)
        leaf = part.child if isinstance(part, Not) else part
        term = terms.get(id(leaf))
        yield _chip(term, kinds, without) if term else _group(part, without)
    for term in query.terms:
        if term.leaf is None:
            yield Chip(term.text, term.negated, "sort", term.value, "general", _without(query, term))


def _chip(term: Term, kinds: Mapping[str, str], without: str) -> Chip:
    value = term.value + ("*" if term.prefix else "")
    value = value.replace("_", " ") if term.kind == "tag" else value
    kind = term.key if term.key in KINDS else "general" if term.key else kinds.get(term.value, "general")
    return Chip(term.text, term.negated, term.key, value, kind, without)


def _group(part: Node, without: str) -> Chip:
    negated = isinstance(part, Not)
    text = Query("", part.child if isinstance(part, Not) else part).text
    return Chip(("-" if negated else "") + f"({text})", negated, "", text, "general", without)


def _without(query: Query, term: Term) -> str:
    return places.gallery(query.without(term))


def sorted_by(query: Query) -> str:
    """What the order is called."""
    order = query.sort.order if query.sort else "date"
    return SORTS.get(order, RANDOM)


def sorts(query: Query) -> tuple[Choice, ...]:
    """The orders; random is another one each time."""
    shuffle = query.with_(f"sort:random:{secrets.randbelow(SHUFFLES)}")
    on = query.sort is not None and query.sort.order == "random"
    return (*_orders(query.source), Choice(RANDOM, places.gallery(shuffle), on))


@lru_cache(REMEMBERED)
def _orders(source: str) -> tuple[Choice, ...]:
    query = grammar.parse(source)
    now = query.sort.order if query.sort else "date"
    urls = {o: query.with_("" if o == "date" else f"sort:{o}", instead=("sort",)) for o in SORTS}
    return tuple(Choice(SORTS[o], places.gallery(q), o == now) for o, q in urls.items())


def other_way(query: Query) -> tuple[str, bool]:
    """The same order from its other end, and whether it is turned now; none for a shuffled one."""
    if query.sort is None:
        return places.gallery(query.with_("-sort:date")), False
    if query.sort.order == "random":
        return "", False
    order, turned = query.sort.order, query.sort.reverse
    if order == "date" and turned:
        return places.gallery(query.with_("", instead=("sort",))), True
    return places.gallery(query.with_(f"{'' if turned else '-'}sort:{order}")), turned


def _entries(*, admin: bool, year: int) -> Iterator[tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]]:
    yield (
        "Type",
        ("type",),
        (
            ("type:image", "Pictures"),
            ("type:animation", "Animations"),
            ("type:video", "Videos"),
            ("type:volume", "Volumes"),
        ),
    )
    yield (
        "Rating",
        ("rating",),
        (
            ("rating:>=3", "3 or more"),
            ("rating:>=4", "4 or more"),
            ("rating:5", "5"),
            ("rating:0", "Not rated"),
        ),
    )
    yield "Marks", (), (("is:favourite", "Favourites"), ("is:untagged", "Untagged"))
    yield "Taken", ("date",), ((f"date:{year}", str(year)), (f"date:{year - 1}", str(year - 1)))
    yield "Added", ("added",), (("added:today", "Today"), ("added:<7d", "7 days"), ("added:<30d", "30 days"))
    if admin:
        hidden = (("is:archived", "Archive"), ("is:trashed", "Trash"), ("is:private", "Private"))
        yield "Not in the gallery", (), hidden


def filters(query: Query, *, admin: bool) -> tuple[Group, ...]:
    """What can be added to the search or taken out of it again."""
    return _filters(query.source, admin=admin, year=clock.now().year)


# A dozen searches read and changed: too much for each page of somebody who leafs through one search.
@lru_cache(REMEMBERED)
def _filters(source: str, *, admin: bool, year: int) -> tuple[Group, ...]:
    query = grammar.parse(source)
    mine = {t.text: t for t in query.terms}
    return tuple(
        Group(words, tuple(_choice(query, mine, text, name, keys) for text, name in choices))
        for words, keys, choices in _entries(admin=admin, year=year)
    )


def _choice(query: Query, mine: Mapping[str, Term], text: str, name: str, keys: tuple[str, ...]) -> Choice:
    canonical = grammar.parse(text).text
    if canonical in mine:
        return Choice(name, places.gallery(query.without(mine[canonical])), on=True)
    base = _in_gallery(query) if text in WORLDS else query
    return Choice(name, places.gallery(base.with_(text, instead=keys)), on=False)


def _in_gallery(query: Query) -> Query:
    # Archive, trash and private exclude each other: asking for one is leaving the other.
    while term := next((t for t in query.terms if t.text in WORLDS), None):
        query = grammar.parse(query.without(term))
    return query
