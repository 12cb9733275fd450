"""Versions of one thing: assets that stay beside each other and are offered as one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any


if TYPE_CHECKING:
    from asyncpg import Connection


_GROUPS = 0x5654524E0021
FIRST = "(a.sha256, a.size) < (b.sha256, b.size)"
"""SQL: whether the asset `a` is the first of its pair of contents."""


async def hold(sql: Connection[Any]) -> None:
    """Nobody else changes groups until this transaction ends; taken before any asset is."""
    await sql.execute("SELECT pg_advisory_xact_lock($1)", _GROUPS)


async def beside(sql: Connection[Any], one: int, other: int) -> dict[int, int]:
    """Everybody in the groups of two assets, each with its group."""
    return await everybody(sql, [one, other])


async def join(sql: Connection[Any], one: int, other: int) -> None:
    """Make two assets versions of one thing; whoever was with either of them is with both."""
    await put(sql, [{one, other, *await beside(sql, one, other)}])


async def leave(sql: Connection[Any], asset_id: int) -> None:
    """Take an asset out of its group."""
    rest = set(await beside(sql, asset_id, asset_id)) - {asset_id}
    await sql.execute("DELETE FROM alternate WHERE asset_id = $1", asset_id)
    await put(sql, [rest])


async def everybody(sql: Connection[Any], asset_ids: Sequence[int]) -> dict[int, int]:
    """Everybody in the groups of assets, each with its group."""
    rows = await sql.fetch(
        "SELECT asset_id, group_id FROM alternate WHERE group_id IN ("
        " SELECT group_id FROM alternate WHERE asset_id = ANY($1::bigint[])) ORDER BY 1",
        asset_ids,
    )
    return {row["asset_id"]: row["group_id"] for row in rows}


async def existing(sql: Connection[Any], asset_ids: Sequence[int]) -> set[int]:
    """Those of the assets that are still there."""
    rows = await sql.fetch("SELECT id FROM asset WHERE id = ANY($1::bigint[])", asset_ids)
    return {row["id"] for row in rows}


async def stacked(sql: Connection[Any], asset_ids: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs that are called versions of one thing, of which one is among these assets."""
    rows = await sql.fetch(_STACKED, asset_ids)
    return [(row["a_id"], row["b_id"]) for row in rows]


_STACKED = """
SELECT a_id, b_id FROM duplicate_pair WHERE a_id = ANY($1::bigint[]) AND verdict = 'alternate'
UNION SELECT a_id, b_id FROM duplicate_pair WHERE b_id = ANY($1::bigint[]) AND verdict = 'alternate'
"""


async def put(sql: Connection[Any], groups: Sequence[Collection[int]]) -> None:
    """Write groups down, each under its smallest member; nobody is a group alone."""
    named = {member: min(group) for group in groups for member in group if len(group) > 1}
    alone = [member for group in groups for member in group if len(group) == 1]
    await sql.execute("DELETE FROM alternate WHERE asset_id = ANY($1::bigint[])", alone)
    await sql.execute(
        "INSERT INTO alternate (asset_id, group_id)"
        " SELECT asset.id, g.group_id FROM unnest($1::bigint[], $2::bigint[]) AS g(asset_id, group_id)"
        " JOIN asset ON asset.id = g.asset_id"
        " ON CONFLICT (asset_id) DO UPDATE SET group_id = excluded.group_id",
        list(named),
        list(named.values()),
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
