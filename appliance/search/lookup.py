"""What the names in a search stand for: tags with their uses, folders with their files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from appliance.search import gathering, tree
from appliance.search.errors import SearchError
from appliance.search.found import Folder, Found, locate
from appliance.search.patience import patience
from appliance.search.predicates import Arguments, Compiler
from appliance.search.query import Query
from appliance.search.tree import Filter, Tag
from appliance.search.values import Word
from appliance.tagging import services as tagging
from appliance.tagging.services import TagView, name_key


if TYPE_CHECKING:
    from asyncpg import Connection


MOST_TAGS = 1000
"""A beginning that stands for more tags is refused: it would say nothing, and cost a lot."""
COUNTED = 6000
"""So many assets of a filter are counted to see whether it is rare."""
_EXACT = """
SELECT w.n::int, t.id, t.name, t.kind, t.fandom_id, f.name, t.uses
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w(key, kind, n)
CROSS JOIN LATERAL (
    SELECT id FROM tag WHERE name_key = w.key AND (w.kind IS NULL OR kind = w.kind)
    UNION
    SELECT tag_id FROM tag_alias WHERE name_key = w.key AND (w.kind IS NULL OR kind = w.kind)
) m JOIN tag t ON t.id = m.id LEFT JOIN tag f ON f.id = t.fandom_id
ORDER BY w.n, t.uses DESC, t.id
"""


async def look_up(sql: Connection[Any], query: Query, now: datetime) -> Found:
    """Find what all names stand for: a statement for each sort of term, and two for each star."""
    leaves = list(dict.fromkeys(tree.leaves(query.node)))
    if not leaves:
        return Found()
    tags = [leaf for leaf in leaves if isinstance(leaf, Tag)]
    filters = [leaf for leaf in leaves if isinstance(leaf, Filter)]
    tags_found = await _exact(sql, [t for t in tags if not t.prefix])
    for tag in tags:
        if tag.prefix:
            tags_found[tag] = await _beginning(sql, tag)
    library = await sql.fetchval("SELECT coalesce(sum(assets), 0)::bigint FROM month_count")
    found = Found(
        tags_found,
        await _folders(sql, [f for f in filters if f.key == "folder"]),
        await _kinds(sql, [f for f in filters if f.key == "kind"]),
        library=max(0, library),
    )
    return await _counted(sql, found, [f for f in filters if gathering.counted(f)], now)


async def _exact(sql: Connection[Any], tags: Sequence[Tag]) -> dict[Tag, Sequence[TagView]]:
    found: dict[Tag, list[TagView]] = {t: [] for t in tags}
    if tags:
        rows = await sql.fetch(_EXACT, [name_key(t.name) for t in tags], [t.kind for t in tags])
        for row in rows:
            found[tags[row[0] - 1]].append(TagView(*row[1:]))
    return dict(found)


async def _beginning(sql: Connection[Any], tag: Tag) -> Sequence[TagView]:
    ids, count = await tagging.expand(sql, name_key(tag.name), kind=tag.kind, limit=MOST_TAGS)
    if count > MOST_TAGS:
        raise SearchError(
            f"{tag.name}* stands for {count:,} tags", "Type more letters.", start=tag.start, end=tag.end
        )
    return sorted(await tagging.find(sql, ids), key=lambda t: (-t.uses, t.id))


async def _folders(sql: Connection[Any], wanted: Sequence[Filter]) -> dict[str, Folder]:
    if not wanted:
        return {}
    roots = [(r["id"], r["path"]) for r in await sql.fetch("SELECT id, path FROM root ORDER BY id")]
    names = [f.value.text for f in wanted if isinstance(f.value, Word)]
    return {name: locate(name, roots) for name in names}


async def _kinds(sql: Connection[Any], wanted: Sequence[Filter]) -> dict[str, Sequence[TagView]]:
    found: dict[str, Sequence[TagView]] = {}
    for name in {f.value.text for f in wanted if isinstance(f.value, Word)}:
        rows = await sql.fetch("SELECT id FROM tag WHERE kind = $1 LIMIT $2", name, MOST_TAGS + 1)
        if len(rows) <= MOST_TAGS:
            found[name] = await tagging.find(sql, [r["id"] for r in rows])
    return found


async def _counted(sql: Connection[Any], found: Found, wanted: Sequence[Filter], now: datetime) -> Found:
    if not wanted:
        return found
    made = Compiler(Arguments(), found, now)
    # Counted as far as it matters: of more, a walk meets enough by itself.
    counts = [
        f"(SELECT count(*) FROM ({' UNION ALL '.join(gathering.ids(f, made))} LIMIT {COUNTED + 1}) n)"
        for f in wanted
    ]
    async with patience(sql):
        row = await sql.fetchrow(f"SELECT {', '.join(counts)}", *made.bind.values)
    assert row is not None  # noqa: S101 - a query without FROM answers one row
    few = {f: n for f, n in zip(wanted, row, strict=True) if n <= COUNTED}
    return replace(found, counted=few)
