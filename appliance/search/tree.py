"""What a search says, as a tree; every leaf knows its place in the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from appliance.search.values import Value


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag by name: of one kind if `kind` is given, all that begin so if `prefix`."""

    name: str
    kind: str | None = None
    prefix: bool = False
    quoted: bool = field(default=False, compare=False)
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Filter:
    """`key:value`, the value already understood; `raw` is how it was written."""

    key: str
    raw: str
    value: Value = field(compare=False)
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """What the child does not hold for; the place begins at the minus."""

    child: Node
    start: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class And:
    """All children hold."""

    children: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one child holds."""

    children: tuple[Node, ...]


Leaf = Tag | Filter
Node = Tag | Filter | Not | And | Or


def leaves(node: Node | None) -> Iterator[Leaf]:
    """All leaves from left to right."""
    match node:
        case Tag() | Filter():
            yield node
        case Not():
            yield from leaves(node.child)
        case And() | Or():
            for child in node.children:
                yield from leaves(child)


def conjuncts(node: Node | None) -> tuple[Node, ...]:
    """What must hold all together."""
    if node is None:
        return ()
    return node.children if isinstance(node, And) else (node,)


def joined(kind: type[And | Or], children: list[Node]) -> Node | None:
    """One node over many, flat: an `And` within an `And` says nothing new."""
    flat: list[Node] = []
    for child in children:
        flat.extend(child.children if isinstance(child, kind) else (child,))
    if len(flat) < 2:
        return flat[0] if flat else None
    return kind(tuple(flat))


def negated(child: Node, start: int) -> Node:
    """The opposite of a node; of an opposite, what it was made of."""
    return child.child if isinstance(child, Not) else Not(child, start)


def without(node: Node | None, leaf: Leaf) -> Node | None:
    """The tree without one leaf (that very one, not one like it)."""
    match node:
        case Not():
            child = without(node.child, leaf)
            return None if child is None else negated(child, node.start)
        case And() | Or():
            kept = [c for c in (without(child, leaf) for child in node.children) if c is not None]
            return joined(type(node), kept)
        case _:
            return None if node is leaf else node
