"""How many a search finds, and in which months, at a cost that does not grow with the library."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.library.models import VISIBLE
from appliance.search import statements
from appliance.search.gathering import size
from appliance.search.patience import patience, within
from appliance.search.plan import Plan
from appliance.search.predicates import Arguments
from appliance.search.tree import Filter, Leaf, Not, Tag, conjuncts, leaves


if TYPE_CHECKING:
    from asyncpg import Connection


EXACT_UP_TO = 10_000
SAMPLE = 4000
"""Assets in the random order that an estimate looks at: a tenth off at most in most cases."""
COUNT_MS = 500
MONTHS_MS = 250
ROW_MS, PROBE_MS = 0.0007, 0.0013
"""What costs more than the limit by these is not even tried."""
_EVERYTHING = """
SELECT (SELECT coalesce(sum(assets), 0) FROM month_count)::bigint
     + (SELECT coalesce(sum(assets), 0) FROM month_delta)::bigint
"""
_ONE_TAG = """
SELECT (SELECT uses FROM tag WHERE id = $1)
     + (SELECT coalesce(sum(uses), 0) FROM tag_delta WHERE tag_id = $1)::bigint
"""
_MONTHS = """
SELECT month, sum(assets)::bigint AS assets FROM (
    SELECT month, assets FROM month_count UNION ALL SELECT month, assets FROM month_delta
) m GROUP BY month HAVING sum(assets) > 0 ORDER BY month DESC
"""


class Total(msgspec.Struct, frozen=True):
    """How many there are; above a limit perhaps only about so many."""

    count: int
    exact: bool


async def count(sql: Connection[Any], plan: Plan) -> Total:
    """How many the search finds: exact while that is cheap, else estimated from a sample."""
    if plan.nothing:
        return Total(0, exact=True)
    if (known := await _known(sql, plan)) is not None:
        return Total(known, exact=True)
    bind = Arguments()
    some = f"SELECT count(*) FROM (SELECT FROM {statements.matching(plan, bind)} LIMIT {EXACT_UP_TO + 1}) n"
    async with patience(sql):
        rows = await within(sql, COUNT_MS, some, *bind.values)
        if rows is not None and rows[0][0] <= EXACT_UP_TO:
            return Total(rows[0][0], exact=True)
        return Total(await _estimated(sql, plan, at_least=rows[0][0] if rows else 0), exact=False)


async def count_exact(sql: Connection[Any], plan: Plan) -> int:
    """How many the search finds, however long that takes within the patience of a search."""
    if plan.nothing:
        return 0
    if (known := await _known(sql, plan)) is not None:
        return known
    bind = Arguments()
    async with patience(sql):
        found: int = await sql.fetchval(
            f"SELECT count(*) FROM {statements.matching(plan, bind)}", *bind.values
        )
    return found


async def _known(sql: Connection[Any], plan: Plan) -> int | None:
    # What is counted anyway: the timeline, and each tag on it.
    if plan.worlds != (VISIBLE,):
        return None
    if plan.everything:
        return max(0, int(await sql.fetchval(_EVERYTHING)))
    needed = conjuncts(plan.query.node)
    tag = needed[0].child if isinstance(needed[0], Not) else needed[0]
    if len(needed) != 1 or not isinstance(tag, Tag) or len(ids := plan.found.ids(tag)) != 1:
        return None
    with_it = max(0, int(await sql.fetchval(_ONE_TAG, ids[0]) or 0))
    return with_it if tag is needed[0] else max(0, int(await sql.fetchval(_EVERYTHING)) - with_it)


async def _estimated(sql: Connection[Any], plan: Plan, *, at_least: int) -> int:
    bind = Arguments()
    holds = statements.holds(plan, bind)
    row = await sql.fetchrow(
        f"SELECT count(*) FILTER (WHERE {holds}) AS hits, count(*) AS seen, ({_EVERYTHING}) AS library"
        f" FROM (SELECT * FROM asset WHERE {VISIBLE} ORDER BY shuffle, id LIMIT {SAMPLE}) a",
        *bind.values,
    )
    assert row is not None  # noqa: S101 - an aggregate answers one row
    share = row["hits"] / row["seen"] if row["seen"] else 0.0
    return max(at_least, _rounded(share * max(0, int(row["library"]))))


def _rounded(number: float) -> int:
    # Two figures: more would claim what a sample cannot know.
    digits = max(0, len(str(int(number))) - 2)
    unit = int(10**digits)
    return round(number / unit) * unit


async def months(sql: Connection[Any], plan: Plan) -> list[tuple[date, int]] | None:
    """The months that hold something with how much, newest first; None where that would take too long."""
    if plan.nothing:
        return []
    if plan.everything and plan.worlds == (VISIBLE,):
        return [(r["month"], r["assets"]) for r in await sql.fetch(_MONTHS)]
    if _cost_ms(plan) > MONTHS_MS:
        return None
    bind = Arguments()
    when = "t.effective_at" if plan.walked else "a.effective_at"
    by_month = (
        f"SELECT date_trunc('month', {when})::date, count(*) FROM {statements.matching(plan, bind)}"
        " GROUP BY 1 ORDER BY 1 DESC"
    )
    async with patience(sql):
        rows = await within(sql, MONTHS_MS, by_month, *bind.values)
    return None if rows is None else [(r[0], r[1]) for r in rows]


def _cost_ms(plan: Plan) -> float:
    # Measured: a row of an index and its asset, and each probe of another table.
    probes = sum(1 for n in plan.remaining() for leaf in leaves(n) if _probed(leaf))
    return _rows(plan) * (ROW_MS + PROBE_MS * probes)


def _rows(plan: Plan) -> float:
    # About how many rows are read to see all that the search finds.
    if plan.walked:
        return plan.found.uses(plan.walked[0])
    if plan.gathered is not None:
        return size(plan.gathered, plan.found)
    return plan.found.library


def _probed(leaf: Leaf) -> bool:
    return not isinstance(leaf, Filter) or leaf.key in ("kind", "folder", "text", "tags", "source")
