"""What a person decides about two assets that look alike; it holds between their contents, for ever."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from appliance.core.errors import Conflict
from appliance.duplicates import grouping, matching, replaying
from appliance.duplicates.models import Verdict
from appliance.duplicates.replaying import Before, Company, Decision
from appliance.duplicates.tombstones import known_as


if TYPE_CHECKING:
    from asyncpg import Connection


_LOCK = "SELECT id, state FROM asset WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE"
# The pair of contents in their order.
_CONTENTS = f"""
SELECT CASE WHEN {grouping.FIRST} THEN a.sha256 ELSE b.sha256 END AS a_sha256,
       CASE WHEN {grouping.FIRST} THEN a.size ELSE b.size END AS a_size,
       CASE WHEN {grouping.FIRST} THEN b.sha256 ELSE a.sha256 END AS b_sha256,
       CASE WHEN {grouping.FIRST} THEN b.size ELSE a.size END AS b_size
FROM asset a, asset b WHERE a.id = $1 AND b.id = $2
"""
_STANDING = f"""
SELECT d.verdict FROM ({_CONTENTS}) c JOIN duplicate_decision d
    USING (a_sha256, a_size, b_sha256, b_size)
"""
_DECIDE = f"""
INSERT INTO duplicate_decision (a_sha256, a_size, b_sha256, b_size, verdict, user_id)
SELECT c.*, $3, $4 FROM ({_CONTENTS}) c
ON CONFLICT (a_sha256, a_size, b_sha256, b_size)
    DO UPDATE SET verdict = excluded.verdict, user_id = excluded.user_id, decided_at = now()
"""
_FORGET = f"""
DELETE FROM duplicate_decision d USING ({_CONTENTS}) c
WHERE (d.a_sha256, d.a_size, d.b_sha256, d.b_size) = (c.a_sha256, c.a_size, c.b_sha256, c.b_size)
"""
_MARK = (
    "UPDATE duplicate_pair SET verdict = $3"
    " WHERE a_id = least($1::bigint, $2::bigint) AND b_id = greatest($1::bigint, $2::bigint)"
)


async def decidable(sql: Connection[Any], one: int, other: int) -> None:
    """Hold two assets until the transaction ends; refused unless both are there and out of the trash.

    A verdict about one that lies in the trash would be believed while its other side goes for good.
    """
    rows = await sql.fetch(_LOCK, [one, other])
    if len(rows) < 2:
        raise Conflict(
            "One of the two was deleted for good", "There is nothing left to decide. Nothing was changed."
        )
    trashed = [row["id"] for row in rows if row["state"] == "trashed"]
    if trashed:
        called = await known_as(sql, trashed, unnamed="One of the two")
        raise Conflict(
            f"{called[trashed[0]]} lies in the trash",
            "Undo in the history what was decided, or take it out of the trash; then decide again."
            " Nothing was changed.",
        )


async def decide(
    sql: Connection[Any], verdict: Verdict, one: int, other: int, *, person: int | None
) -> Before:
    """Let a verdict hold between two assets; what held before."""
    await grouping.hold(sql)
    await decidable(sql, one, other)
    before = Before(await sql.fetchval(_STANDING, one, other), await grouping.beside(sql, one, other))
    await sql.execute(_DECIDE, one, other, str(verdict), person)
    await sql.execute(_MARK, one, other, str(verdict))
    if verdict is Verdict.ALTERNATE:
        await grouping.join(sql, one, other)
    elif before.groups.get(one) is not None and before.groups.get(one) == before.groups.get(other):
        await grouping.leave(sql, other)
    await matching.settle(sql, [one, other, *before.groups])
    return before


async def take_back(
    sql: Connection[Any], first: Decision, later: Sequence[Decision]
) -> list[Decision] | None:
    """Let hold what would hold without a decision; None where somebody decided otherwise since.

    `later` is what was decided after it and stands, read under the lock on groups. Decisions among it that
    would have found something else are answered with that: it is what their own undo gives back. So the
    order in which decisions are taken back does not matter.
    """
    heir = replaying.heir(first, later)
    if heir is None and await sql.fetchval(_STANDING, first.one, first.other) != first.verdict:
        return None
    company = Company(await grouping.stacked(sql, _assets([first, *later])))
    changed = replaying.without(first, later, company)
    moved = await _regroup(sql, first, company)
    if moved is None:
        return None
    if heir is None:
        await _restore(sql, first)
    await matching.settle(sql, [first.one, first.other, *moved])
    return changed


async def _regroup(sql: Connection[Any], first: Decision, company: Company) -> set[int] | None:
    """Write down who is together now, and tell who moved; None where one of the two is gone."""
    now = await grouping.everybody(sql, company.met)
    company.meet(now)
    there = await grouping.existing(sql, company.met)
    moved = replaying.moved(now, company.of(there))
    # Held in the order of everybody; who went for good meanwhile is left out.
    there = {row["id"] for row in await sql.fetch(_LOCK, sorted(first.pair | moved))}
    if not first.pair <= there:
        return None
    wanted = company.of(there & moved)
    alone = [{one} for one in moved - wanted.keys()]
    await grouping.put(sql, [*replaying.grouped(wanted), *alone])
    return moved


def _assets(decisions: Sequence[Decision]) -> list[int]:
    return sorted({i for each in decisions for i in each.pair | each.before.groups.keys()})


async def _restore(sql: Connection[Any], first: Decision) -> None:
    """The verdict that held before."""
    if first.before.verdict is None:
        await sql.execute(_FORGET, first.one, first.other)
    else:
        await sql.execute(_DECIDE, first.one, first.other, first.before.verdict, None)
    await sql.execute(_MARK, first.one, first.other, first.before.verdict)
