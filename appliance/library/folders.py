"""The folders under the roots, level by level, read from the paths of files without visiting every file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core.errors import NotFound
from appliance.library.models import VISIBLE


if TYPE_CHECKING:
    from asyncpg import Connection, Record


PAGE = 30
SAMPLE = 500
"""A folder is counted and given covers from its first files, so that a page costs the same at any size."""
COVERS, LOOKED_AT = 4, 60
SLASH, AFTER_SLASH = b"/", b"0"
BEYOND = b"\xff" * 300
"""Above every path: a part of a path has at most 255 bytes."""


class Cover(msgspec.Struct, frozen=True):
    """One small picture of a folder."""

    id: int
    version: int
    width: int
    height: int


class Folder(msgspec.Struct, frozen=True):
    """A folder that holds pictures, or a root; `count` is exact unless `more`."""

    root_id: int
    root: bytes
    path: bytes
    """Relative to the root; empty for the root itself."""
    count: int
    more: bool
    deep: bool
    """Whether folders may lie inside."""
    covers: tuple[Cover, ...]
    mode: str = "in_place"
    status: str = "ready"

    @property
    def name(self) -> bytes:
        """Its own name; of a root the whole path."""
        return self.path.rpartition(SLASH)[2] or self.root

    @property
    def place(self) -> bytes:
        """The whole path, as a search names it."""
        return self.root.rstrip(SLASH) + SLASH + self.path if self.path else self.root


class Level(msgspec.Struct, frozen=True):
    """The folders directly under one place; `after` begins the next page."""

    root_id: int
    root: bytes
    path: bytes
    folders: list[Folder]
    after: bytes | None


# Each step of the recursion jumps over everything inside the folder that it found; only files that lie
# directly between two folders are passed one by one, inside the index.
_NEXT = r"""
SELECT substring(path FROM 1 FOR $4 + position('\x2f'::bytea IN substring(path FROM $4 + 1)) - 1) AS head
FROM asset_file WHERE root_id = $1 AND path >= {start} AND path < $3
AND position('\x2f'::bytea IN substring(path FROM $4 + 1)) > 0 ORDER BY path LIMIT 1
"""
_FIRST, _FOLLOWING = _NEXT.format(start="$2"), _NEXT.format(start=r"step.head || '\x30'::bytea")
_HEADS = f"""
WITH RECURSIVE step AS (
    ({_FIRST})
    UNION ALL
    SELECT found.head FROM step CROSS JOIN LATERAL ({_FOLLOWING}) found
) SELECT head FROM step LIMIT $5
"""
_ROOTS = """
SELECT id, path, mode, status FROM root
WHERE purpose = 'folder' AND status <> 'retired' ORDER BY path LIMIT 200
"""
_LOOK = f"""
SELECT s.files, s.shown, s.deep,
       ARRAY(SELECT ARRAY[c.id, r.version, r.width, r.height]
             FROM (SELECT id, min(n) AS n FROM unnest(s.first) WITH ORDINALITY u(id, n) GROUP BY id) c
             JOIN rendition r ON r.asset_id = c.id AND r.name = 'grid-240' AND r.status = 'complete'
             ORDER BY c.n LIMIT $5) AS covers
FROM unnest($1::bigint[], $2::bytea[], $3::bytea[]) WITH ORDINALITY AS h(root_id, low, high, place)
CROSS JOIN LATERAL (
    SELECT count(*)::int AS files, count(DISTINCT a.id) FILTER (WHERE {VISIBLE})::int AS shown,
           coalesce(bool_or(position('\\x2f'::bytea IN substring(f.path FROM length(h.low) + 1)) > 0), false)
               AS deep,
           (array_agg(a.id ORDER BY f.path) FILTER (WHERE {VISIBLE}))[1:{LOOKED_AT}] AS first
    FROM (SELECT asset_id, path FROM asset_file
          WHERE root_id = h.root_id AND path >= h.low AND path < h.high ORDER BY path LIMIT $4) f
    JOIN asset a ON a.id = f.asset_id
) s ORDER BY h.place
"""


async def roots(sql: Connection[Any], *, admin: bool) -> list[Folder]:
    """All roots that people named, with what lies in them."""
    found = await sql.fetch(_ROOTS)
    looks = await _look(sql, [(r["id"], b"", BEYOND) for r in found])
    made = [
        _folder(r["id"], r["path"], b"", look, mode=r["mode"], status=r["status"])
        for r, look in zip(found, looks, strict=True)
    ]
    return made if admin else [f for f in made if f.count]


async def level(sql: Connection[Any], root_id: int, path: bytes, *, after: bytes = b"", admin: bool) -> Level:
    """The folders directly inside a place, by name, one page of them."""
    root = await sql.fetchval(
        "SELECT path FROM root WHERE id = $1 AND purpose = 'folder' AND status <> 'retired'", root_id
    )
    if root is None:
        raise NotFound("There is no such folder", "It may have been removed from Vitrine.")
    low = path + SLASH if path else b""
    high = path + AFTER_SLASH if path else BEYOND
    start = after + AFTER_SLASH if after.startswith(low) and len(after) > len(low) else low
    heads = [r["head"] for r in await sql.fetch(_HEADS, root_id, start, high, len(low), PAGE + 1)]
    shown, more = heads[:PAGE], len(heads) > PAGE
    looks = await _look(sql, [(root_id, h + SLASH, h + AFTER_SLASH) for h in shown])
    folders = [_folder(root_id, root, h, look) for h, look in zip(shown, looks, strict=True)]
    # A name alone can tell: who may not see what is inside does not see the folder.
    folders = folders if admin else [f for f in folders if f.count]
    return Level(root_id, root, path, folders, shown[-1] if more else None)


async def _look(sql: Connection[Any], spans: list[tuple[int, bytes, bytes]]) -> list[Record]:
    if not spans:
        return []
    roots, lows, highs = zip(*spans, strict=True)
    return list(await sql.fetch(_LOOK, list(roots), list(lows), list(highs), SAMPLE + 1, COVERS))


def _folder(
    root_id: int, root: bytes, path: bytes, look: Record, *, mode: str = "in_place", status: str = "ready"
) -> Folder:
    more = look["files"] > SAMPLE
    covers = tuple(Cover(c[0], c[1], c[2] or 1, c[3] or 1) for c in look["covers"])
    return Folder(
        root_id, root, path, min(look["shown"], SAMPLE), more, look["deep"] or more, covers, mode, status
    )
