"""Files and their sidecars as they come in, in whatever order: who has to follow whom.

Order of locks, everywhere: families of names, then what `following` holds (the turn of an asset, names,
tags), then rows of assets, and only then an import's own rows: its batch, its task, its files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.core.db import UnitOfWork
from appliance.ingest import sidecar_names
from appliance.ingest.claims import Waiting
from appliance.ingest.following import hold_tags, redate, refresh, sidecars_at, take_turn
from appliance.ingest.words import Moment
from appliance.media.wire import Decoded, Described


if TYPE_CHECKING:
    from asyncpg import Connection, Record


async def expect(
    uow: UnitOfWork, waiting: Waiting, *, asset_id: int | None = None, decoded: Decoded | None = None
) -> bool:
    """Before a file comes in: hold its family of names and the tags that are said about it.

    `asset_id` is the asset that it belongs to, where that is known. The answer is whether anything is said.
    """
    path = _path(waiting)
    await hold_families(uow.sql, waiting.root_id, [path])
    if asset_id is not None:
        await take_turn(uow.sql, [asset_id])
    spoken = decoded is not None and (decoded.title or decoded.rating or decoded.tags)
    described = await _is_described(uow.sql, waiting.root_id, path)
    if described or (decoded is not None and decoded.tags):
        beside = await sidecars_at(uow.sql, waiting.root_id, path) if described else []
        tags = [*(decoded.tags if decoded else ()), *(tag for each in beside for tag in each.said.tags)]
        await hold_tags(uow, asset_id, tags)
    return bool(spoken or described)


async def came(uow: UnitOfWork, asset_id: int, decoded: Decoded | None = None) -> None:
    """A file is in: put on its asset what it says itself, and what sidecars said before it came."""
    await refresh(uow, [asset_id], decoded)


async def came_again(
    uow: UnitOfWork, waiting: Waiting, asset_id: int, date: Moment, decoded: Decoded
) -> None:
    """The file of an asset was saved anew: what only the old one said goes, what this one says comes."""
    await hold_families(uow.sql, waiting.root_id, [_path(waiting)])
    await redate(uow.sql, asset_id, date)
    await refresh(uow, [asset_id], decoded)


def _path(waiting: Waiting) -> bytes:
    """The name by which files that belong together find each other."""
    return sidecar_names.sent(waiting.batch_id, waiting.named) if waiting.uploaded else waiting.path


async def _is_described(sql: Connection[Any], root_id: int, path: bytes) -> bool:
    keys = [sidecar_names.key(path), sidecar_names.key(sidecar_names.stem(path))]
    found: bool = await sql.fetchval(IS_DESCRIBED, root_id, keys)
    return found


IS_DESCRIBED = "SELECT EXISTS (SELECT 1 FROM sidecar WHERE root_id = $1 AND about = ANY($2::bytea[]))"


async def keep(uow: UnitOfWork, waiting: Waiting, described: Described) -> None:
    """A sidecar was read: remember what it says, and let its assets follow.

    One that makes no sense at the moment (half written, or cut off) changes nothing of what it said before.
    """
    if described.said is None:
        return
    path = _path(waiting)
    await hold_families(uow.sql, waiting.root_id, [path])
    await uow.sql.execute(
        _KEEP,
        waiting.entry_id,
        waiting.root_id,
        sidecar_names.key(sidecar_names.about(path)),
        sidecar_names.kind_of(waiting.path),
        described.sha256,
        msgspec.json.encode(described.said).decode(),
    )
    await refresh(uow, await _described_by(uow.sql, waiting, path))


_KEEP = """
INSERT INTO sidecar (entry_id, root_id, about, kind, sha256, said) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (entry_id) DO UPDATE SET about = excluded.about, kind = excluded.kind, sha256 = excluded.sha256,
    said = excluded.said, read_at = now()
"""
# Both through the index of paths; in it `/` follows directly upon `.`.
ABOUT = """
SELECT path, asset_id FROM root_entry WHERE root_id = $1 AND path = $2 AND asset_id IS NOT NULL
UNION ALL
SELECT path, asset_id FROM root_entry
WHERE root_id = $1 AND path > $2 || '.'::bytea AND path < $2 || '/'::bytea AND asset_id IS NOT NULL
    AND position('/'::bytea IN substr(path, length($2) + 1)) = 0
"""
_ABOUT_SENT = """
SELECT convert_to(u.name, 'UTF8') AS path, e.asset_id FROM upload u JOIN root_entry e ON e.id = u.entry_id
WHERE u.batch_id = $1 AND e.asset_id IS NOT NULL AND (u.name = $2 OR starts_with(u.name, $2 || '.'))
"""


async def _described_by(sql: Connection[Any], waiting: Waiting, path: bytes) -> list[int]:
    """The assets that a sidecar is about."""
    about = sidecar_names.about(path)
    if not waiting.uploaded:
        return named(await sql.fetch(ABOUT, waiting.root_id, about), about)
    name = sidecar_names.about(waiting.named)
    return named(await sql.fetch(_ABOUT_SENT, waiting.batch_id, name.decode()), name)


def named(rows: Iterable[Record], about: bytes) -> list[int]:
    """The assets among these whose name this is, whole or without its extension."""
    return sorted({r["asset_id"] for r in rows if about in (r["path"], sidecar_names.stem(r["path"]))})


async def hold_families(sql: Connection[Any], root_id: int, paths: Iterable[bytes]) -> None:
    """Who brings a file in and who brings what is said about it take turns, so that the later sees both."""
    for family in sorted({sidecar_names.family(path) for path in paths}):
        name = hashlib.sha256(b"sidecars of %d/%b" % (root_id, family)).digest()
        await sql.execute("SELECT pg_advisory_xact_lock($1)", int.from_bytes(name[:8], signed=True))
