"""Files of ours that no row names: leftovers of killed imports, found by walking and removed with care."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appliance.core import clock
from appliance.core.paths import Home, rendition_file


if TYPE_CHECKING:
    from asyncpg import Connection

# Whatever an import wrote and did not finish within this time belongs to an import that died.
AGE_S = 3600
SET_ASIDE = "orphan-"


def sweep_temporary(home: Home) -> int:
    """Remove temporary files that are older than an hour; those in use are younger."""
    removed = 0
    limit = clock.now().timestamp() - AGE_S
    with os.scandir(home.tmp) as entries:
        for entry in entries:
            try:
                if (
                    entry.is_file(follow_symlinks=False)
                    and entry.stat(follow_symlinks=False).st_mtime < limit
                ):
                    os.unlink(entry.path)
                    removed += 1
            except FileNotFoundError:
                continue
    return removed


async def unnamed_renditions(sql: Connection[Any], paths: Sequence[bytes]) -> list[bytes]:
    """Those of the paths (relative to the renditions) that are no picture of any asset."""
    hashes = {_content(p) for p in paths} - {None}
    rows = await sql.fetch(
        "SELECT a.sha256, r.name FROM asset a JOIN rendition r ON r.asset_id = a.id"
        " WHERE a.sha256 = ANY($1::bytea[])",
        list(hashes),
    )
    known = {(r["sha256"], rendition_file(r["name"]).encode()) for r in rows}
    return [p for p in paths if (_content(p), os.path.basename(p)) not in known]


def _content(path: bytes) -> bytes | None:
    parts = path.split(b"/")
    try:
        return bytes.fromhex(parts[2].decode("ascii"))
    except (IndexError, ValueError):
        return None


async def unnamed_originals(sql: Connection[Any], paths: Sequence[bytes]) -> list[bytes]:
    """Those of the paths (relative to the originals) that no file row names."""
    rows = await sql.fetch(
        "SELECT path FROM asset_file WHERE root_id IS NULL AND path = ANY($1::bytea[])", list(paths)
    )
    known = {r["path"] for r in rows}
    return [p for p in paths if p not in known]


class SetAside:
    """A file out of the way but not yet gone: the last look at the database decides.

    An import that brings the same bytes in at this very moment writes the same name. Whoever looks
    and then unlinks could remove its fresh file; a rename first makes the late look safe.
    """

    def __init__(self, home: Home, base: Path, relative: bytes) -> None:
        self.place = os.path.join(os.fsencode(base), relative)
        self.aside = os.path.join(os.fsencode(home.tmp), SET_ASIDE.encode() + relative.replace(b"/", b"-"))

    def take(self) -> bool:
        """Move an old enough file aside; False when it is young or gone."""
        try:
            if os.lstat(self.place).st_mtime > clock.now().timestamp() - AGE_S:
                return False
            os.rename(self.place, self.aside)
        except FileNotFoundError:
            return False
        return True

    def put_back(self) -> None:
        """It is named now; a fresh file that took the place meanwhile wins."""
        if os.path.lexists(self.place):
            _unlink(self.aside)
        else:
            os.makedirs(os.path.dirname(self.place), exist_ok=True)
            os.rename(self.aside, self.place)

    def drop(self) -> None:
        """Nobody names it: gone for good, with the folder that it leaves empty."""
        _unlink(self.aside)
        try:
            os.rmdir(os.path.dirname(self.place))
        except OSError:
            return


def _unlink(path: bytes) -> None:
    # The sweep of temporary files may have been faster: what lies aside keeps its old time.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
