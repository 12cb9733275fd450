"""How much of an action can still be taken back: what was deleted for good since, or given back already.

Of assets that were deleted the history keeps how many they were, and no word of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any


if TYPE_CHECKING:
    from asyncpg import Connection


def _gone(action: str) -> str:
    return (
        f"(SELECT coalesce(sum(g.assets), 0)::int FROM operation_gone g WHERE g.operation_id = {action}.id)"
    )


GONE = _gone("o")
"""Of the action `o`; a few rows, however many assets it changed."""
LEFT = (
    f"(o.changed - {GONE} - (SELECT coalesce(sum(b.changed - {_gone('b')}), 0)::bigint"
    " FROM operation b WHERE b.undoes = o.id))"
)
"""How many assets of the action `o` are still there and were given back by no undo of it."""
LOST = f"({GONE} - (SELECT coalesce(sum({_gone('b')}), 0)::int FROM operation b WHERE b.undoes = o.id))"
"""How many were deleted for good before any undo of `o` gave them back."""


async def count_in(sql: Connection[Any], purge_id: int, ids: Sequence[int]) -> None:
    """Write down for each action in the history how many of its assets this deletion took.

    A row of this deletion's own beside the action: two of them never wait for each other, nor for an
    action that is running. An action whose time in the history ends at this moment is left out.
    """
    await sql.execute(
        "WITH touched AS (SELECT i.operation_id AS id, count(*) AS assets FROM operation_item i"
        "  WHERE i.asset_id = ANY($2::bigint[]) AND i.changed GROUP BY i.operation_id),"
        " kept AS (SELECT o.id FROM operation o JOIN touched t ON t.id = o.id"
        "  WHERE o.kind <> 'purge' ORDER BY o.id FOR KEY SHARE OF o)"
        " INSERT INTO operation_gone AS g (operation_id, purge_id, assets)"
        " SELECT t.id, $1, t.assets FROM touched t JOIN kept USING (id)"
        " ON CONFLICT (operation_id, purge_id) DO UPDATE SET assets = g.assets + excluded.assets",
        purge_id,
        ids,
    )


async def forget_words(sql: Connection[Any], ids: Sequence[int]) -> None:
    """Take out of the history what was written about assets that are deleted: it goes with them.

    An action of words is about one picture or two and was done at once: nobody else holds its row.
    """
    await sql.execute(
        "WITH written AS (UPDATE operation_item i SET before = NULL FROM operation o"
        "  WHERE i.asset_id = ANY($1::bigint[]) AND i.changed AND o.id = i.operation_id"
        "  AND o.kind IN ('title', 'note', 'keep_one') RETURNING i.operation_id AS id)"
        " UPDATE operation o SET arguments = '{}' FROM written w WHERE o.id = w.id AND o.total = 1",
        ids,
    )
