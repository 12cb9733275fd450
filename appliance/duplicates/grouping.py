"""Versions of one thing: assets that stay beside each other and are offered as one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
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
    rows = await sql.fetch(
        "SELECT asset_id, group_id FROM alternate WHERE group_id IN ("
        " SELECT group_id FROM alternate WHERE asset_id IN ($1, $2)) ORDER BY 1",
        one,
        other,
    )
    return {row["asset_id"]: row["group_id"] for row in rows}


async def join(sql: Connection[Any], one: int, other: int) -> None:
    """Make two assets versions of one thing; whoever was with either of them is with both."""
    await _put(sql, [{one, other, *await beside(sql, one, other)}])


async def join_again(sql: Connection[Any], one: int, other: int) -> None:
    """Join two that were taken apart, unless somebody said since that what is with them differs."""
    found = await beside(sql, one, other)
    sides = [
        [asset_id, *(i for i, group in found.items() if group == found.get(asset_id))]
        for asset_id in (one, other)
    ]
    if not await sql.fetchval(_DIFFER, *sides):
        await join(sql, one, other)


_DIFFER = """
SELECT EXISTS (SELECT FROM duplicate_pair WHERE verdict = 'different' AND (
    a_id = ANY($1::bigint[]) AND b_id = ANY($2::bigint[])
    OR b_id = ANY($1::bigint[]) AND a_id = ANY($2::bigint[])))
"""


async def leave(sql: Connection[Any], asset_id: int) -> None:
    """Take an asset out of its group."""
    rest = set(await beside(sql, asset_id, asset_id)) - {asset_id}
    await sql.execute("DELETE FROM alternate WHERE asset_id = $1", asset_id)
    await _put(sql, [rest])


async def part(sql: Connection[Any], one: int, other: int, before: Mapping[int, int]) -> None:
    """Part the groups of two assets where nothing that was decided holds them together any more.

    What holds is every pair that is stacked now, and who was together `before` the decision that is taken
    back. Only who is together at this moment stays so: later decisions stand.
    """
    now = await beside(sql, one, other)
    stacked = await sql.fetch(_STACKED, list(now))
    ties = [(row["a_id"], row["b_id"]) for row in stacked]
    ties = [(a, b) for a, b in ties if now[a] == now[b]]
    first: dict[tuple[int, int], int] = {}
    for asset_id in now.keys() & before.keys():
        ties.append((first.setdefault((now[asset_id], before[asset_id]), asset_id), asset_id))
    await _put(sql, _tied(ties, now))


_STACKED = """
SELECT a_id, b_id FROM duplicate_pair
WHERE a_id = ANY($1::bigint[]) AND b_id = ANY($1::bigint[]) AND verdict = 'alternate'
"""


def _tied(ties: Iterable[tuple[int, int]], members: Iterable[int]) -> list[set[int]]:
    """The members in sets that ties connect."""
    sets = {member: {member} for member in members}
    for a, b in ties:
        if sets[a] is not sets[b]:
            sets[a] |= sets[b]
            for member in sets[b]:
                sets[member] = sets[a]
    return list({id(found): found for found in sets.values()}.values())


async def _put(sql: Connection[Any], groups: Sequence[Collection[int]]) -> None:
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
