"""Assets that follow what is said about them: put on, changed, taken off again, never over a person's word.

Order of locks: assets by a lock of their own, then names and tags, then rows of assets.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from appliance.core.db import UnitOfWork
from appliance.ingest import sidecar_names
from appliance.ingest.words import Beside, Given, Moment, Own, Stated, applying, weigh
from appliance.library.models import DateSource
from appliance.media.said import LONGEST_TITLE, Said, line
from appliance.media.wire import Decoded
from appliance.tagging import services as tagging


if TYPE_CHECKING:
    from asyncpg import Connection, Record


_TURN = 0x56545257
"""First half of the lock that gives assets their turn; the second half is the asset."""


async def refresh(uow: UnitOfWork, asset_ids: Sequence[int], decoded: Decoded | None = None) -> None:
    """Let assets follow what is said about them now; `decoded` when their own file was read just now."""
    await take_turn(uow.sql, asset_ids)
    plans = [await _plan(uow, asset_id, decoded) for asset_id in sorted(asset_ids)]
    made = [plan for plan in plans if plan is not None]
    # All tags before any asset, as everywhere.
    await tagging.current(uow.sql, sorted({t for plan in made for t in (*plan.wanted, *plan.given.tags)}))
    for plan in made:
        await _carry_out(uow, plan)


async def hold_tags(uow: UnitOfWork, asset_id: int | None, tags: Sequence[tuple[str, str]]) -> None:
    """Hold what `refresh` will put on an asset or take off it, before any row of an asset is held."""
    said, given = list(tags), Given()
    if asset_id is not None:
        row = await uow.sql.fetchrow("SELECT own, given FROM asset_words WHERE asset_id = $1", asset_id)
        if row is not None:
            said += _read(row["own"], Own).tags
            given = _read(row["given"], Given)
        said += [tag for each in await sidecars_of(uow.sql, asset_id) for tag in each.said.tags]
    wanted = await tagging.named(uow, said)
    await tagging.current(uow.sql, sorted({*wanted, *given.tags}))


async def take_turn(sql: Connection[Any], asset_ids: Sequence[int]) -> None:
    """Two sidecars of one asset that come at the same moment: the second one sees the first."""
    await sql.execute(
        "SELECT pg_advisory_xact_lock($1, hashint8(id)) FROM unnest($2::bigint[]) AS id",
        _TURN,
        sorted(asset_ids),
    )


async def redate(sql: Connection[Any], asset_id: int, date: Moment) -> None:
    """Note the date that the file of an asset has now, for the next `refresh`.

    Where neither content says a date, that of the one before is nearer to when it was taken.
    """
    await take_turn(sql, [asset_id])
    if date.source in _GUESSED and await sql.fetchval(_SOURCE, asset_id) in _GUESSED:
        return
    await sql.execute(_REDATE, asset_id, msgspec.json.encode({"date": date}).decode())


async def said(sql: Connection[Any], pairs: Collection[tuple[int, int]]) -> set[tuple[int, int]]:
    """Which of these tags of these assets their files and sidecars say, as far as they were read.

    Whoever asks holds the assets, so that no `refresh` changes the answer before it is used.
    """
    rows = await sql.fetch(_SAID, [a for a, _ in pairs], [t for _, t in pairs])
    return {(r[0], r[1]) for r in rows}


# A tag that was merged away is said by the name of what it became.
_SAID = """
SELECT DISTINCT p.asset_id, p.tag_id
FROM unnest($1::bigint[], $2::bigint[]) AS p(asset_id, tag_id)
JOIN asset_words w ON w.asset_id = p.asset_id
CROSS JOIN jsonb_array_elements_text(w.given->'tags') AS g(id)
LEFT JOIN tag_former f ON f.former_id = g.id::bigint
WHERE coalesce(f.tag_id, g.id::bigint) = p.tag_id
"""
_GUESSED = frozenset({DateSource.MTIME, DateSource.IMPORT})
_SOURCE = """
SELECT coalesce(w.own->'date'->>'source', a.own_date->>'source', a.date_source)
FROM asset a LEFT JOIN asset_words w ON w.asset_id = a.id WHERE a.id = $1
"""
_REDATE = """
INSERT INTO asset_words (asset_id, own, given) VALUES ($1, $2, '{}')
ON CONFLICT (asset_id) DO UPDATE SET own = asset_words.own || excluded.own
"""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What shall become of one asset."""

    asset_id: int
    own: Own
    given: Given
    stated: Stated
    wanted: list[int]


async def _plan(uow: UnitOfWork, asset_id: int, decoded: Decoded | None) -> _Plan | None:
    row = await uow.sql.fetchrow("SELECT own, given FROM asset_words WHERE asset_id = $1", asset_id)
    beside = await sidecars_of(uow.sql, asset_id)
    if row is None and decoded is None and not beside:
        return None
    own = await _own(uow.sql, asset_id, row, decoded)
    if own is None:
        return None
    given = Given() if row is None else _read(row["given"], Given)
    stated = weigh(own, [b.said for b in beside])
    return _Plan(asset_id, own, given, stated, await tagging.named(uow, stated.tags))


async def _carry_out(uow: UnitOfWork, plan: _Plan) -> None:
    tags = await tagging.follow(uow, plan.asset_id, plan.wanted, plan.given.tags, by="sidecar")
    given = await _put(uow.sql, plan.asset_id, plan.stated, plan.given)
    given = msgspec.structs.replace(given, tags=tags)
    await uow.sql.execute(_REMEMBER, plan.asset_id, _text(plan.own), _text(given))


_REMEMBER = """
INSERT INTO asset_words (asset_id, own, given) VALUES ($1, $2, $3)
ON CONFLICT (asset_id) DO UPDATE SET own = excluded.own, given = excluded.given
"""
_DATED = "taken_at, taken_offset, date_source, effective_at, own_date"


async def _own(
    sql: Connection[Any], asset_id: int, row: Record | None, decoded: Decoded | None
) -> Own | None:
    """What the file itself says. Its date is the one that the asset has before any sidecar spoke."""
    if row is not None:
        known = _read(row["own"], Own)
        return known if decoded is None else _spoken(known.date, decoded)
    asset = await sql.fetchrow(f"SELECT {_DATED} FROM asset WHERE id = $1", asset_id)
    if asset is None:
        return None
    date = Moment(asset["taken_at"], asset["taken_offset"], asset["date_source"], asset["effective_at"])
    if asset["own_date"] is not None:
        date = msgspec.convert(_plain(asset["own_date"]) | {"offset": date.offset}, Moment)
    return Own(date) if decoded is None else _spoken(date, decoded)


def _spoken(date: Moment, decoded: Decoded) -> Own:
    return Own(date, line(decoded.title or "", LONGEST_TITLE) or None, decoded.rating, decoded.tags)


async def _put(sql: Connection[Any], asset_id: int, stated: Stated, given: Given) -> Given:
    """Title, rating and date follow where they still are what was put there; the answer is what is there."""
    asset = await sql.fetchrow(
        f"SELECT title, rating, {_DATED} FROM asset WHERE id = $1 FOR NO KEY UPDATE", asset_id
    )
    if asset is None:
        return given
    after = dict(asset)
    for name in ("title", "rating"):
        if asset[name] == getattr(given, name):
            after[name] = getattr(stated, name)
            given = msgspec.structs.replace(given, **{name: after[name]})
    after |= _dated(asset, stated.date)
    if after != _as_written(asset):
        await sql.execute(_CHANGE, asset_id, *(after[name] for name in _COLUMNS))
    return given


_COLUMNS = ("title", "rating", "taken_at", "taken_offset", "date_source", "effective_at", "own_date")
_CHANGE = """
UPDATE asset SET title = $2, rating = $3, taken_at = $4, taken_offset = $5, date_source = $6,
    effective_at = $7, own_date = $8 WHERE id = $1
"""


def _dated(asset: Record, date: Moment) -> dict[str, Any]:
    """The columns of a date; while a person's own stands above it, it waits beside it."""
    if asset["date_source"] != DateSource.HUMAN:
        return {
            "taken_at": date.taken_at,
            "taken_offset": date.offset,
            "date_source": date.source,
            "effective_at": date.effective_at,
            "own_date": None,
        }
    waiting = {"source": date.source, "taken_at": date.taken_at, "effective_at": date.effective_at}
    return {"taken_offset": date.offset, "own_date": msgspec.json.encode(waiting).decode()}


def _as_written(asset: Record) -> dict[str, Any]:
    own = asset["own_date"]
    return dict(asset) | {"own_date": None if own is None else msgspec.json.encode(_plain(own)).decode()}


# Where the bytes of an asset lie under roots, and what they were called when they were sent.
_PLACES = """
SELECT e.root_id, e.path, NULL::bigint AS batch_id FROM root_entry e JOIN root r ON r.id = e.root_id
WHERE e.asset_id = $1 AND r.purpose = 'folder'
UNION
SELECT r.id, p.path, p.batch_id FROM provenance p JOIN root r ON r.purpose = 'uploads'
WHERE p.asset_id = $1 AND p.how = 'upload' AND p.batch_id IS NOT NULL AND p.path IS NOT NULL
ORDER BY 1, 2 LIMIT 100
"""
BESIDE = """
SELECT s.kind, w.place, w.exact, s.said, coalesce(convert_to(u.name, 'UTF8'), e.path) AS path, s.read_at
FROM unnest($1::bigint[], $2::bytea[], $3::int[], $4::boolean[]) AS w(root_id, about, place, exact)
JOIN sidecar s ON s.root_id = w.root_id AND s.about = w.about
JOIN root_entry e ON e.id = s.entry_id
LEFT JOIN upload u ON u.entry_id = s.entry_id
ORDER BY s.id
"""


_Name = tuple[int, bytes, int, bool]
"""Root, name, the place it belongs to, and whether it is the whole name."""


async def sidecars_of(sql: Connection[Any], asset_id: int) -> list[Beside]:
    """What stands beside the files of an asset and counts, the weightiest first."""
    looked: list[_Name] = []
    for place, (root_id, path, batch_id) in enumerate(await sql.fetch(_PLACES, asset_id)):
        whole = path if batch_id is None else sidecar_names.sent(batch_id, path)
        looked += _names(root_id, whole, place)
    return await _beside_of(sql, looked) if looked else []


async def sidecars_at(sql: Connection[Any], root_id: int, path: bytes) -> list[Beside]:
    """The same for a file that is no asset's yet."""
    return await _beside_of(sql, _names(root_id, path, 0))


def _names(root_id: int, path: bytes, place: int) -> list[_Name]:
    """Under which names sidecars of a file may stand: the whole one, and the one without extension."""
    stem = sidecar_names.stem(path)
    names = [(root_id, sidecar_names.key(path), place, True)]
    return names if stem == path else [*names, (root_id, sidecar_names.key(stem), place, False)]


async def _beside_of(sql: Connection[Any], looked: Sequence[_Name]) -> list[Beside]:
    rows = await sql.fetch(BESIDE, *(list(column) for column in zip(*looked, strict=True)))
    return applying(_beside(row) for row in rows)


def _beside(row: Record) -> Beside:
    said = _read(row["said"], Said)
    return Beside(row["kind"], row["place"], row["exact"], said, row["path"], row["read_at"])


_Kind = TypeVar("_Kind", Said, Own, Given)


def _read(value: Any, kind: type[_Kind]) -> _Kind:
    return msgspec.convert(_plain(value), kind)


def _plain(value: Any) -> Any:
    # The two faces of a connection hand jsonb over as text or as what it means.
    return json.loads(value) if isinstance(value, str) else value


def _text(value: Own | Given) -> str:
    return msgspec.json.encode(value).decode()
