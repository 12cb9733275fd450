"""A library of any size in seconds, as rows alone: dates over years, tags as unevenly used as real ones."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any


if TYPE_CHECKING:
    from asyncpg import Connection


SECONDS = 6 * 365 * 86400
"""The dates go back so far."""
UNDATED = 200
"""One in so many has no date but its import: many share one instant."""
_CONSONANTS, _VOWELS = "bdfghjklmnprstvw", "aeiou"


@dataclass(frozen=True, slots=True)
class Seed:
    """How large the library is, and how its tags are spread."""

    assets: int = 200_000
    tags: int = 100_000
    used: int = 20_000
    """Tags that are on assets, by Zipf's law: the first on more than half of them, the last on a few."""
    each: int = 12
    """Tags on each asset."""


def names(count: int) -> list[str]:
    """Names that begin alike as real ones do; always the same."""
    rng = random.Random(11)  # noqa: S311 - figures, not secrets
    found: dict[str, None] = {}
    while len(found) < count:
        words = ["".join(_syllable(rng) for _ in range(rng.randint(2, 3))) for _ in range(rng.randint(1, 2))]
        found["_".join(words)] = None
    return list(found)


def _syllable(rng: random.Random) -> str:
    return rng.choice(_CONSONANTS) + rng.choice(_VOWELS) + rng.choice(("", "", "n", "r", "s"))


# Numbers drawn from the row's own number, so that every run makes the same library.
_DRAWN = "((('x' || substr(md5({0}), 1, 8))::bit(32)::bigint & 2147483647) / 2147483648.0)"
_TAGS = """
INSERT INTO tag (name, name_key, kind)
SELECT name, name, (ARRAY['general', 'general', 'general', 'artist', 'character', 'fandom', 'series', 'meta'])
                   [1 + n::int % 8]
FROM unnest($1::text[]) WITH ORDINALITY AS t(name, n) ORDER BY n
"""
_ASSETS = f"""
INSERT INTO asset (kind, sha256, size, mime, width, height, duration_ms, date_source, effective_at, taken_at,
                   rating, favourite, dominant, added_at)
SELECT CASE WHEN n % 25 = 0 THEN 'video' WHEN n % 33 = 0 THEN 'animation' ELSE 'still' END,
       sha256(('seeded ' || n)::bytea), 40000 + (u * 6000000)::bigint,
       CASE WHEN n % 25 = 0 THEN 'video/mp4' WHEN n % 33 = 0 THEN 'image/gif' ELSE 'image/jpeg' END,
       CASE WHEN n % 3 = 0 THEN 3000 ELSE 4000 END, CASE WHEN n % 3 = 0 THEN 4000 ELSE 3000 END,
       CASE WHEN n % 25 = 0 THEN 5000 + (u * 300000)::bigint END,
       CASE WHEN n % {UNDATED} = 0 THEN 'import' ELSE 'exif' END, at, at,
       CASE WHEN n % 20 = 0 THEN 1 + (n / 20) % 5 ELSE 0 END, n % 97 = 0, n % 216,
       now() - interval '1 second' * ($1 - n)
FROM generate_series(1, $1::bigint) n
CROSS JOIN LATERAL (SELECT {_DRAWN.format("n::text")} AS u) d
CROSS JOIN LATERAL (
    SELECT CASE WHEN n % {UNDATED} = 0 THEN timestamp '2026-06-01'
                ELSE timestamp '2026-11-30' - interval '1 second' * (u * {SECONDS})::bigint END AS at
) w
"""
# Zipf with exponent 1: the rank is e to the power of an even draw. Half again as many are drawn as are
# kept, since an asset carries a tag once.
_ASSET_TAGS = f"""
INSERT INTO asset_tag (asset_id, tag_id, effective_at)
SELECT id, rank, effective_at FROM (
    SELECT a.id, a.effective_at, d.rank, row_number() OVER (PARTITION BY a.id ORDER BY min(d.k)) AS place
    FROM asset a CROSS JOIN LATERAL (
        SELECT k, least($2::bigint, floor(exp({_DRAWN.format("a.id::text || '/' || k")}
                                              * ln($2::numeric + 1)))::bigint) AS rank
        FROM generate_series(1, ($3::int * 3) / 2) k
    ) d
    WHERE a.id BETWEEN $4 AND $5 GROUP BY a.id, a.effective_at, d.rank
) drawn WHERE place <= $3 AND $1::bigint > 0 ORDER BY id, rank
"""
_USES = """
UPDATE tag SET uses = c.n FROM (SELECT tag_id, count(*) AS n FROM asset_tag GROUP BY 1) c
WHERE c.tag_id = tag.id
"""
_AFTER = (
    """
    INSERT INTO rendition (asset_id, name, status, width, height, bytes)
    SELECT id, 'grid-240', 'complete', CASE WHEN width > height THEN 320 ELSE 180 END, 240, 9000
    FROM asset ORDER BY id
    """,
    _USES,
    "DELETE FROM month_count",
    "INSERT INTO month_count SELECT date_trunc('month', effective_at)::date, count(*) FROM asset GROUP BY 1",
)
AT_ONCE = 50_000


async def seed(sql: Connection[Any], wanted: Seed) -> None:
    """Fill an empty database, doing the work of its triggers: that needs the rights of its owner."""
    await sql.execute("SET session_replication_role = replica")
    await sql.execute("SET synchronous_commit = off")
    await sql.execute(_TAGS, names(wanted.tags))
    await sql.execute(_ASSETS, wanted.assets)
    index = await sql.fetchval("SELECT pg_get_indexdef('ix_asset_tag_timeline'::regclass)")
    await sql.execute("DROP INDEX ix_asset_tag_timeline")
    for low in range(1, wanted.assets + 1, AT_ONCE):
        await sql.execute(
            _ASSET_TAGS, wanted.assets, wanted.used, wanted.each, low, min(low + AT_ONCE - 1, wanted.assets)
        )
    await sql.execute(index)
    for statement in _AFTER:
        await sql.execute(statement)
    await sql.execute("RESET session_replication_role")
    # Once, as autovacuum would: plans and index-only scans need it.
    await sql.execute("VACUUM (ANALYZE)")
