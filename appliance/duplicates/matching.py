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
"""A hash that is near to more than this is one of a crowd: the nearest are looked at, equal ones first."""
LOOKED_AT = 2000
"""So many of a crowd each band finds at most."""
PAIRS = 24
"""The nearest of them become pairs; a person decides about no more."""
SAME_LENGTH = "abs({0} - {1}) <= greatest(1000, 0.03 * greatest({0}, {1}))"
"""SQL: two lengths in milliseconds that a copy of a film may have."""
SHARE = 0.6
"""So many of the frames of the richer film have to be near to one of the other at their moment."""

_BITS = "bit_count(({0} # {1})::bit(64))"
_AT_ONCE = 0x5654524E0020
"""One search at a time: two would miss what the other one has in hand."""


def nearby(place: str, hash_: str, reach: str) -> str:
    """SQL of the hashes in a place that are near to one: they share a band with it, to one bit."""
    return " UNION ".join(
        f"SELECT c.id, c.asset_id, c.tombstone_id, {bits('c.hash', hash_)} AS distance FROM phash c"
        f" WHERE c.place = '{place}' AND {_in_reach(n, hash_, reach)}"
        for n in range(4)
    )


def _in_reach(band: int, hash_: str, reach: str) -> str:
    return (
        f"c.band{band} = ANY(phash_near({hash_}, {band}))"
        f" AND {bits('c.hash', hash_)} <= least(c.reach, {reach})"
    )


def _nearest(hash_: str) -> str:
    """SQL of the assets that are near to `fresh` and of its kind, the nearest of a crowd.

    Each part ends where it has found enough: in a crowd of thousands a look at all of them would cost each
    of them as much. Equal hashes are a part of their own, so that no crowd stands before an exact copy.
    """
    equal = " AND ".join(f"c.band{n} = (({hash_} >> {16 * n}) & 65535) - 32768" for n in range(4))
    parts = (equal, *(_in_reach(n, hash_, "fresh.reach") for n in range(4)))
    union = " UNION ".join(
        f"(SELECT c.asset_id, {bits('c.hash', hash_)} AS distance FROM phash c JOIN asset b"
        f" ON b.id = c.asset_id AND b.kind = fresh.kind WHERE c.place = 'open' AND {part}"
        f" AND c.asset_id <> fresh.asset_id LIMIT {LOOKED_AT})"
        for part in parts
    )
    return f"SELECT asset_id, distance FROM ({union}) c ORDER BY distance, asset_id LIMIT {CROWD}"


def bits(one: str, other: str) -> str:
    """SQL of the number of bits in which two hashes differ."""
    return _BITS.format(one, other)


_FRESH = """
SELECT p.id, p.asset_id FROM phash p WHERE NOT p.searched AND p.place = 'open' ORDER BY p.id LIMIT $1
"""

# `near`: hashes beside hashes. `met`: assets beside assets, of one length. `judged`: films are compared as a
# whole, frame by frame at their moments. The answer is the nearest of each new one.
_BEST = f"""
WITH fresh AS MATERIALIZED (
    SELECT p.id, p.asset_id, p.hash, p.mirror, p.reach, a.kind, a.duration_ms
    FROM phash p JOIN asset a ON a.id = p.asset_id WHERE p.id = ANY($1::bigint[])
), near AS MATERIALIZED (
    SELECT fresh.id, fresh.asset_id AS one, fresh.kind, fresh.duration_ms, seen.mirrored,
           found.asset_id AS other, found.distance
    FROM fresh CROSS JOIN LATERAL (VALUES (fresh.hash, false), (fresh.mirror, true)) AS seen(hash, mirrored)
    CROSS JOIN LATERAL ({_nearest("seen.hash")}) found
), met AS (
    SELECT DISTINCT ON (near.one, near.other) near.one, near.other, near.kind, near.mirrored, near.distance
    FROM near JOIN asset b ON b.id = near.other
    WHERE b.duration_ms IS NULL AND near.duration_ms IS NULL
       OR {SAME_LENGTH.format("b.duration_ms", "near.duration_ms")}
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
)
SELECT one, other, mirrored, distance::smallint, (SELECT count(*) FROM (
    SELECT FROM near GROUP BY id HAVING count(*) >= {CROWD}) crowds) AS crowds
FROM best WHERE place_in_line <= {PAIRS}
"""
_HOLD = "SELECT FROM asset WHERE id = ANY($1::bigint[]) ORDER BY id FOR SHARE"
# What was deleted since it was found makes no pair; what was decided since holds.
_PAIR = f"""
INSERT INTO duplicate_pair (a_id, b_id, distance, mirrored, verdict)
SELECT DISTINCT ON (a.id, b.id) a.id, b.id, best.distance, best.mirrored, d.verdict
FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::boolean[])
         AS best(one, other, distance, mirrored)
JOIN asset a ON a.id = least(one, other) JOIN asset b ON b.id = greatest(one, other)
LEFT JOIN duplicate_decision d
    ON (d.a_sha256, d.a_size) = (CASE WHEN {grouping.FIRST} THEN a.sha256 ELSE b.sha256 END,
                                 CASE WHEN {grouping.FIRST} THEN a.size ELSE b.size END)
   AND (d.b_sha256, d.b_size) = (CASE WHEN {grouping.FIRST} THEN b.sha256 ELSE a.sha256 END,
                                 CASE WHEN {grouping.FIRST} THEN b.size ELSE a.size END)
ORDER BY a.id, b.id, best.distance
ON CONFLICT (a_id, b_id) DO NOTHING
RETURNING a_id, b_id, verdict
"""


class Found(msgspec.Struct, frozen=True):
    """What one chunk came to."""

    searched: int
    pairs: int
    crowds: int
    """Hashes that are near to very many, of which only the nearest became pairs."""


async def find(uow: UnitOfWork, limit: int = CHUNK) -> Found:
    """Compare the next hashes with all others; pairs and marks stand or fall together.

    Nothing is locked while it compares. Then in the order of everybody who moves assets: the lock on
    groups, assets by id, hashes, pairs.
    """
    sql = uow.sql
    await sql.execute("SELECT pg_advisory_xact_lock($1)", _AT_ONCE)
    fresh = await sql.fetch(_FRESH, limit)
    if not fresh:
        return Found(0, 0, 0)
    ids = [row["id"] for row in fresh]
    best = await sql.fetch(_BEST, ids)
    await grouping.hold(sql)
    await sql.execute(_HOLD, sorted({r["asset_id"] for r in fresh} | {r["other"] for r in best}))
    made = await sql.fetch(
        _PAIR, *([r[name] for r in best] for name in ("one", "other", "distance", "mirrored"))
    )
    # What went to the trash meanwhile is compared when it comes back.
    await sql.execute("UPDATE phash SET searched = true WHERE id = ANY($1::bigint[]) AND place = 'open'", ids)
    for row in made:
        if row["verdict"] == "alternate":
            await grouping.join(sql, row["a_id"], row["b_id"])
    await settle(sql, [i for row in made for i in (row["a_id"], row["b_id"])])
    return Found(len(fresh), len(made), best[0]["crowds"] if best else 0)


async def settle(sql: Connection[Any], asset_ids: Sequence[int]) -> None:
    """Say anew which pairs of these assets wait for a decision."""
    await sql.execute("SELECT settle_pairs($1::bigint[])", sorted(set(asset_ids)))
