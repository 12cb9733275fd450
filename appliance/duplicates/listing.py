"""Reads of the review: which pairs wait, best match first, and what is known of both sides."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from appliance.core.errors import Invalid


if TYPE_CHECKING:
    from asyncpg import Connection


MOST = 1000
"""Above this the pairs that wait are counted as "more than"."""


class Place(NamedTuple):
    """A place in the order of the review."""

    distance: int
    id: int

    def text(self) -> str:
        """As it stands in an address."""
        return f"{self.distance}.{self.id}"


def place(text: str) -> Place | None:
    """Read a place from an address; None for the beginning."""
    if not text:
        return None
    distance, _, number = text.partition(".")
    if not all(t.isascii() and t.isdigit() and len(t) < 18 for t in (distance, number)):
        raise Invalid("This is no place in the duplicates")
    return Place(int(distance), int(number))


class PairView(msgspec.Struct, frozen=True):
    """Two assets that look alike."""

    id: int
    a_id: int
    b_id: int
    distance: int
    mirrored: bool
    shown: bool
    """Whether it still waits for a decision."""

    @property
    def place(self) -> Place:
        """Where it stands in the order."""
        return Place(self.distance, self.id)

    @property
    def ids(self) -> tuple[int, int]:
        """Both assets."""
        return self.a_id, self.b_id


_VIEW = "SELECT id, a_id, b_id, distance, mirrored, shown FROM duplicate_pair"


async def after(sql: Connection[Any], at: Place | None, limit: int) -> list[PairView]:
    """The pairs behind a place, best match first."""
    rows = await sql.fetch(
        f"{_VIEW} WHERE shown AND (distance, id) > ($1, $2) ORDER BY distance, id LIMIT $3",
        *(at or Place(-1, 0)),
        limit,
    )
    return [PairView(*row) for row in rows]


async def one(sql: Connection[Any], pair_id: int) -> PairView | None:
    """One pair, also one that is decided."""
    row = await sql.fetchrow(f"{_VIEW} WHERE id = $1", pair_id)
    return row and PairView(*row)


async def of_asset(sql: Connection[Any], asset_id: int) -> PairView | None:
    """The best pair of an asset that waits for a decision."""
    row = await sql.fetchrow(
        f"{_VIEW} WHERE shown AND (a_id = $1 OR b_id = $1) ORDER BY distance, id LIMIT 1", asset_id
    )
    return row and PairView(*row)


class Waiting(msgspec.Struct, frozen=True):
    """How much there is to do: pairs to decide, and pictures that are not compared yet."""

    pairs: int
    uncompared: int

    @property
    def more(self) -> bool:
        """True where counting stopped."""
        return self.pairs > MOST


async def waiting(sql: Connection[Any]) -> Waiting:
    """Count both, no further than anybody wants to know."""
    row = await sql.fetchrow(
        "SELECT (SELECT count(*) FROM (SELECT FROM duplicate_pair WHERE shown LIMIT $1) p) AS pairs,"
        " (SELECT count(*) FROM (SELECT FROM phash WHERE NOT searched AND place = 'open' LIMIT $1) h)"
        " + (SELECT count(*) FROM (SELECT FROM fingerprint WHERE status = 'pending' LIMIT $1) f) AS rest",
        MOST + 1,
    )
    assert row is not None  # noqa: S101 - a query without FROM answers one row
    return Waiting(row["pairs"], row["rest"])


class Side(msgspec.Struct, frozen=True):
    """What is known of one of two."""

    id: int
    kind: str
    mime: str
    size: int
    width: int
    height: int
    duration_ms: int | None
    taken_at: datetime | None
    date_source: str
    added_at: datetime
    title: str | None
    rating: int
    favourite: bool
    bit_rate: float | None
    missing: bool
    """None of its files is where it lay."""
    path: bytes | None
    """Where it came from first."""
    how: str | None
    origins: int
    version: int
    """Of its small picture, for the address."""
    preview: int
    tags: int
    own_tags: int
    """Those that a person put there."""

    @property
    def pixels(self) -> int:
        """How many there are."""
        return self.width * self.height


_SIDES = """
SELECT a.id, a.kind, a.mime, a.size, a.width, a.height, a.duration_ms, a.taken_at, a.date_source, a.added_at,
       a.title, a.rating, a.favourite,
       CASE jsonb_typeof(a.facts->'bit_rate')
           WHEN 'number' THEN (a.facts->>'bit_rate')::float8 END AS bit_rate,
       a.missing_since IS NOT NULL AS missing,
       p.path, p.how, (SELECT count(*) FROM provenance o WHERE o.asset_id = a.id) AS origins,
       coalesce((SELECT version FROM rendition WHERE asset_id = a.id AND name = 'grid-240'), 1) AS version,
       coalesce((SELECT version FROM rendition WHERE asset_id = a.id AND name = 'preview'), 1) AS preview,
       t.tags, t.own_tags
FROM asset a
LEFT JOIN LATERAL (SELECT path, how FROM provenance WHERE asset_id = a.id ORDER BY id LIMIT 1) p ON true
CROSS JOIN LATERAL (SELECT count(*) AS tags, count(*) FILTER (WHERE by = 'human') AS own_tags
                    FROM asset_tag WHERE asset_id = a.id) t
WHERE a.id = ANY($1::bigint[])
"""


async def sides(sql: Connection[Any], asset_ids: Sequence[int]) -> dict[int, Side]:
    """Facts of several assets, in one statement."""
    return {row["id"]: Side(*row) for row in await sql.fetch(_SIDES, list(asset_ids))}
