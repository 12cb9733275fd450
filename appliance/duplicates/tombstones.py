"""Deletions that are remembered: by content, and by what was to be seen."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core import names
from appliance.duplicates.matching import SAME_LENGTH, SHARE, bits, nearby
from appliance.media.wire import Decoded, Frame


if TYPE_CHECKING:
    from asyncpg import Connection, Record


REACH = 4
"""Bits in which a copy may differ from something deleted. Measured on 184 real pictures: their copies at
quality 50 differ by 4 at most, unrelated ones by 10 at least."""

SUSPECTS = 2000
"""So many deleted films of one length, the nearest to it first, are compared by their frames."""
LONGEST_NAME = 200


class Deleted(msgspec.Struct, frozen=True):
    """What keeps a file out: something that was deleted, for good or (without a tombstone) into the trash."""

    tombstone_id: int | None
    name: str
    deleted_at: datetime
    distance: int | None = None
    """None for the very same bytes."""

    @property
    def plain(self) -> str:
        """In words, with the file's name in the first place."""
        where = "deleted for good" if self.tombstone_id is not None else "put into the trash"
        when = f"{where} on {self.deleted_at:%Y-%m-%d}"
        if self.distance is None:
            return f"The same file was {when}: {self.name}"
        return f"It looks like {self.name}, {when} ({self.distance} of 64 bits differ)"


_PATH = """(SELECT p.path FROM provenance p WHERE p.asset_id = a.id AND p.path IS NOT NULL
    ORDER BY p.id LIMIT 1)"""
_SHAPE = "CASE WHEN a.turn % 180 = 0 THEN a.{0} ELSE a.{1} END"
_CAMERA_TIME = """CASE coalesce(a.own_date->>'source', a.date_source) WHEN 'exif'
    THEN coalesce((a.own_date->>'taken_at')::timestamp, a.taken_at) END"""

_BURY = f"""
WITH made AS (
    INSERT INTO tombstone (sha256, size, kind, width, height, duration_ms, taken_at, name, user_id)
    SELECT a.sha256, a.size, a.kind, {_SHAPE.format("width", "height")}, {_SHAPE.format("height", "width")},
           a.duration_ms, {_CAMERA_TIME}, n.name, $2
    FROM asset a JOIN unnest($1::bigint[], $3::text[]) AS n(id, name) ON n.id = a.id
    ON CONFLICT (sha256, size) DO UPDATE SET deleted_at = now(), user_id = excluded.user_id
    RETURNING id, sha256, size
), unwelcome AS (
    DELETE FROM welcome w USING made WHERE (w.sha256, w.size) = (made.sha256, made.size)
)
UPDATE phash p SET asset_id = NULL, tombstone_id = made.id, place = 'deleted'
FROM made JOIN asset a ON (a.sha256, a.size) = (made.sha256, made.size) WHERE p.asset_id = a.id
"""


_HOLD_PAIRS = """
SELECT FROM duplicate_pair WHERE id IN (
    SELECT id FROM duplicate_pair WHERE a_id = ANY($1::bigint[])
    UNION SELECT id FROM duplicate_pair WHERE b_id = ANY($1::bigint[]))
ORDER BY id FOR UPDATE
"""


async def bury(sql: Connection[Any], asset_ids: Sequence[int], *, person: int | None) -> None:
    """Remember these assets before their rows go: their content, and the hashes of what they showed.

    Their places among versions and pairs go first and in order: a decision that holds some of them has all
    that it needs, and ends.
    """
    await sql.execute("DELETE FROM alternate WHERE asset_id = ANY($1::bigint[])", asset_ids)
    await sql.execute(_HOLD_PAIRS, asset_ids)
    called = await known_as(sql, asset_ids)
    await sql.execute(_BURY, list(called), person, list(called.values()))


async def known_as(
    sql: Connection[Any], asset_ids: Sequence[int], *, unnamed: str = "a picture"
) -> dict[int, str]:
    """What people know these assets by: the names of their files, since a title is a word that goes."""
    rows = await sql.fetch(
        f"SELECT a.id, {_PATH} AS path FROM asset a WHERE a.id = ANY($1::bigint[])", asset_ids
    )
    return {row["id"]: _name(row["path"], unnamed) for row in rows}


def _name(path: bytes | None, unnamed: str = "a picture") -> str:
    return names.display(os.path.basename(path))[:LONGEST_NAME] if path else unnamed


def _deleted(row: Record | None) -> Deleted | None:
    if row is None:
        return None
    name = _name(row["path"]) if row["name"] is None else row["name"]
    return Deleted(row["tombstone_id"], name, row["deleted_at"], row["distance"])


async def exactly(sql: Connection[Any], sha256: bytes, size: int) -> Deleted | None:
    """Whether this very content was deleted for good."""
    row = await sql.fetchrow(
        "SELECT id, name, deleted_at FROM tombstone WHERE sha256 = $1 AND size = $2", sha256, size
    )
    return row and Deleted(*row)


# What was deleted: as a tombstone, or as an asset in the trash. A larger picture is a better one and comes
# in; another moment on the camera's clock is another picture, however much alike.
_DELETED = f"""
SELECT t.id AS tombstone_id, NULL::bigint AS asset_id, t.kind, t.width, t.height, t.duration_ms, t.taken_at,
       t.name, NULL::bytea AS path, t.deleted_at FROM tombstone t WHERE {{tombstone}}
UNION ALL
SELECT NULL, a.id, a.kind, {_SHAPE.format("width", "height")}, {_SHAPE.format("height", "width")},
       a.duration_ms, {_CAMERA_TIME}, NULL, {_PATH}, coalesce(a.trashed_at, now())
FROM asset a WHERE a.state = 'trashed' AND {{asset}}
"""
_LIKE_IT = """
d.kind = $3 AND $4::bigint * $5::bigint <= 1.02 * d.width * d.height
AND abs($4::float8 * d.height / ($5::float8 * nullif(d.width, 0)) - 1) <= 0.02
AND (d.taken_at IS NULL OR $6::timestamp IS NULL OR d.taken_at = $6)
AND NOT EXISTS (SELECT FROM welcome WHERE sha256 = $7 AND size = $8)
"""
_ALIKE = f"""
SELECT d.tombstone_id, d.name, d.path, d.deleted_at, c.distance
FROM (SELECT * FROM ({nearby("deleted", "$1::bigint", "$2::smallint")}) n) c CROSS JOIN LATERAL (
    {_DELETED.format(tombstone="t.id = c.tombstone_id", asset="a.id = c.asset_id")}
) d
WHERE {_LIKE_IT} AND ($9::bigint IS NULL AND d.duration_ms IS NULL
    OR {SAME_LENGTH.format("d.duration_ms", "$9::bigint")})
ORDER BY c.distance, d.deleted_at LIMIT 1
"""
_FILM = "{0}.kind = 'video' AND {0}.duration_ms BETWEEN $1 AND $2"
_FILMS = f"""
SELECT d.tombstone_id, d.asset_id FROM (
    {_DELETED.format(tombstone=_FILM.format("t"), asset=_FILM.format("a"))}
) d WHERE {_LIKE_IT} ORDER BY abs(d.duration_ms - ($1::bigint + $2::bigint) / 2) LIMIT {SUSPECTS}
"""
_FRAMES = f"""
SELECT d.tombstone_id, d.name, d.path, d.deleted_at, alike.distance
FROM unnest($1::bigint[], $2::bigint[]) AS film(tombstone_id, asset_id) CROSS JOIN LATERAL (
    {_DELETED.format(tombstone="t.id = film.tombstone_id", asset="a.id = film.asset_id")}
) d CROSS JOIN LATERAL (
    SELECT count(*) AS frames, round(avg(near.distance))::bigint AS distance, (
        SELECT count(*) FROM phash p
        WHERE p.tombstone_id = film.tombstone_id OR p.asset_id = film.asset_id) AS all_frames
    FROM unnest($3::int[], $4::bigint[], $5::smallint[]) AS x(at_ms, hash, reach) CROSS JOIN LATERAL (
        SELECT min({bits("y.hash", "x.hash")}) AS distance FROM phash y
        WHERE (y.tombstone_id = film.tombstone_id OR y.asset_id = film.asset_id)
          AND {SAME_LENGTH.format("y.at_ms", "x.at_ms")}
    ) near WHERE near.distance <= x.reach
) alike
WHERE alike.frames > 0 AND alike.frames >= {SHARE} * greatest(cardinality($3::int[]), alike.all_frames)
ORDER BY alike.distance LIMIT 1
"""


async def alike(sql: Connection[Any], sha256: bytes, size: int, decoded: Decoded) -> Deleted | None:
    """What a picture that was just decoded is a copy of, of all that was deleted."""
    found = decoded.fingerprint
    if found is None or decoded.kind == "video":
        return None
    row = await sql.fetchrow(
        _ALIKE,
        found.hash,
        min(REACH, found.reach),
        *_described(sha256, size, decoded),
        _milliseconds(decoded),
    )
    return _deleted(row)


class Suspects(msgspec.Struct, frozen=True):
    """Deleted films of the same length and shape: whether it is one of them is told by its frames."""

    tombstones: list[int | None]
    assets: list[int | None]


async def films(sql: Connection[Any], sha256: bytes, size: int, decoded: Decoded) -> Suspects | None:
    """The deleted films that one that was just decoded may be a copy of."""
    length = _milliseconds(decoded)
    if decoded.kind != "video" or length is None:
        return None
    slack = max(1000, round(0.03 * length))
    rows = await sql.fetch(_FILMS, length - slack, length + slack, *_described(sha256, size, decoded))
    return Suspects([r["tombstone_id"] for r in rows], [r["asset_id"] for r in rows]) if rows else None


async def film(sql: Connection[Any], suspects: Suspects, frames: Sequence[Frame]) -> Deleted | None:
    """Which of the deleted films these frames are from."""
    row = await sql.fetchrow(
        _FRAMES,
        suspects.tombstones,
        suspects.assets,
        [f.at_ms for f in frames],
        [f.fingerprint.hash for f in frames],
        [f.fingerprint.reach for f in frames],
    )
    return _deleted(row)


def _milliseconds(decoded: Decoded) -> int | None:
    return None if decoded.duration_s is None else round(decoded.duration_s * 1000)


def _described(sha256: bytes, size: int, decoded: Decoded) -> list[Any]:
    taken = decoded.taken_at if decoded.date_source == "exif" else None
    return [decoded.kind, decoded.width, decoded.height, taken, sha256, size]


async def welcome(sql: Connection[Any], sha256: bytes, size: int, *, person: int | None) -> None:
    """Let this content in from now on, whatever it looks like; a deletion of it is taken back."""
    await sql.execute("DELETE FROM tombstone WHERE sha256 = $1 AND size = $2", sha256, size)
    await sql.execute(
        "INSERT INTO welcome (sha256, size, user_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        sha256,
        size,
        person,
    )


class Remembered(msgspec.Struct, frozen=True):
    """One remembered deletion, as the list of them shows it."""

    id: int
    name: str
    kind: str
    width: int
    height: int
    size: int
    sha256: bytes
    hashes: int
    """0 where only the very same file is kept out."""
    deleted_at: datetime
    person: str | None


_REMEMBERED = """
SELECT t.id, t.name, t.kind, t.width, t.height, t.size, t.sha256,
       (SELECT count(*) FROM phash p WHERE p.tombstone_id = t.id), t.deleted_at, u.name
FROM tombstone t LEFT JOIN "user" u ON u.id = t.user_id
"""


async def remembered(sql: Connection[Any], limit: int, *, before: int | None = None) -> list[Remembered]:
    """Deletions newest first, in pages by number."""
    rows = await sql.fetch(
        f"{_REMEMBERED} WHERE t.id < $1 ORDER BY t.id DESC LIMIT $2", before or 2**63 - 1, limit
    )
    return [Remembered(*row) for row in rows]


async def lift(sql: Connection[Any], tombstone_id: int) -> Remembered | None:
    """Forget a deletion; what it was."""
    row = await sql.fetchrow(f"{_REMEMBERED} WHERE t.id = $1", tombstone_id)
    await sql.execute("DELETE FROM tombstone WHERE id = $1", tombstone_id)
    return row and Remembered(*row)
