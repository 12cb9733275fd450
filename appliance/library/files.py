"""Where the bytes of an asset lie."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from appliance.core.paths import Home
from appliance.library.errors import NoFile
from appliance.media import hops
from appliance.media.hops import Hop
from appliance.media.wire import Stat


if TYPE_CHECKING:
    from asyncpg import Connection


@dataclass(frozen=True, slots=True)
class Original:
    """One file of an asset: its absolute path, and the state in which it was read.

    With a way into it, the file is an archive and the asset one of its pages.
    """

    path: bytes
    size: int
    mtime_ns: int
    stored: bool
    mime: str
    name: bytes
    way: tuple[Hop, ...] = ()
    root: tuple[int, bytes] | None = None
    """Id and path of the root that it lies under; None for a file that we store."""
    away: str | None = None
    """Why that root is known not to be readable; None where it is, as far as anyone knows."""

    @property
    def expected(self) -> Stat | None:
        """What must still be true of the file; one of ours is named by its content and keeps no time."""
        return None if self.stored else Stat(self.size, self.mtime_ns)


_AWAY = "CASE WHEN r.status = 'unavailable' THEN coalesce(r.reason, '') END AS away"
_FILE = f"""
SELECT f.root_id, f.path, f.size, f.mtime_ns, r.path AS root, a.mime, NULL AS hops, {_AWAY},
       (SELECT p.path FROM provenance p WHERE p.asset_id = a.id ORDER BY p.id LIMIT 1) AS named
FROM asset a JOIN asset_file f ON f.asset_id = a.id LEFT JOIN root r ON r.id = f.root_id
WHERE a.id = $1
ORDER BY f.root_id IS NOT NULL, r.status IS DISTINCT FROM 'ready', f.id
LIMIT 1
"""
_PAGE = """
SELECT f.root_id, f.path, f.size, f.mtime_ns, r.path AS root, coalesce(a.mime, g.mime) AS mime,
       g.hops::text AS hops, g.name AS named, {away}
FROM volume_page g JOIN asset_file f ON f.asset_id = g.volume_id LEFT JOIN root r ON r.id = f.root_id
LEFT JOIN asset a ON a.id = g.asset_id
WHERE {where}
ORDER BY f.root_id IS NOT NULL, r.status IS DISTINCT FROM 'ready', f.id
LIMIT 1
"""
_AS_ASSET = _PAGE.format(where="g.asset_id = $1", away=_AWAY)
_IN_VOLUME = _PAGE.format(where="g.volume_id = $1 AND g.position = $2", away=_AWAY)


async def original(sql: Connection[Any], home: Home, asset_id: int) -> Original:
    """The best file of an asset: ours before referenced, ready roots before others, within volumes last."""
    row = await sql.fetchrow(_FILE, asset_id) or await sql.fetchrow(_AS_ASSET, asset_id)
    return _found(row, home)


async def of_page(sql: Connection[Any], home: Home, volume_id: int, position: int) -> Original:
    """The best file of a volume, and the way to one of its pages."""
    return _found(await sql.fetchrow(_IN_VOLUME, volume_id, position), home)


def _found(row: Any, home: Home) -> Original:
    if row is None:
        raise NoFile("The original file is not there any more", "A scan of its folder may find it again.")
    base = os.fsencode(home.originals) if row["root_id"] is None else row["root"]
    name = os.path.basename(row["named"] or row["path"])
    place = base + b"/" + row["path"]
    stored, way = row["root_id"] is None, hops.way(row["hops"])
    root = None if stored else (row["root_id"], row["root"])
    return Original(place, row["size"], row["mtime_ns"], stored, row["mime"], name, way, root, row["away"])
