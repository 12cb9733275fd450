"""Why a search finds nothing: what it would find without each of its parts, and names that are like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.search import statements, tree
from appliance.search.counting import count
from appliance.search.patience import patience, within
from appliance.search.plan import Plan, choose
from appliance.search.predicates import Arguments
from appliance.search.query import Query
from appliance.search.tree import And, Leaf, Node, Not, Tag
from appliance.tagging.services import TagView, find, name_key


if TYPE_CHECKING:
    from asyncpg import Connection


MOST_PARTS = 8
ENOUGH = 1000
"""It matters that there is something, hardly how much."""
PART_MS = 250
ALIKE_MS = 250
MOST_ALIKE = 3
# Below this share of common letter triples two names do not look alike.
_ALIKE = """
SELECT id FROM tag
WHERE name_key % $1 AND ($2::text IS NULL OR kind = $2) AND (uses > 0 OR $3)
ORDER BY similarity(name_key, $1) DESC, uses DESC, id LIMIT $4
"""


class Part(msgspec.Struct, frozen=True):
    """One part of a search, and what the search would find without it."""

    text: str
    start: int
    end: int
    count: int | None
    """None where it would take too long to know; a thousand means that many or more."""
    without: str
    """The search without this part, as text."""
    unknown: bool
    """A tag that does not exist."""
    alike: Sequence[TagView] = ()
    """Tags that may have been meant."""


async def explain(sql: Connection[Any], plan: Plan) -> list[Part]:
    """All parts of a search that finds nothing; those at fault first."""
    parts = tree.conjuncts(plan.query.node)[:MOST_PARTS]
    async with patience(sql):
        found = [await _part(sql, plan, node) for node in parts]
    return sorted(found, key=lambda p: (not p.unknown, -(p.count or 0), p.start))


async def _part(sql: Connection[Any], plan: Plan, node: Node) -> Part:
    rest = [n for n in tree.conjuncts(plan.query.node) if n is not node]
    without = Query("", tree.joined(And, rest), plan.query.sort)
    others = choose(without, plan.scope, plan.found, plan.now)
    missing = isinstance(node, Tag) and not plan.found.ids(node)
    start, end = _place(node)
    return Part(
        Query("", node).text,
        start,
        end,
        await _some(sql, others),
        without.text,
        missing,
        await alike(sql, node, hidden=plan.scope.admin) if isinstance(node, Tag) and missing else (),
    )


async def _some(sql: Connection[Any], plan: Plan) -> int | None:
    if plan.nothing:
        return 0
    if plan.everything:
        return (await count(sql, plan)).count
    bind = Arguments()
    matching = statements.matching(plan, bind)
    rows = await within(
        sql, PART_MS, f"SELECT count(*) FROM (SELECT FROM {matching} LIMIT {ENOUGH}) n", *bind.values
    )
    return None if rows is None else int(rows[0][0])


def _place(node: Node) -> tuple[int, int]:
    leaves: list[Leaf] = list(tree.leaves(node))
    start = node.start if isinstance(node, Not) else leaves[0].start
    return start, leaves[-1].end


async def alike(sql: Connection[Any], tag: Tag, *, hidden: bool) -> list[TagView]:
    """Tags whose names look like one that does not exist; viewers are told only of tags in use."""
    rows = await within(sql, ALIKE_MS, _ALIKE, name_key(tag.name), tag.kind, hidden, MOST_ALIKE)
    ids = [r["id"] for r in rows or ()]
    by_id = {t.id: t for t in await find(sql, ids)} if ids else {}
    return [by_id[i] for i in ids if i in by_id]
