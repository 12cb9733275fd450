"""What a person decides about two assets that look alike; it holds between their contents, for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from appliance.duplicates import grouping, matching
from appliance.duplicates.models import Verdict


if TYPE_CHECKING:
    from asyncpg import Connection


class Before(msgspec.Struct, frozen=True):
    """What held before a decision: enough to take it back."""

    verdict: str | None
    groups: dict[int, int]
    """Assets of the groups that it touched; one that was in none is missing."""


_LOCK = "SELECT id FROM asset WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE"
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


async def decide(
    sql: Connection[Any], verdict: Verdict, one: int, other: int, *, person: int | None
) -> Before | None:
    """Let a verdict hold between two assets; what held before, None where one of them is gone."""
    await grouping.hold(sql)
    if len(await sql.fetch(_LOCK, [one, other])) < 2 or one == other:
        return None
    before = Before(await sql.fetchval(_STANDING, one, other), await grouping.beside(sql, one, other))
    await sql.execute(_DECIDE, one, other, str(verdict), person)
    await sql.execute(_MARK, one, other, str(verdict))
    if verdict is Verdict.ALTERNATE:
        await grouping.join(sql, one, other)
    elif before.groups.get(one) is not None and before.groups.get(one) == before.groups.get(other):
        await grouping.leave(sql, other)
    await matching.settle(sql, [one, other, *before.groups])
    return before


async def take_back(sql: Connection[Any], verdict: Verdict, one: int, other: int, before: Before) -> bool:
    """Let hold again what held before; False where somebody decided otherwise since."""
    await grouping.hold(sql)
    if len(await sql.fetch(_LOCK, [one, other])) < 2:
        return False
    if await sql.fetchval(_STANDING, one, other) != verdict:
        return False
    if before.verdict is None:
        await sql.execute(_FORGET, one, other)
    else:
        await sql.execute(_DECIDE, one, other, before.verdict, None)
    await sql.execute(_MARK, one, other, before.verdict)
    touched = await grouping.beside(sql, one, other)
    if verdict is Verdict.ALTERNATE:
        await grouping.part(sql, one, other, before.groups)
    elif one in before.groups and before.groups[one] == before.groups.get(other):
        await grouping.join_again(sql, one, other)
    await matching.settle(sql, [one, other, *touched, *before.groups])
    return True
