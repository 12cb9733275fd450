"""The statements that read a plan: keyset in both directions, no OFFSET, no lists of parameters."""

from __future__ import annotations

from dataclasses import dataclass

from appliance.core.keyset import Position
from appliance.search import gathering
from appliance.search.plan import Plan
from appliance.search.predicates import Arguments, Compiler
from appliance.search.tree import Tag


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of an order: from a place on, down or up, perhaps as far as another place."""

    start: Position
    down: bool = True
    inclusive: bool = False
    to: Position | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where rows come from, and the conditions that each must meet."""

    rows: str
    conditions: tuple[str, ...]


def source(plan: Plan, bind: Arguments) -> Source:
    """The rows that the plan chose, with everything that is left to check."""
    made = Compiler(bind, plan.found, plan.now, "t.effective_at" if plan.walked else "a.effective_at")
    if plan.walked:
        rows = _merged(plan, bind)
        fixed = [f"t.tag_id = {bind(plan.found.ids(plan.walked[0])[0], 'bigint')}"]
    else:
        rows = f"{_few(plan, made)} JOIN asset a ON a.id = s.asset_id" if plan.gathered else "asset a"
        fixed = []
    in_order = plan.order.by_date and not plan.gathered
    return Source(rows, (*fixed, *(made.needed(n, in_order=in_order) for n in plan.remaining())))


def _merged(plan: Plan, bind: Arguments) -> str:
    # Joined by the whole key of the index, so that the timelines of common tags can be merged as they lie.
    joins = ["asset_tag t"]

    def only(tag: Tag) -> int:
        return plan.found.ids(tag)[0]

    for number, tag in enumerate(plan.walked[1:], 2):
        other = f"t{number}"
        joins.append(
            f"JOIN asset_tag {other} ON {other}.effective_at = t.effective_at"
            f" AND {other}.asset_id = t.asset_id AND {other}.tag_id = {bind(only(tag), 'bigint')}"
        )
    return " ".join([*joins, "JOIN asset a ON a.id = t.asset_id"])


def _few(plan: Plan, made: Compiler) -> str:
    assert plan.gathered is not None  # noqa: S101 - asked for only then
    # Grouped: an asset once, however many of its files or tags were met; and the planner cannot turn this
    # round into a walk past all assets.
    united = " UNION ALL ".join(gathering.ids(plan.gathered, made))
    return f"(SELECT g.asset_id FROM ({united}) g GROUP BY g.asset_id) s"


def hits(plan: Plan, bind: Arguments, stretch: Stretch, limit: str) -> str:
    """Rows `(id, value)` of a stretch, nearest to its start first where it has one leg and one world."""
    legs = [leg for world in plan.worlds for leg in _legs(plan, bind, stretch, world, limit)]
    if len(legs) == 1:
        return legs[0]
    if len(plan.worlds) > 1:
        # As many from each world; the nearest of all are taken.
        way = "ASC" if plan.order.rising is stretch.down else "DESC"
        united = " UNION ALL ".join(f"({leg})" for leg in legs)
        return f"SELECT * FROM ({united}) u ORDER BY u.value {way}, u.id {way} LIMIT {limit}"
    first, second = legs
    # The second half of the circle is read only for what the first one left open.
    return (
        f"WITH one AS MATERIALIZED ({first}), two AS MATERIALIZED (SELECT * FROM ({second}) w"
        f" LIMIT greatest(0, {limit} - (SELECT count(*) FROM one)))"
        " SELECT * FROM one UNION ALL SELECT * FROM two"
    )


def _legs(plan: Plan, bind: Arguments, stretch: Stretch, world: str, limit: str) -> list[str]:
    made = []
    legs = plan.order.legs(
        bind,
        down=stretch.down,
        start=stretch.start,
        inclusive=stretch.inclusive,
        to=stretch.to,
        tags=bool(plan.walked),
    )
    for leg in legs:
        rows = source(plan, bind)
        conditions = " AND ".join([world, leg.condition, *rows.conditions])
        made.append(
            f"SELECT a.id, {plan.order.value} AS value FROM {rows.rows}"
            f" WHERE {conditions} ORDER BY {leg.ways} LIMIT {limit}"
        )
    return made


def matching(plan: Plan, bind: Arguments, *extra: str) -> str:
    """FROM and WHERE of everything that the plan means, in no order; the asset is `a`."""
    rows = source(plan, bind)
    worlds = " OR ".join(f"({w})" for w in plan.worlds)
    conditions = " AND ".join([f"({worlds})" if len(plan.worlds) > 1 else worlds, *rows.conditions, *extra])
    return f"{rows.rows} WHERE {conditions}"


def holds(plan: Plan, bind: Arguments) -> str:
    """The whole search as a condition on an asset `a`."""
    made = Compiler(bind, plan.found, plan.now)
    nodes = (plan.query.node,) if plan.query.node is not None else ()
    worlds = " OR ".join(f"({w})" for w in plan.worlds)
    return " AND ".join([f"({worlds})", *made.all_of(nodes)])
