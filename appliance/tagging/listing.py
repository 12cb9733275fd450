"""Tags as a table and one by one: pages by keyset, filtered by name and kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.library.models import VISIBLE
from appliance.tagging.errors import NoTag
from appliance.tagging.names import name_key
from appliance.tagging.reading import VIEW, TagView


if TYPE_CHECKING:
    from asyncpg import Connection


class TagRow(msgspec.Struct, frozen=True):
    """A tag in the table: `uses` is exact at this moment, `sorted_by` is where the next page goes on."""

    tag: TagView
    uses: int
    aliases: Sequence[str]
    sorted_by: str


class Totals(msgspec.Struct, frozen=True):
    """How many tags and other names there are."""

    tags: int
    aliases: int


class AliasView(msgspec.Struct, frozen=True):
    """Another name of a tag."""

    id: int
    name: str


class TagDetail(msgspec.Struct, frozen=True):
    """One tag with what belongs to it."""

    tag: TagView
    uses: int
    hidden: int
    """Assets that carry it in the archive, the trash, or privately."""
    children: int
    aliases: Sequence[AliasView]


class Cover(msgspec.Struct, frozen=True):
    """A picture that carries a tag."""

    id: int
    version: int
    width: int
    height: int
    title: str | None


_PENDING = "(SELECT tag_id, sum(uses)::bigint AS uses FROM tag_delta GROUP BY tag_id)"
_FILTER = """
($1::text IS NULL OR t.kind = $1)
AND ($2::text = '' OR position($2 IN t.name_key) > 0
     OR t.id IN (SELECT tag_id FROM tag_alias WHERE position($2 IN name_key) > 0))
AND (NOT $6 OR t.uses + CASE WHEN t.id IN (SELECT tag_id FROM tag_delta)
     THEN (SELECT sum(p.uses) FROM tag_delta p WHERE p.tag_id = t.id) ELSE 0 END > 0)
"""
_ROWS = f"""
SELECT {VIEW}, t.uses + coalesce(d.uses, 0), t.name_key,
       ARRAY(SELECT name FROM tag_alias WHERE tag_id = t.id ORDER BY name_key LIMIT 4)
FROM (SELECT * FROM tag t WHERE {_FILTER} AND {{after}} ORDER BY {{order}} LIMIT $5) t
LEFT JOIN tag f ON f.id = t.fandom_id LEFT JOIN {_PENDING} d ON d.tag_id = t.id
ORDER BY {{order}}
"""
_BY_USES = _ROWS.format(
    after="($3::bigint IS NULL OR t.uses <= $3 AND (t.uses < $3 OR t.id > $4))", order="t.uses DESC, t.id"
)
_BY_NAME = _ROWS.format(after="($3::text IS NULL OR (t.name_key, t.id) > ($3, $4))", order="t.name_key, t.id")


async def page(
    sql: Connection[Any],
    order: str,
    *,
    kind: str | None = None,
    text: str = "",
    after: tuple[str, int] | None = None,
    limit: int = 100,
    used: bool = False,
) -> list[TagRow]:
    """The next tags by `uses` or by `name`, below the place that a former row gave.

    Only those that are `used` on something everybody sees is what a viewer gets: a name can tell, too.
    """
    by_uses = order == "uses"
    start: Any = None if after is None else int(after[0]) if by_uses else after[0]
    rows = await sql.fetch(
        _BY_USES if by_uses else _BY_NAME,
        kind,
        name_key(text.replace("\0", "")),
        start,
        after[1] if after else 0,
        limit,
        used,
    )
    return [TagRow(TagView(*r[:6]), r[6], r[8], str(r[5] if by_uses else r[7])) for r in rows]


async def totals(sql: Connection[Any]) -> Totals:
    """How many there are in all."""
    rows = await sql.fetch("SELECT (SELECT count(*) FROM tag), (SELECT count(*) FROM tag_alias)")
    return Totals(*rows[0])


async def detail(sql: Connection[Any], tag_id: int) -> TagDetail:
    """One tag; refused when it is gone. What it became after a merge is asked with `current`."""
    rows = await sql.fetch(
        f"SELECT {VIEW}, (SELECT count(*) FROM asset_tag x JOIN asset a ON a.id = x.asset_id"
        f"   WHERE x.tag_id = t.id AND {VISIBLE}),"
        " (SELECT count(*) FROM asset_tag x WHERE x.tag_id = t.id),"
        " (SELECT count(*) FROM tag c WHERE c.fandom_id = t.id)"
        " FROM tag t LEFT JOIN tag f ON f.id = t.fandom_id WHERE t.id = $1",
        tag_id,
    )
    if not rows:
        raise NoTag
    aliases = await sql.fetch("SELECT id, name FROM tag_alias WHERE tag_id = $1 ORDER BY name_key", tag_id)
    row = rows[0]
    return TagDetail(TagView(*row[:6]), row[6], row[7] - row[6], row[8], [AliasView(*a) for a in aliases])


async def covers(sql: Connection[Any], tag_id: int, *, limit: int = 8) -> list[Cover]:
    """The newest visible pictures that carry a tag and can be shown at once."""
    rows = await sql.fetch(
        "SELECT a.id, r.version, r.width, r.height, a.title FROM ("
        " SELECT asset_id FROM asset_tag WHERE tag_id = $1 ORDER BY effective_at DESC, asset_id DESC LIMIT 60"
        ") x JOIN asset a ON a.id = x.asset_id"
        " JOIN rendition r ON r.asset_id = a.id AND r.name = 'grid-240' AND r.status = 'complete'"
        f" WHERE {VISIBLE} ORDER BY a.effective_at DESC, a.id DESC LIMIT $2",
        tag_id,
        limit,
    )
    return [Cover(*r) for r in rows]


async def became(sql: Connection[Any], tag_id: int) -> int | None:
    """What a tag that was merged away is now; None where nothing is known of it."""
    now: int | None = await sql.fetchval("SELECT tag_id FROM tag_former WHERE former_id = $1", tag_id)
    return now
