"""Parts of a search whose assets can be gathered when they are few, instead of met on a walk past all."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from appliance.library.models import VISIBLE
from appliance.search import found as names
from appliance.search.found import Found
from appliance.search.tree import And, Filter, Node, Or, Tag
from appliance.search.values import Word


if TYPE_CHECKING:
    from appliance.search.predicates import Compiler


MANY = math.inf
COUNTED = frozenset({"folder", "text", "rating", "size"})
"""Filters that an index answers by themselves; they are counted first."""


def counted(leaf: Filter) -> bool:
    """Whether a filter is counted before it is known how to read a search."""
    return leaf.key in COUNTED or (leaf.key == "is" and leaf.value == Word("missing"))


def size(node: Node, found: Found) -> float:
    """At most about so many assets; infinite where they cannot be gathered."""
    match node:
        case Tag():
            return found.uses(node)
        case And(children):
            return min(size(c, found) for c in children)
        case Or(children):
            return sum(size(c, found) for c in children)
        case Filter(key="kind", value=Word(kind)) if kind in found.kinds:
            return sum(max(0, t.uses) for t in found.kinds[kind])
        case Filter():
            return found.counted.get(node, MANY)
        case _:
            return MANY


def ids(node: Node, made: Compiler) -> list[str]:
    """SELECTs of `asset_id` that together hold every asset of a node, and perhaps others."""
    match node:
        case Tag():
            return _tagged(made.found.ids(node), made)
        case And(children):
            return ids(min(children, key=lambda c: size(c, made.found)), made)
        case Or(children):
            return [part for child in children for part in ids(child, made)]
        case Filter():
            return _filtered(node, made)
        case _:
            raise AssertionError("what has no size is not gathered")


def _filtered(leaf: Filter, made: Compiler) -> list[str]:
    match leaf:
        case Filter(key="kind", value=Word(kind)):
            return _tagged([t.id for t in made.found.kinds[kind]], made)
        case Filter(key="folder", value=Word(text)):
            inside = names.within(made.found.folders[text], made.bind)
            return [f"SELECT f.asset_id FROM asset_file f WHERE {inside}"]
        case Filter(key="text", value=Word(text)):
            return _worded(text, made)
        case _:
            return [f"SELECT a.id AS asset_id FROM asset a WHERE {VISIBLE} AND {made.condition(leaf)}"]


def _tagged(tags: list[int], made: Compiler) -> list[str]:
    among = made.bind(tags, "bigint[]")
    return [f"SELECT x.asset_id FROM asset_tag x WHERE x.tag_id = ANY({among})"]


def _worded(text: str, made: Compiler) -> list[str]:
    written, name = made.patterns(text)
    return [
        f"SELECT a.id AS asset_id FROM asset a WHERE a.title IS NOT NULL AND a.title ILIKE {written}",
        f"SELECT a.id FROM asset a WHERE a.note IS NOT NULL AND a.note ILIKE {written}",
        f"SELECT p.asset_id FROM provenance p WHERE lower(encode(p.path, 'escape')) LIKE {name}",
    ]
