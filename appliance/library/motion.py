"""Stills with a film: one within the same file, or one beside it that bears the same mark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.library import shown


if TYPE_CHECKING:
    from collections.abc import Sequence

    from asyncpg import Connection


class Motion(msgspec.Struct, frozen=True):
    """The film of a still: whose file holds it, which part of that, and what a player must know."""

    asset_id: int
    mime: str
    facts: dict[str, Any]
    part: tuple[int, int] | None = None
    """First byte and length; None for the whole file."""

    def played(self, turn: int) -> str:
        """`original` where browsers play it as it is, `wish` where it is made playable first."""
        return "original" if shown.film(self.mime, turn, self.facts) else "wish"


_OF = """
SELECT a.id, a.facts->'motion' AS within, f.id AS film_id, f.mime, f.facts
FROM asset a
LEFT JOIN live_pair p ON p.still_id = a.id
LEFT JOIN asset f ON f.id = p.film_id AND f.state <> 'trashed' AND ($2 OR NOT f.private)
WHERE a.id = ANY($1::bigint[]) AND a.kind = 'still' AND (a.facts ? 'motion' OR f.id IS NOT NULL)
"""


async def of_each(sql: Connection[Any], ids: Sequence[int], *, everything: bool) -> dict[int, Motion]:
    """The films of those stills that have one; for viewers none that is private."""
    return {row["id"]: _motion(row) for row in await sql.fetch(_OF, list(ids), everything)}


async def of(sql: Connection[Any], asset_id: int, *, everything: bool) -> Motion | None:
    """The film of one still; None for everything else."""
    return (await of_each(sql, [asset_id], everything=everything)).get(asset_id)


def _motion(row: Any) -> Motion:
    if row["within"] is None:
        return Motion(row["film_id"], row["mime"], _plain(row["facts"]))
    within = _plain(row["within"])
    return Motion(row["id"], within["mime"], within, (within["offset"], within["length"]))


def _plain(value: Any) -> dict[str, Any]:
    # Some connections hand jsonb over as text.
    return json.loads(value) if isinstance(value, str) else value  # type: ignore[no-any-return]


_PAIRED = """
INSERT INTO live_pair (still_id, film_id)
SELECT s.id, f.id FROM asset s, LATERAL (
    SELECT min(id) AS id FROM asset WHERE facts ->> 'live_id' = $1 AND kind = 'video') f
WHERE s.facts ->> 'live_id' = $1 AND s.kind = 'still' AND f.id IS NOT NULL
ON CONFLICT (still_id) DO NOTHING
RETURNING still_id, film_id
"""
# A private film beside a still that everybody sees would be played by it.
_PUT_INSIDE = """
UPDATE asset f SET state = 'inside' WHERE f.id = ANY($1::bigint[]) AND film_untouched(f)
AND EXISTS (SELECT 1 FROM live_pair p JOIN asset s ON s.id = p.still_id
            WHERE p.film_id = f.id AND s.state <> 'trashed' AND NOT (f.private AND NOT s.private))
"""


async def pair(sql: Connection[Any], live_id: str) -> None:
    """Bind the still and the film that bear this mark, whichever of them came first.

    Names, moments and places prove nothing: different pictures share them.
    """
    # Both halves may come in at this moment, and neither would see the other.
    await sql.execute("SELECT pg_advisory_xact_lock(hashtextextended('live:' || $1, 0))", live_id)
    rows = await sql.fetch(_PAIRED, live_id)
    if rows:
        await sql.execute(_PUT_INSIDE, sorted({row["film_id"] for row in rows}))
