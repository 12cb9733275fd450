"""Volumes on the shelf: brought in through the pipeline and unpacked, without queues."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from appliance.core.drains import Claimed
from appliance.ingest import away
from appliance.ingest.services import imports_idle
from appliance.library import unpacking
from tests.ingest.conftest import Ingest
from tests.media_files import put


claim = unpacking.claim_when(imports_idle)


async def take(ingest: Ingest) -> list[Claimed]:
    """Claim the next volume."""
    async with ingest.db.unit_of_work() as uow:
        return list(await claim(uow.sql, 1, 1))


async def unpack(ingest: Ingest) -> list[str]:
    """Unpack whatever waits."""
    outcomes = []
    while taken := await take(ingest):
        lend = partial(ingest.pool.child, fresh=taken[0].alone)
        outcomes.append(await unpacking.unpack(ingest.settings, ingest.db, taken[0], lend, away.went))
    return outcomes


async def the_volume(ingest: Ingest) -> int:
    """The only volume there is."""
    (row,) = await ingest.rows("SELECT id FROM asset WHERE kind = 'volume'")
    return int(str(row["id"]))


async def shelved(ingest: Ingest, folder: Path, content: bytes, *, unpacked: bool = True) -> int:
    """The id of a volume with this content."""
    put(folder, "book.cbz", content)
    await ingest.scan(folder)
    if unpacked:
        await unpack(ingest)
    return await the_volume(ingest)
