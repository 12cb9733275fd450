"""Finding what looks alike: each new hash is looked up among all others, band by band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.duplicates import grouping


if TYPE_CHECKING:
    from asyncpg import Connection

    from appliance.core.db import UnitOfWork


CHUNK = 100
CROWD = 200
"""A hash that is near to more than this is one of a crowd, whose members lead to each other anyway."""
PAIRS = 24
"""The nearest of them become pairs; a person decides about no more."""
SAME_LENGTH = "abs({0} - {1}) <= greatest(1000, 0.03 * greatest({0}, {1}))"
"""SQL: two lengths in milliseconds that a copy of a film may have."""
SHARE = 0.6
"""So many of the frames of the richer film have to be near to one of the other at their moment."""

_BITS = "bit_count(({0} # {1})::bit(64))"


def nearby(place: str, hash_: str, reach: str) -> str:
    """SQL of the hashes in a place that are near to one: they share a band with it, to one bit."""
    return " UNION ".join(
        f"SELECT c.id, c.asset_id, c.tombstone_id, {bits('c.hash', hash_)} AS distance FROM phash c"
        f" WHERE c.place = '{place}' AND c.band{n} = ANY(phash_near({hash_}, {n}))"
        f" AND {bits('c.hash', hash_)} <= least(c.reach, {reach})"
        for n in range(4)
    )


def bits(one: str, other: str) -> str:
    """SQL of the number of bits in which two hashes differ."""
    return _BITS.format(one, other)


_FRESH = """
SELECT p.id FROM phash p WHERE NOT p.searched AND p.place = 'open' ORDER BY p.id LIMIT $1
FOR UPDATE SKIP LOCKED
"""

# `near`: hashes beside hashes. `met`: assets beside assets, of one kind and one length. `judged`: films are
# compared as a whole, frame by frame at their moments. `best`: the nearest of each new one.
_FIND = f"""
WITH fresh AS MATERIALIZED (
    SELECT p.id, p.asset_id, p.hash, p.mirror, p.reach, a.kind, a.duration_ms
    FROM phash p JOIN asset a ON a.id = p.asset_id WHERE p.id = ANY($1::bigint[])
), near AS MATERIALIZED (
    SELECT fresh.id, fresh.asset_id AS one, fresh.kind, fresh.duration_ms, seen.mirrored,
           found.asset_id AS other, found.distance
    FROM fresh CROSS JOIN LATERAL (VALUES (fresh.hash, false), (fresh.mirror, true)) AS seen(hash, mirrored)
    CROSS JOIN LATERAL (
        SELECT c.asset_id, c.distance FROM ({nearby("open", "seen.hash", "fresh.reach")}) c
        WHERE c.asset_id <> fresh.asset_id LIMIT {CROWD}
    ) found
), met AS (
    SELECT DISTINCT ON (near.one, near.other) near.one, near.other, near.kind, near.mirrored, near.distance
    FROM near JOIN asset b ON b.id = near.other
    WHERE b.kind = near.kind
      AND (b.duration_ms IS NULL AND near.duration_ms IS NULL
           OR {SAME_LENGTH.format("b.duration_ms", "near.duration_ms")})
    ORDER BY near.one, near.other, near.distance, near.mirrored
), judged AS (
    SELECT one, other, mirrored, distance FROM met WHERE kind <> 'video'
    UNION ALL
    SELECT one, other, mirrored, frames.distance FROM met CROSS JOIN LATERAL (
        SELECT count(*) AS alike, round(avg(nearest.distance))::bigint AS distance,
               greatest((SELECT count(*) FROM phash WHERE asset_id = one),
                        (SELECT count(*) FROM phash WHERE asset_id = other)) AS frames
        FROM phash x CROSS JOIN LATERAL (
            SELECT min({bits("y.hash", "CASE WHEN mirrored THEN x.mirror ELSE x.hash END")}) AS distance
            FROM phash y WHERE y.asset_id = other AND {SAME_LENGTH.format("y.at_ms", "x.at_ms")}
        ) nearest
        WHERE x.asset_id = one AND nearest.distance <= x.reach
    ) frames WHERE kind = 'video' AND frames.alike >= {SHARE} * frames.frames
), best AS (
    SELECT one, other, mirrored, distance,
           row_number() OVER (PARTITION BY one ORDER BY distance, other) AS place_in_line
    FROM judged
), made AS (
    INSERT INTO duplicate_pair (a_id, b_id, distance, mirrored, verdict)
    SELECT DISTINCT ON (a.id, b.id) a.id, b.id, best.distance, best.mirrored, d.verdict
    FROM best JOIN asset a ON a.id = least(one, other) JOIN asset b ON b.id = greatest(one, other)
    LEFT JOIN duplicate_decision d
        ON (d.a_sha256, d.a_size) = (CASE WHEN {grouping.FIRST} THEN a.sha256 ELSE b.sha256 END,
                                     CASE WHEN {grouping.FIRST} THEN a.size ELSE b.size END)
       AND (d.b_sha256, d.b_size) = (CASE WHEN {grouping.FIRST} THEN b.sha256 ELSE a.sha256 END,
                                     CASE WHEN {grouping.FIRST} THEN b.size ELSE a.size END)
    WHERE place_in_line <= {PAIRS}
    ORDER BY a.id, b.id, best.distance
    ON CONFLICT (a_id, b_id) DO NOTHING
    RETURNING a_id, b_id, verdict
)
SELECT a_id, b_id, verdict, (SELECT count(*) FROM (
    SELECT FROM near GROUP BY id HAVING count(*) >= {CROWD}) crowds) AS crowds FROM made
"""


class Found(msgspec.Struct, frozen=True):
    """What one chunk came to."""

    searched: int
    pairs: int
    crowds: int
    """Hashes that are near to very many, of which only the nearest became pairs."""


async def find(uow: UnitOfWork, limit: int = CHUNK) -> Found:
    """Compare the next hashes with all others; pairs and marks stand or fall together."""
    sql = uow.sql
    fresh = [row["id"] for row in await sql.fetch(_FRESH, limit)]
    if not fresh:
        return Found(0, 0, 0)
    rows = await sql.fetch(_FIND, fresh)
    await sql.execute("UPDATE phash SET searched = true WHERE id = ANY($1::bigint[])", fresh)
    for row in rows:
        if row["verdict"] == "alternate":
            await grouping.join(sql, row["a_id"], row["b_id"])
    await settle(sql, [i for row in rows for i in (row["a_id"], row["b_id"])])
    return Found(len(fresh), len(rows), rows[0]["crowds"] if rows else 0)


async def settle(sql: Connection[Any], asset_ids: Sequence[int]) -> None:
    """Say anew which pairs of these assets wait for a decision."""
    await sql.execute("SELECT settle_pairs($1::bigint[])", sorted(set(asset_ids)))
