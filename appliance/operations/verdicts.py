"""Verdicts about pairs in the history: each remembers what held before it, in whatever order they go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.duplicates import services as duplicates
from appliance.duplicates.services import Before, Decision, Verdict
from appliance.operations.kinds import VERDICTS, Kind
from appliance.operations.stored import plain


if TYPE_CHECKING:
    from asyncpg import Connection


async def in_turn(sql: Connection[Any], kind: Kind) -> None:
    """Have verdicts numbered in the order in which they come to hold; asked before a number is drawn."""
    if kind in VERDICTS:
        await duplicates.hold(sql)


def remembered(before: Before) -> str:
    """What an item keeps."""
    return msgspec.json.encode(before).decode()


async def take_back(sql: Connection[Any], operation_id: int) -> bool:
    """Undo a verdict, and let the later ones forget it; False where somebody decided otherwise since."""
    await duplicates.hold(sql)
    standing = [_decision(row) for row in await sql.fetch(_STANDING, operation_id)]
    if not standing or standing[0].id != operation_id:
        return False
    first, *later = standing
    changed = await duplicates.take_back(sql, first, later)
    if changed is None:
        return False
    await _remember(sql, changed)
    return True


# From one verdict on, those that no undo took back.
_STANDING = """
SELECT o.id, o.kind, o.arguments->'pair' AS pair, i.before
FROM operation o JOIN operation_item i
    ON i.operation_id = o.id AND i.asset_id = (o.arguments->'pair'->>0)::bigint AND i.changed
WHERE o.id >= $1 AND o.kind IN ('alternate', 'different') AND i.before IS NOT NULL
  AND NOT EXISTS (SELECT FROM operation b WHERE b.undoes = o.id AND b.changed > 0)
ORDER BY o.id
"""


def _decision(row: Any) -> Decision:
    one, other = plain(row["pair"])
    before = msgspec.convert(plain(row["before"]), Before, strict=False)
    return Decision(row["id"], Verdict(row["kind"]), one, other, before)


async def _remember(sql: Connection[Any], changed: Sequence[Decision]) -> None:
    await sql.execute(
        "UPDATE operation_item i SET before = t.before::jsonb"
        " FROM unnest($1::bigint[], $2::text[]) AS t(id, before) WHERE i.operation_id = t.id AND i.changed",
        [each.id for each in changed],
        [remembered(each.before) for each in changed],
    )
