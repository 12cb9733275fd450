"""Reads of tags: by id, by name, by the beginning of a name, and those on assets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.tagging.names import name_key


if TYPE_CHECKING:
    from asyncpg import Connection


class TagView(msgspec.Struct, frozen=True):
    """One tag; `fandom` is the name of the work it belongs to."""

    id: int
    name: str
    kind: str
    fandom_id: int | None
    fandom: str | None
    uses: int


class Completion(msgspec.Struct, frozen=True):
    """A tag that what was typed may mean; `alias` is the other name by which it was found."""

    tag: TagView
    alias: str | None


class AssetTagView(msgspec.Struct, frozen=True):
    """A tag on an asset, and who put it there."""

    tag: TagView
    by: str
    score: float | None
    user_id: int | None
    person: str | None
    """The name of that person, where it was one and is still here."""
    added_at: datetime


VIEW = "t.id, t.name, t.kind, t.fandom_id, f.name, t.uses"
_FROM = f"SELECT {VIEW} FROM tag t LEFT JOIN tag f ON f.id = t.fandom_id"
KIND_ORDER = "array_position(ARRAY['artist','series','fandom','character','general','meta','rating'], t.kind)"
"""SQL: the order in which kinds stand on a page."""
# Bytewise, as the index with text_pattern_ops sorts; parameters, so that one plan serves every prefix.
_BEGINS = "{0}.name_key ~>=~ $1 AND {0}.name_key ~<~ ($1 || U&'\\+10FFFF')"
_KIND = "($2::text IS NULL OR {0}.kind = $2)"
# Of a common beginning only so many are read by name; the best of the rest are among the tags used most.
FEW = 2000
MOST_USED = 4000
# Apart, since the planner would rather walk all tags by use in the hope of meeting eight soon.
_NAMED = f"""
WITH t AS MATERIALIZED (SELECT * FROM tag t WHERE {_BEGINS.format("t")} AND {_KIND.format("t")} LIMIT {FEW})
SELECT {VIEW}, count(*) OVER () FROM t LEFT JOIN tag f ON f.id = t.fandom_id
ORDER BY t.uses DESC, t.id LIMIT $3
"""
_USED = f"""
WITH t AS MATERIALIZED (SELECT * FROM tag ORDER BY uses DESC, id LIMIT {MOST_USED})
SELECT {VIEW} FROM t LEFT JOIN tag f ON f.id = t.fandom_id
WHERE starts_with(t.name_key, $1) AND {_KIND.format("t")} ORDER BY t.uses DESC, t.id LIMIT $3
"""
_EXACT = f"{_FROM} WHERE t.name_key = $1 AND {_KIND.format('t')} ORDER BY t.uses DESC, t.id LIMIT $3"
_BY_ALIAS = f"""
SELECT {VIEW}, o.name FROM (
    SELECT name, tag_id FROM tag_alias o WHERE {_BEGINS.format("o")} LIMIT {FEW}
) o JOIN tag t ON t.id = o.tag_id LEFT JOIN tag f ON f.id = t.fandom_id
WHERE {_KIND.format("t")} ORDER BY t.uses DESC, t.id LIMIT $3
"""
_RESOLVE = """
SELECT t.id FROM tag t LEFT JOIN tag f ON f.id = t.fandom_id
WHERE t.name_key = $1 AND ($2::text IS NULL OR t.kind = $2) AND ($3::text IS NULL OR f.name_key = $3)
UNION
SELECT o.tag_id FROM tag_alias o LEFT JOIN tag f ON f.id = o.fandom_id
WHERE o.name_key = $1 AND ($2::text IS NULL OR o.kind = $2) AND ($3::text IS NULL OR f.name_key = $3)
ORDER BY 1
"""
_EXPAND = f"""
SELECT m.id, count(*) OVER () FROM (
    SELECT id FROM tag t WHERE {_BEGINS.format("t")} AND {_KIND.format("t")}
    UNION
    SELECT o.tag_id FROM tag_alias o WHERE {_BEGINS.format("o")} AND {_KIND.format("o")}
) m JOIN tag t ON t.id = m.id ORDER BY t.uses DESC, m.id LIMIT $3
"""


def _key(text: str) -> str:
    # What no column can hold is in no column; it must not become an error either.
    return name_key(text.replace("\0", "\ufffd").encode("utf-8", "replace").decode())


async def find(sql: Connection[Any], ids: Sequence[int]) -> list[TagView]:
    """The tags with these ids, in no order; those that are gone are left out."""
    return [TagView(*r) for r in await sql.fetch(f"{_FROM} WHERE t.id = ANY($1::bigint[])", list(ids))]


async def resolve(
    sql: Connection[Any], key: str, *, kind: str | None = None, fandom: str | None = None
) -> list[int]:
    """Tags of exactly this name or other name; several where kinds or fandoms share it."""
    among = None if fandom is None else _key(fandom)
    return [r[0] for r in await sql.fetch(_RESOLVE, _key(key), kind, among)]


async def expand(
    sql: Connection[Any], prefix_key: str, *, kind: str | None = None, limit: int
) -> tuple[list[int], int]:
    """Tags whose name or other name begins like this, the most used first, and how many there are in all."""
    rows = await sql.fetch(_EXPAND, _key(prefix_key), kind, limit)
    return [r[0] for r in rows], rows[0][1] if rows else 0


async def complete(
    sql: Connection[Any], text: str, *, kind: str | None = None, limit: int = 8
) -> list[Completion]:
    """What the typed beginning may mean: the exact name first, then by use; flat in the number of tags."""
    key = _key(text)
    if not key:
        return []
    exact = await sql.fetch(_EXACT, key, kind, limit)
    named = await sql.fetch(_NAMED, key, kind, limit)
    used = await sql.fetch(_USED, key, kind, limit) if named and named[0][6] == FEW else []
    other = await sql.fetch(_BY_ALIAS, key, kind, limit)
    found = [Completion(TagView(*r[:6]), None) for r in (*used, *named)]
    found += [Completion(TagView(*r[:-1]), r[-1]) for r in other]
    found.sort(key=lambda c: -c.tag.uses)
    best: dict[int, Completion] = {}
    for completion in [*(Completion(TagView(*r), None) for r in exact), *found]:
        best.setdefault(completion.tag.id, completion)
    return list(best.values())[:limit]


async def of_asset(sql: Connection[Any], asset_id: int) -> list[AssetTagView]:
    """The tags of one asset, by kind and name."""
    rows = await sql.fetch(
        f"SELECT {VIEW}, x.by, x.score, x.user_id, u.name, x.added_at"
        " FROM asset_tag x JOIN tag t ON t.id = x.tag_id"
        ' LEFT JOIN tag f ON f.id = t.fandom_id LEFT JOIN "user" u ON u.id = x.user_id WHERE x.asset_id = $1'
        f" ORDER BY {KIND_ORDER}, t.name_key, t.id",
        asset_id,
    )
    return [AssetTagView(TagView(*r[:6]), *r[6:]) for r in rows]


async def shares(sql: Connection[Any], ids: Sequence[int], *, limit: int = 200) -> list[tuple[TagView, int]]:
    """The tags on these assets with how many of them carry each, those on most of them first."""
    rows = await sql.fetch(
        f"SELECT {VIEW}, x.n FROM (SELECT tag_id, count(*) AS n FROM asset_tag"
        " WHERE asset_id = ANY($1::bigint[]) GROUP BY tag_id) x"
        " JOIN tag t ON t.id = x.tag_id LEFT JOIN tag f ON f.id = t.fandom_id"
        " ORDER BY x.n DESC, t.name_key, t.id LIMIT $2",
        list(ids),
        limit,
    )
    return [(TagView(*r[:6]), r[6]) for r in rows]


async def recent(sql: Connection[Any], user_id: int, *, limit: int = 12) -> list[TagView]:
    """The tags that a person used last, newest first."""
    rows = await sql.fetch(
        f"SELECT {VIEW} FROM tag_recent r JOIN tag t ON t.id = r.tag_id LEFT JOIN tag f ON f.id = t.fandom_id"
        " WHERE r.user_id = $1 ORDER BY r.used_at DESC, t.id LIMIT $2",
        user_id,
        limit,
    )
    return [TagView(*r) for r in rows]
