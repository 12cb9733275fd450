"""Deleting for good: rows first, then exactly the files that we wrote, and never anybody else's."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appliance.core.paths import Home
from appliance.duplicates import services as duplicates
from appliance.ingest import purged
from appliance.library import volumes


if TYPE_CHECKING:
    from asyncpg import Connection


CHUNK = 200
"""Every asset is up to half a dozen files to look at and to unlink."""
PAGES = 500
"""A volume takes its pages along, which are assets as well; one with more of them goes alone."""

_NEXT = """
SELECT asset_id FROM (
    SELECT asset_id, pages, sum(pages) OVER (ORDER BY asset_id) - pages AS before FROM (
        SELECT i.asset_id, (SELECT count(*) FROM volume_page p WHERE p.volume_id = i.asset_id) AS pages
        FROM operation_item i WHERE i.operation_id = $1 AND i.changed IS NULL
        ORDER BY i.asset_id LIMIT $2) waiting) summed
WHERE before = 0 OR before + pages <= $3 ORDER BY asset_id
"""


# Of an action that is no deletion, pages do not count.
_SMALL = """
SELECT count(DISTINCT p.volume_id) <= 1 OR count(*) <= $2
FROM operation o JOIN operation_item i ON i.operation_id = o.id
JOIN volume_page p ON p.volume_id = i.asset_id
WHERE o.id = $1 AND o.kind = 'purge'
"""


async def is_small(sql: Connection[Any], operation_id: int) -> bool:
    """Whether what an operation deletes goes in one transaction."""
    small: bool = await sql.fetchval(_SMALL, operation_id, PAGES)
    return small


async def next_ids(sql: Connection[Any], operation_id: int) -> list[int]:
    """The next assets of an operation that are deleted in one transaction."""
    return [row["asset_id"] for row in await sql.fetch(_NEXT, operation_id, CHUNK, PAGES)]


@dataclass(slots=True)
class Doomed:
    """Files that go after the commit: each with the inode that it had while its row still stood."""

    files: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)


_WITHIN = "SELECT id, sha256 FROM asset WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE"


async def delete(
    sql: Connection[Any], home: Home, ids: Sequence[int], *, before: datetime, person: int | None
) -> tuple[dict[int, str], Doomed]:
    """Delete the rows of those assets that were in the trash by `before`; what to unlink afterwards."""
    rows = await sql.fetch(
        "SELECT id, sha256, size FROM asset WHERE id = ANY($1::bigint[]) AND state = 'trashed'"
        " AND trashed_at <= $2 ORDER BY id FOR UPDATE",
        ids,
        before,
    )
    named = [row["id"] for row in rows]
    # Pages of a volume go with it, unless they lie elsewhere too.
    pages = await sql.fetch(_WITHIN, await volumes.lost_with(sql, named))
    found = [*named, *(page["id"] for page in pages)]
    kept = await sql.fetch(
        "SELECT path FROM asset_file WHERE root_id IS NULL AND asset_id = ANY($1::bigint[])", found
    )
    originals = [os.path.join(os.fsencode(home.originals), row["path"]) for row in kept]
    folders = {home.rendition(row["sha256"], "any").parent for row in (*rows, *pages)}
    # In a thread: our files may lie on storage that takes its time.
    doomed = await asyncio.to_thread(_look, originals, folders)
    doomed.notes["not_in_trash"] = len(ids) - len(named)
    await duplicates.bury(sql, named, person=person)
    await purged.forget(sql, found)
    await sql.execute("DELETE FROM asset WHERE id = ANY($1::bigint[])", found)
    return {row["id"]: _epitaph(row) for row in rows}, doomed


def _epitaph(row: Any) -> str:
    return json.dumps({"sha256": row["sha256"].hex(), "size": row["size"]})


def _look(originals: Iterable[bytes], folders: Iterable[Path]) -> Doomed:
    doomed = Doomed()
    for path in originals:
        _note(doomed, path, ours=True)
    for folder in folders:
        # Everything in it was drawn from these bytes, whatever the suffix of its form is.
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(os.fsencode(folder)):
                _note(doomed, os.path.join(os.fsencode(folder), name), ours=False)
    doomed.notes["files"] = len(doomed.files)
    return doomed


def _note(doomed: Doomed, path: bytes, *, ours: bool) -> None:
    try:
        seen = os.lstat(path)
    except FileNotFoundError:
        if ours:
            doomed.notes["already_gone"] += 1
        return
    doomed.files[path] = (seen.st_dev, seen.st_ino)
    doomed.notes["freed_bytes"] += seen.st_size


def unlink(home: Home, doomed: Doomed) -> None:
    """Remove the files, after the commit.

    An import that brings the same bytes in at this very moment writes the same names. A rename first
    shows which file it is: a fresh one, which another row names by now, goes back to its place. What a
    crash leaves here is named by no row, and is swept at night.
    """
    for path, inode in doomed.files.items():
        aside = os.path.join(os.fsencode(home.tmp), b"purged-" + uuid.uuid4().hex.encode())
        with contextlib.suppress(FileNotFoundError):
            os.rename(path, aside)
            seen = os.lstat(aside)
            if (seen.st_dev, seen.st_ino) == inode:
                os.unlink(aside)
                _tidy(path, home)
            elif os.path.lexists(path):
                os.unlink(aside)
            else:
                os.rename(aside, path)


def _tidy(path: bytes, home: Home) -> None:
    # The folder of one content's pictures is its own; those of originals are shared with imports.
    folder = Path(os.fsdecode(os.path.dirname(path)))
    if home.renditions in folder.parents:
        with contextlib.suppress(OSError):
            folder.rmdir()
