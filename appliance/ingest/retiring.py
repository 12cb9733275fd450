"""What taking a folder out would mean, said before it is done; no disk is asked, so it works offline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec


if TYPE_CHECKING:
    from asyncpg import Connection


ONLY_HERE = """
SELECT f.asset_id AS id FROM asset_file f WHERE f.root_id = $1
    AND NOT EXISTS (SELECT FROM asset_file o WHERE o.asset_id = f.asset_id AND o.root_id IS DISTINCT FROM $1)
UNION
SELECT e.asset_id FROM root_entry e JOIN asset a ON a.id = e.asset_id
WHERE e.root_id = $1 AND e.outcome IN ('missing', 'failed') AND a.missing_since IS NOT NULL
"""
"""SQL: the assets that lie, or were last seen, under a root ($1) and nowhere else."""
_WHAT = f"""
SELECT (SELECT count(*) FROM asset_file WHERE root_id = $1), count(*),
       count(*) FILTER (WHERE a.missing_since IS NOT NULL),
       coalesce(sum((SELECT sum(r.bytes) FROM rendition r WHERE r.asset_id = a.id)), 0)::bigint
FROM asset a WHERE a.id IN ({ONLY_HERE}) AND a.state <> 'trashed'
"""


class Leaving(msgspec.Struct, frozen=True):
    """What lies under a folder that may be taken out."""

    files: int
    only_here: int
    missing: int
    """Those of them that were not met any more."""
    pictures: int
    """Bytes of what was drawn of those that lie only here."""


async def preview(sql: Connection[Any], root_id: int) -> Leaving:
    """Count what taking it out concerns; nothing is changed."""
    row = await sql.fetchrow(_WHAT, root_id)
    assert row is not None  # noqa: S101 - an aggregate answers one row
    return Leaving(*row)
