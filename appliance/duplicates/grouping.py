"""Versions of one thing: assets that stay beside each other and are offered as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


if TYPE_CHECKING:
    from asyncpg import Connection


FIRST = "(a.sha256, a.size) < (b.sha256, b.size)"
"""SQL: whether the asset `a` is the first of its pair of contents."""


async def join(sql: Connection[Any], one: int, other: int) -> None:
    """Make two assets versions of one thing; whoever was with either of them is with both."""
    found = await sql.fetch(
        "SELECT DISTINCT group_id FROM alternate WHERE asset_id IN ($1, $2) ORDER BY 1", one, other
    )
    group = found[0]["group_id"] if found else min(one, other)
    await sql.execute(
        "UPDATE alternate SET group_id = $1 WHERE group_id = ANY($2::bigint[])",
        group,
        [row["group_id"] for row in found],
    )
    await sql.execute(
        "INSERT INTO alternate (asset_id, group_id) SELECT id, $3 FROM unnest(ARRAY[$1, $2]::bigint[]) id"
        " ON CONFLICT (asset_id) DO NOTHING",
        one,
        other,
        group,
    )
