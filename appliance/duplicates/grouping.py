"""Versions of one thing: assets that stay beside each other and are offered as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any


if TYPE_CHECKING:
    from asyncpg import Connection


FIRST = "(a.sha256, a.size) < (b.sha256, b.size)"
"""SQL: whether the asset `a` is the first of its pair of contents."""


async def beside(sql: Connection[Any], one: int, other: int) -> dict[int, int]:
    """Everybody in the groups of two assets, each with its group."""
    rows = await sql.fetch(
        "SELECT asset_id, group_id FROM alternate WHERE group_id IN ("
        " SELECT group_id FROM alternate WHERE asset_id IN ($1, $2)) ORDER BY 1",
        one,
        other,
    )
    return {row["asset_id"]: row["group_id"] for row in rows}


async def join(sql: Connection[Any], one: int, other: int) -> None:
    """Make two assets versions of one thing; whoever was with either of them is with both."""
    found = sorted(set((await beside(sql, one, other)).values()))
    group = found[0] if found else min(one, other)
    await sql.execute("UPDATE alternate SET group_id = $1 WHERE group_id = ANY($2::bigint[])", group, found)
    await sql.execute(
        "INSERT INTO alternate (asset_id, group_id) SELECT id, $3 FROM unnest(ARRAY[$1, $2]::bigint[]) id"
        " ON CONFLICT (asset_id) DO NOTHING",
        one,
        other,
        group,
    )


async def leave(sql: Connection[Any], asset_id: int) -> None:
    """Take an asset out of its group."""
    await sql.execute("DELETE FROM alternate WHERE asset_id = $1", asset_id)


async def put(sql: Connection[Any], groups: Mapping[int, int]) -> None:
    """Put assets into the groups that they were in, as far as they still exist."""
    await sql.execute(
        "INSERT INTO alternate (asset_id, group_id)"
        " SELECT asset.id, g.group_id FROM unnest($1::bigint[], $2::bigint[]) AS g(asset_id, group_id)"
        " JOIN asset ON asset.id = g.asset_id"
        " ON CONFLICT (asset_id) DO UPDATE SET group_id = excluded.group_id",
        list(groups),
        list(groups.values()),
    )


async def versions(sql: Connection[Any], asset_id: int, *, archived: bool = True) -> list[int]:
    """The other versions of an asset that are there to be seen; viewers see nothing archived."""
    rows = await sql.fetch(
        "SELECT o.asset_id FROM alternate mine JOIN alternate o USING (group_id)"
        " JOIN asset a ON a.id = o.asset_id AND NOT a.private"
        "     AND (a.state IN ('inbox', 'kept') OR $2 AND a.state = 'archived')"
        " WHERE mine.asset_id = $1 AND o.asset_id <> $1 ORDER BY o.asset_id LIMIT 50",
        asset_id,
        archived,
    )
    return [row["asset_id"] for row in rows]
