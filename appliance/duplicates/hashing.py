"""The hashes of an asset: of pictures at their import, of films and of older assets when imports rest."""

from __future__ import annotations

import os
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from appliance.core.columns import ALONE
from appliance.core.db import Database
from appliance.core.drains import Claimed
from appliance.core.settings import Settings
from appliance.duplicates.matching import bits
from appliance.library.errors import NoFile
from appliance.library.files import original
from appliance.media import phash
from appliance.media.hops import Hop
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import GRID_480, Decoded, Fingerprint, Frame, Read, Stat, Wanted


if TYPE_CHECKING:
    from asyncpg import Connection


FRAMES = 8
"""By so many a film is known."""
ALIKE = 7
"""In so many of 64 bits two contents of one path may differ and be one picture."""


@dataclass(frozen=True, slots=True)
class Unhashed:
    """An asset that waits for its hashes; `drawn` when its small picture is there and shows it unturned."""

    asset_id: int
    sha256: bytes
    kind: str
    drawn: bool


class Hasher(Protocol):
    """The part of a decode child that hashing uses."""

    async def open(self, path: bytes, *, expect: Stat | None = None, member: Sequence[Hop] = ()) -> Read:
        """Open and sniff a file or a page without hashing the bytes."""

    async def decode(self, wanted: list[Wanted]) -> Decoded:
        """Decode the open file."""

    async def frames(self, count: int) -> list[Frame]:
        """Hash frames of the open film."""


_NOTE = """
INSERT INTO fingerprint (asset_id, status, version, finished_at)
VALUES ($1, $6, $7, CASE $6 WHEN 'complete' THEN now() END) ON CONFLICT (asset_id) DO NOTHING
"""
# The place is read from the asset: a trigger keeps it, once there is a row.
_INSERT = """
INSERT INTO phash (asset_id, at_ms, hash, mirror, reach, place)
SELECT a.id, h.at_ms, h.hash, h.mirror, h.reach,
       CASE a.state WHEN 'trashed' THEN 'deleted' WHEN 'inside' THEN 'inside' ELSE 'open' END
FROM asset a, unnest($2::int[], $3::bigint[], $4::bigint[], $5::smallint[]) AS h(at_ms, hash, mirror, reach)
WHERE a.id = $1
"""


async def note(sql: Connection[Any], asset_id: int, decoded: Decoded) -> None:
    """Keep what an import found out; the frames of a film are left to the drain, as seeking takes time."""
    status = "pending" if decoded.kind == "video" else "complete"
    hashes = _columns(_of_picture(decoded) if status == "complete" else [])
    await sql.execute(f"WITH noted AS ({_NOTE}) {_INSERT}", asset_id, *hashes, status, phash.VERSION)


async def renew(sql: Connection[Any], asset_id: int, decoded: Decoded) -> None:
    """Forget the hashes of a content that an asset no longer has, and keep those of the new one."""
    await sql.execute("DELETE FROM phash WHERE asset_id = $1", asset_id)
    # Whoever hashes the old content at this moment loses its claim with the row.
    await sql.execute("DELETE FROM fingerprint WHERE asset_id = $1", asset_id)
    await note(sql, asset_id, decoded)


async def looks_like(sql: Connection[Any], asset_id: int, decoded: Decoded) -> bool | None:
    """Whether a decoded picture shows what an asset shows; None where both show too little to tell."""
    found = decoded.fingerprint
    near: int | None = await sql.fetchval(
        f"SELECT min({bits('hash', '$2::bigint')}) FROM phash WHERE asset_id = $1 AND at_ms IS NULL",
        asset_id,
        0 if found is None else found.hash,
    )
    if near is None and found is None:
        return None
    return near is not None and found is not None and near <= ALIKE


async def want(sql: Connection[Any], asset_id: int) -> None:
    """Have an asset hashed that no import has decoded."""
    await sql.execute(
        "INSERT INTO fingerprint (asset_id, version) VALUES ($1, $2) ON CONFLICT (asset_id) DO NOTHING",
        asset_id,
        phash.VERSION,
    )


def _columns(hashes: Sequence[tuple[int | None, Fingerprint]]) -> list[list[int | None]]:
    return [
        [at for at, _ in hashes],
        [found.hash for _, found in hashes],
        [found.mirror for _, found in hashes],
        [found.reach for _, found in hashes],
    ]


_CLAIM = f"""
WITH taken AS (
    UPDATE fingerprint SET status = 'processing', claim = gen_random_uuid(), worker_id = $1,
           claimed_at = now(), started_at = NULL
    WHERE id = ANY(ARRAY(
        SELECT f.id FROM fingerprint f WHERE f.status = 'pending'
        ORDER BY f.id LIMIT $2 FOR UPDATE SKIP LOCKED))
    RETURNING id, claim, asset_id, {ALONE} AS alone
)
SELECT taken.id, taken.claim, taken.alone, asset_id, sha256, kind,
       turn = 0 AND kind <> 'video' AND EXISTS (
           SELECT FROM rendition r WHERE r.asset_id = asset.id AND r.name = '{GRID_480}'
               AND r.status = 'complete') AS drawn
FROM taken JOIN asset ON asset.id = taken.asset_id ORDER BY taken.id
"""

Idle = Callable[["Connection[Any]"], Awaitable[bool]]


def claim_when(idle: Idle) -> Callable[[Connection[Any], int, int], Awaitable[Sequence[Claimed]]]:
    """The drain's claim; nothing is taken unless `idle` says that imports rest."""

    async def claim(sql: Connection[Any], worker_id: int, count: int) -> Sequence[Claimed]:
        if not await idle(sql):
            return []
        return [_claimed(row) for row in await sql.fetch(_CLAIM, worker_id, count)]

    return claim


def _claimed(row: Any) -> Claimed:
    fence: uuid.UUID = row["claim"]
    unhashed = Unhashed(row["asset_id"], row["sha256"], row["kind"], row["drawn"])
    return Claimed(row["id"], fence, row["alone"], unhashed)


async def fail(sql: Connection[Any], claimed: Claimed, reason: str, detail: str) -> bool:
    """End the hashing of an asset as failed: it takes no part in the search for duplicates."""
    done: str = await sql.execute(
        "UPDATE fingerprint SET status = 'failed', reason = $3, detail = $4, finished_at = now(),"
        " claim = NULL WHERE id = $1 AND claim = $2 AND status = 'processing'",
        claimed.id,
        claimed.claim,
        reason,
        detail.replace("\0", "")[:500],
    )
    return done == "UPDATE 1"


async def hash_one(settings: Settings, database: Database, claimed: Claimed, child: Hasher) -> str:
    """Hash one asset: films by their frames, pictures by their small rendition or their original."""
    unhashed: Unhashed = claimed.row
    try:
        hashes = await _hashes(settings, database, unhashed, child)
    except NoFile as error:
        return await _failed(database, claimed, Reason.VANISHED, error.title)
    except MediaFailure as failure:
        return await _failed(database, claimed, failure.reason, failure.detail)
    return await _complete(database, claimed, hashes)


async def _hashes(
    settings: Settings, database: Database, unhashed: Unhashed, child: Hasher
) -> list[tuple[int | None, Fingerprint]]:
    if unhashed.drawn:
        # Drawn from the same reduction that an import hashes: the same hash for a tenth of the work.
        try:
            await child.open(os.fsencode(settings.home.rendition(unhashed.sha256, GRID_480)))
        except MediaFailure:
            return await _of_original(settings, database, unhashed, child)
        return _of_picture(await child.decode([]))
    return await _of_original(settings, database, unhashed, child)


async def _of_original(
    settings: Settings, database: Database, unhashed: Unhashed, child: Hasher
) -> list[tuple[int | None, Fingerprint]]:
    async with database.unit_of_work() as uow:
        source = await original(uow.sql, settings.home, unhashed.asset_id)
    await child.open(source.path, expect=source.expected, member=source.way)
    if unhashed.kind == "video":
        return [(frame.at_ms, frame.fingerprint) for frame in await child.frames(FRAMES)]
    return _of_picture(await child.decode([]))


def _of_picture(decoded: Decoded) -> list[tuple[int | None, Fingerprint]]:
    return [] if decoded.fingerprint is None else [(None, decoded.fingerprint)]


async def _complete(
    database: Database, claimed: Claimed, hashes: Sequence[tuple[int | None, Fingerprint]]
) -> str:
    async with database.unit_of_work() as uow:
        # Before anything else of it, as everywhere; whoever throws it away waits, and sees the hashes.
        await uow.sql.execute("SELECT FROM asset WHERE id = $1 FOR SHARE", claimed.row.asset_id)
        done = await uow.sql.execute(
            "UPDATE fingerprint SET status = 'complete', version = $3, reason = NULL, detail = NULL,"
            " finished_at = now(), claim = NULL WHERE id = $1 AND claim = $2 AND status = 'processing'",
            claimed.id,
            claimed.claim,
            phash.VERSION,
        )
        if done != "UPDATE 1":
            return "taken_over"
        await uow.sql.execute("DELETE FROM phash WHERE asset_id = $1", claimed.row.asset_id)
        await uow.sql.execute(_INSERT, claimed.row.asset_id, *_columns(hashes))
    return "complete"


async def _failed(database: Database, claimed: Claimed, reason: Reason, detail: str) -> str:
    async with database.unit_of_work() as uow:
        await fail(uow.sql, claimed, reason, detail)
    return "failed"
