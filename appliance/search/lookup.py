"""What the names in a search stand for: tags with their uses, folders with their files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from appliance.search import tree
from appliance.search.errors import SearchError
from appliance.search.query import Query
from appliance.search.tree import Filter, Leaf, Tag
from appliance.search.values import Word
from appliance.tagging import services as tagging
from appliance.tagging.services import TagView, name_key


if TYPE_CHECKING:
    from asyncpg import Connection


MOST_TAGS = 1000
"""A beginning that stands for more tags is refused: it would say nothing, and cost a lot."""
COUNTED_FILES = 5000
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
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")


@dataclass(frozen=True, slots=True)
class Folder:
    """Where a folder of a search lies: whole roots, stretches of paths, or a part of any path."""

    roots: tuple[int, ...] = ()
    stretches: tuple[tuple[int, bytes, bytes], ...] = ()
    parts: tuple[bytes, ...] = ()
    files: int | None = None
    """How many files lie there; None for more than were counted."""


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that the names of one search stand for."""

    tags: Mapping[Tag, Sequence[TagView]] = field(default_factory=dict)
    folders: Mapping[str, Folder] = field(default_factory=dict)
    library: int = 0
    """About how many assets the timeline has; to weigh what is rare."""

    def ids(self, tag: Tag) -> list[int]:
        """The tags that a name stands for."""
        return [t.id for t in self.tags.get(tag, ())]

    def uses(self, tag: Tag) -> int:
        """About how many assets carry one of them, if none carries two."""
        return sum(max(0, t.uses) for t in self.tags.get(tag, ()))


async def look_up(sql: Connection[Any], query: Query) -> Found:
    """Find what all names stand for, with a fixed number of statements for exact names."""
    leaves = list(dict.fromkeys(tree.leaves(query.node)))
    tags = [leaf for leaf in leaves if isinstance(leaf, Tag)]
    wanted = [leaf for leaf in leaves if isinstance(leaf, Filter) and leaf.key == "folder"]
    if not leaves:
        return Found()
    found = await _exact(sql, [t for t in tags if not t.prefix])
    for tag in tags:
        if tag.prefix:
            found[tag] = await _beginning(sql, tag)
    folders = await _folders(sql, wanted) if wanted else {}
    library = await sql.fetchval("SELECT coalesce(sum(assets), 0)::bigint FROM month_count")
    return Found(found, folders, max(0, library))


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


async def _folders(sql: Connection[Any], wanted: Sequence[Leaf]) -> dict[str, Folder]:
    roots = [(r["id"], r["path"]) for r in await sql.fetch("SELECT id, path FROM root ORDER BY id")]
    found = {}
    for leaf in wanted:
        if isinstance(leaf, Filter) and isinstance(leaf.value, Word):
            found[leaf.value.text] = await _counted(sql, locate(leaf.value.text, roots))
    return found


def locate(text: str, roots: Sequence[tuple[int, bytes]]) -> Folder:
    """Where a folder lies, by its whole path, or by a part of it that stands between slashes."""
    whole: set[int] = set()
    stretches: set[tuple[int, bytes, bytes]] = set()
    parts = set()
    for spelled in _spellings(text):
        name = spelled.rstrip(b"/")
        inner = name.strip(b"/")
        for number, path in roots:
            root = path.rstrip(b"/")
            if (root + b"/").startswith(name + b"/") or (
                inner and not spelled.startswith(b"/") and b"/" + inner + b"/" in root + b"/"
            ):
                whole.add(number)
            elif name.startswith(root + b"/"):
                inside = name[len(root) + 1 :]
                stretches.add((number, inside + b"/", inside + b"0"))
        if inner and not spelled.startswith(b"/"):
            parts.add(b"/" + inner + b"/")
    return Folder(tuple(sorted(whole)), tuple(sorted(stretches)), tuple(sorted(parts)))


def _spellings(text: str) -> set[bytes]:
    # Names that are no UTF-8 are shown, and so searched for, with escapes.
    plain = text.encode()
    return {plain, _ESCAPED.sub(lambda m: bytes([int(m[1], 16)]), plain)}


async def _counted(sql: Connection[Any], folder: Folder) -> Folder:
    values: list[object] = []

    def bind(value: object, kind: str) -> str:
        values.append(value)
        return f"${len(values)}::{kind}"

    inside = within(folder, bind)
    files = await sql.fetchval(
        f"SELECT count(*) FROM (SELECT FROM asset_file f WHERE {inside} LIMIT {COUNTED_FILES + 1}) n", *values
    )
    counted = files if files <= COUNTED_FILES else None
    return Folder(folder.roots, folder.stretches, folder.parts, counted)


def within(folder: Folder, bind: Any) -> str:
    """SQL: whether the file `f` lies in a folder."""
    ways = []
    if folder.roots:
        ways.append(f"f.root_id = ANY({bind(list(folder.roots), 'bigint[]')})")
    for number, low, high in folder.stretches:
        ways.append(
            f"(f.root_id = {bind(number, 'bigint')} AND f.path >= {bind(low, 'bytea')}"
            f" AND f.path < {bind(high, 'bytea')})"
        )
    ways += [
        f"(f.root_id IS NOT NULL AND position({bind(part, 'bytea')} IN '\\x2f'::bytea || f.path) > 0)"
        for part in folder.parts
    ]
    return f"({' OR '.join(ways)})" if ways else "false"
