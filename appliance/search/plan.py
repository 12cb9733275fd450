"""How a search is read: which index is walked, and what is probed on the way.

A tag's own timeline is walked for the rarest tag that must be there; several common ones are merged in
that order. What is rare without being one tag is gathered and sorted. Everything else walks the order's
own index and probes each asset by key.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from appliance.core import clock, keyset
from appliance.core import settings as settings_module
from appliance.core.keyset import Position
from appliance.library.models import HIDDEN, VISIBLE
from appliance.search import orders, tree
from appliance.search.errors import SearchError
from appliance.search.found import Found
from appliance.search.gathering import MANY, size
from appliance.search.keys import KEYS, PAGES, WORLDS
from appliance.search.lookup import look_up
from appliance.search.orders import Order
from appliance.search.query import Query, Term
from appliance.search.tree import And, Filter, Node, Not, Or, Tag
from appliance.search.values import Word
from appliance.tagging.services import TagView


if TYPE_CHECKING:
    from asyncpg import Connection


WORLD_SQL = {
    "archived": "state = 'archived'",
    "trashed": "state = 'trashed'",
    "private": HIDDEN,
    "page": "state = 'inside' AND kind <> 'video'",
}
PAGE = 150
"""About what a page reads; with it is weighed whether gathering is cheaper than walking."""
ALWAYS_GATHERED = 1000


@dataclass(frozen=True, slots=True)
class Scope:
    """Who looks: viewers see what the timeline shows, and nothing tells them that there is more."""

    admin: bool = False


@dataclass(frozen=True)
class Plan:
    """A search with everything looked up that is needed to read it."""

    query: Query
    scope: Scope
    order: Order
    found: Found
    now: datetime
    worlds: tuple[str, ...] = (VISIBLE,)
    walked: tuple[Tag, ...] = ()
    """Tags whose timelines are merged, rarest first; each stands for one tag."""
    gathered: Node | None = None
    """The part of the search whose few assets are gathered and sorted."""
    nothing: bool = False
    """Something that must hold does not exist: no statement is needed to know the answer."""
    unknown: tuple[Tag, ...] = field(default=())
    """Tags that do not exist."""

    @property
    def sort(self) -> str:
        """The order as the grammar writes it, without its minus, like `date` or `random:7`."""
        return f"random:{self.order.seed}" if self.order.name == "random" else self.order.name

    @property
    def by_month(self) -> bool:
        """Whether months follow each other, so that their headings make sense."""
        return self.order.by_date

    @property
    def everything(self) -> bool:
        """Whether it is the whole timeline, in whatever order."""
        return self.query.empty

    def place(self, text: str) -> Position:
        """Read a place of this order from an address."""
        return self.order.check(keyset.parse(text))

    def tags_of(self, term: Term) -> Sequence[TagView]:
        """The tags that a term stands for, most used first."""
        return self.found.tags.get(term.leaf, ()) if isinstance(term.leaf, Tag) else ()

    def note_of(self, term: Term) -> str:
        """What a person must know about a term: how many tags its beginning stands for, or none."""
        tags = self.tags_of(term)
        if term.kind != "tag":
            return ""
        if term.prefix:
            return f"expands to {len(tags):,} tag{'' if len(tags) == 1 else 's'}"
        return "" if tags else "no such tag"

    def remaining(self) -> tuple[Node, ...]:
        """What the walk does not see to by itself."""
        return tuple(
            n
            for n in tree.conjuncts(self.query.node)
            if n not in self.walked and not (_world(n) and self.worlds == (WORLD_SQL[_world(n)],))
        )


async def plan(sql: Connection[Any], query: Query, scope: Scope, *, now: datetime | None = None) -> Plan:
    """Look up what the names stand for and choose how to read it; unknown tags match nothing."""
    _allowed(query, scope)
    moment = now or clock.now().astimezone(settings_module.current().zone)
    return choose(query, scope, await look_up(sql, query, moment), moment)


def choose(query: Query, scope: Scope, found: Found, now: datetime) -> Plan:
    """How to read a search whose names were looked up (for it, or for one that says more)."""
    leaves = set(tree.leaves(query.node))
    plain = Plan(
        query,
        scope,
        orders.of(query.sort),
        found,
        now,
        _worlds(query.node),
        nothing=any(not _possible(n, found) for n in tree.conjuncts(query.node)),
        unknown=tuple(t for t, tags in found.tags.items() if not tags and t in leaves),
    )
    walked, gathered = _drivers(plain)
    return replace(plain, walked=walked, gathered=gathered)


def _allowed(query: Query, scope: Scope) -> None:
    for leaf in tree.leaves(query.node):
        word = leaf.value.text if isinstance(leaf, Filter) and isinstance(leaf.value, Word) else ""
        if isinstance(leaf, Filter) and not scope.admin and word in KEYS[leaf.key].limited:
            raise SearchError(
                f"Only administrators can search for {leaf.key}:{word}",
                "Remove it.",
                start=leaf.start,
                end=leaf.end,
            )


def _world(node: Node) -> str:
    """The world that a node names; empty for every other node."""
    if not isinstance(node, Filter) or not isinstance(node.value, Word):
        return ""
    named = {"is": WORLDS, "type": PAGES}.get(node.key, frozenset())
    return node.value.text if node.value.text in named else ""


def _worlds(node: Node | None) -> tuple[str, ...]:
    # What must hold names the one world; what may hold adds worlds to the timeline.
    must = {_world(n) for n in tree.conjuncts(node)}
    for name in ("trashed", "archived", "private", "page"):
        if name in must:
            return (WORLD_SQL[name],)
    may = set(_mentioned(node, wanted=True))
    return (VISIBLE, *(WORLD_SQL[name] for name in sorted(may)))


def _mentioned(node: Node | None, *, wanted: bool) -> Sequence[str]:
    match node:
        case Not(child):
            return _mentioned(child, wanted=not wanted)
        case And(children) | Or(children):
            return [w for child in children for w in _mentioned(child, wanted=wanted)]
        case None:
            return []
        case _:
            world = _world(node)
            return [world] if world and wanted else []


def _possible(node: Node, found: Found) -> bool:
    match node:
        case Tag():
            return bool(found.tags.get(node))
        case And(children):
            return all(_possible(c, found) for c in children)
        case Or(children):
            return any(_possible(c, found) for c in children)
        case _:
            return True


def _drivers(made: Plan) -> tuple[tuple[Tag, ...], Node | None]:
    if made.nothing:
        return (), None
    needed = tree.conjuncts(made.query.node)
    tags = [n for n in needed if isinstance(n, Tag) and len(made.found.ids(n)) == 1]
    tags.sort(key=made.found.uses)
    fewest = min(needed, key=lambda n: size(n, made.found), default=None)
    # Counts of uses know the timeline only.
    few = size(fewest, made.found) if fewest is not None and made.worlds == (VISIBLE,) else MANY
    if made.order.by_date and tags:
        rarest = made.found.uses(tags[0])
        if not (few * 4 < rarest and few <= enough(made.found.library)):
            return tuple(dict.fromkeys(tags)), None
    return (), fewest if few <= enough(made.found.library) else None


def enough(library: int) -> float:
    """So few assets are faster gathered and sorted than found by walking past all the others."""
    return max(ALWAYS_GATHERED, math.sqrt(PAGE * library))
