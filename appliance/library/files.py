"""Where the bytes of an asset lie."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from appliance.core.paths import Home
from appliance.library.errors import NoFile
from appliance.media.wire import Stat


if TYPE_CHECKING:
    from asyncpg import Connection


@dataclass(frozen=True, slots=True)
class Original:
    """One file of an asset: its absolute path, and the state in which it was read."""

    path: bytes
    size: int
    mtime_ns: int
    stored: bool
    mime: str
    name: bytes

    @property
    def expected(self) -> Stat | None:
        """What must still be true of the file; one of ours is named by its content and keeps no time."""
        return None if self.stored else Stat(self.size, self.mtime_ns)


async def original(sql: Connection[Any], home: Home, asset_id: int) -> Original:
    """The best file of an asset: stored by us before referenced, ready roots before others."""
    row = await sql.fetchrow(
        """
        SELECT f.root_id, f.path, f.size, f.mtime_ns, r.path AS root, a.mime,
               (SELECT p.path FROM provenance p WHERE p.asset_id = a.id ORDER BY p.id LIMIT 1) AS named
        FROM asset a JOIN asset_file f ON f.asset_id = a.id LEFT JOIN root r ON r.id = f.root_id
        WHERE a.id = $1
        ORDER BY f.root_id IS NOT NULL, r.status IS DISTINCT FROM 'ready', f.id
        LIMIT 1
        """,
        asset_id,
    )
    if row is None:
        raise NoFile("The original file is not there any more", "A scan of its folder may find it again.")
    base = os.fsencode(home.originals) if row["root_id"] is None else row["root"]
    name = os.path.basename(row["named"] or row["path"])
    return Original(
        base + b"/" + row["path"], row["size"], row["mtime_ns"], row["root_id"] is None, row["mime"], name
    )
