"""A search that was understood: its canonical text, its terms as chips, and changes to it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from appliance.search import tree
from appliance.search.keys import ALIASES, KEYS, TAG_KEYS
from appliance.search.lexer import written
from appliance.search.tree import And, Filter, Leaf, Node, Not, Or, Tag


@dataclass(frozen=True, slots=True)
class Sort:
    """The order that was asked for; `seed` belongs to random."""

    order: str
    seed: int | None = None
    reverse: bool = False
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    @property
    def text(self) -> str:
        """As it is typed."""
        seed = "" if self.seed is None else f":{self.seed}"
        return f"{'-' if self.reverse else ''}sort:{self.order}{seed}"


@dataclass(frozen=True, slots=True)
class Term:
    """One chip: a tag, a filter or the order; `start` and `end` are its place in the text as typed."""

    start: int
    end: int
    text: str
    """The whole term as it can be typed, with its minus."""
    negated: bool
    prefix: bool
    key: str
    """`rating`, `artist`, `sort`, …; empty for a tag of any kind."""
    value: str
    kind: str
    """`tag`, `filter` or `sort`."""
    leaf: Leaf | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Query:
    """A search as a tree; `source` is the text as it was typed."""

    source: str = ""
    node: Node | None = None
    sort: Sort | None = None

    @cached_property
    def text(self) -> str:
        """The canonical text: parsed again it gives the same search."""
        parts = [_show(self.node, top=True)] if self.node else []
        return " ".join([*parts, *([self.sort.text] if self.sort else [])])

    @property
    def empty(self) -> bool:
        """Whether nothing was asked for but perhaps an order."""
        return self.node is None

    @cached_property
    def terms(self) -> list[Term]:
        """All terms from left to right."""
        found = list(_terms(self.node, minus=None))
        if self.sort:
            s = self.sort
            value = s.text.partition(":")[2]
            found.append(Term(s.start, s.end, s.text, s.reverse, False, "sort", value, "sort"))
        return sorted(found, key=lambda t: t.start)

    def without(self, term: Term) -> str:
        """The text of the search without one of its terms."""
        if term.leaf is None:
            return replace(self, sort=None).text
        return Query("", tree.without(self.node, term.leaf), self.sort).text

    def with_(self, text: str, *, instead: Collection[str] = ()) -> str:
        """The text of the search and something more, in place of the terms of some keys.

        What is there already is not said twice; a new order replaces the old one.
        """
        from appliance.search.grammar import parse  # noqa: PLC0415 - each is made of the other

        added, node = parse(text), self.node
        for term in self.terms:
            if term.leaf is not None and term.key in instead and term.key:
                node = tree.without(node, term.leaf)
        had = tree.conjuncts(node)
        more = [c for c in tree.conjuncts(added.node) if c not in had]
        sort = added.sort or (None if "sort" in instead else self.sort)
        return Query("", tree.joined(And, [*had, *more]), sort).text

    def seeded(self, seed: int) -> str:
        """The text with a seed for its random order, so that pages and Back see the same one."""
        if self.sort is None or self.sort.order != "random":
            return self.text
        return replace(self, sort=replace(self.sort, seed=seed)).text

    @property
    def needs_seed(self) -> bool:
        """Whether it asks for a random order without saying which."""
        return self.sort is not None and self.sort.order == "random" and self.sort.seed is None


EVERYTHING = Query()


def show_leaf(leaf: Leaf) -> str:
    """A leaf as it can be typed."""
    if isinstance(leaf, Filter):
        return f"{leaf.key}:{written(leaf.raw)}"
    if leaf.prefix:
        return f"{leaf.kind}:{leaf.name}*" if leaf.kind else f"{leaf.name}*"
    if leaf.kind:
        return f"{leaf.kind}:{written(leaf.name)}"
    return f'"{_inner(leaf.name)}"' if _reads_as_key(leaf.name) else written(leaf.name)


def _reads_as_key(name: str) -> bool:
    key, colon, _ = name.partition(":")
    folded = key.casefold()
    return bool(colon) and (folded in KEYS or folded in ALIASES or folded in TAG_KEYS)


def _inner(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')


def _show(node: Node, *, top: bool = False) -> str:
    match node:
        case And(children):
            shown = " ".join(_show(c) for c in children)
            return shown if top else f"({shown})"
        case Or(children):
            shown = " or ".join(_show(c, top=isinstance(c, And)) for c in children)
            return shown if top else f"({shown})"
        case Not(child):
            return f"-{_show(child)}"
        case _:
            return show_leaf(node)


def _terms(node: Node | None, minus: int | None) -> Iterator[Term]:
    match node:
        case None:
            return
        case Not(child, start):
            # Twice excluded is included; the minus of a group stands before all of it.
            yield from _terms(child, None if minus is not None else start)
        case And(children) | Or(children):
            for child in children:
                yield from _terms(child, minus)
        case _:
            yield _term(node, minus)


def _term(leaf: Leaf, minus: int | None) -> Term:
    negated = minus is not None
    text = ("-" if negated else "") + show_leaf(leaf)
    # Only a minus directly before the term is part of its place.
    start = minus if minus is not None and minus == leaf.start - 1 else leaf.start
    if isinstance(leaf, Tag):
        return Term(start, leaf.end, text, negated, leaf.prefix, leaf.kind or "", leaf.name, "tag", leaf)
    return Term(start, leaf.end, text, negated, False, leaf.key, leaf.raw, "filter", leaf)
