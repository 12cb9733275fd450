"""Sidecars that are written while they are read, are damaged, or cost too much to read."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from appliance.ingest import claims
from appliance.ingest.importing import Import
from appliance.media.decoder import Child
from appliance.media.wire import Described, Stat
from tests.ingest.conftest import Ingest
from tests.ingest.test_sidecars import Library, library
from tests.media_files import jpeg, put


__all__ = ["library"]

WHOLE = json.dumps({"tags": ["lake"]}).encode()
ENTRIES = "SELECT path, outcome, reason, detail FROM root_entry ORDER BY path"
TAGS = "SELECT t.name FROM asset_tag x JOIN tag t ON t.id = x.tag_id"


class Lending:
    """Lends real decoders, and lets something happen before the one that describes."""

    def __init__(self, ingest: Ingest, before: Callable[[], None] = lambda: None) -> None:
        self.ingest = ingest
        self.before = before
        self.seconds = 30.0

    @asynccontextmanager
    async def child(self) -> AsyncIterator[_Hand]:
        async with self.ingest.pool.child() as child:
            yield _Hand(child, self)


class _Hand:
    def __init__(self, child: Child, lending: Lending) -> None:
        self.read = child.read
        self.decode = child.decode
        self.frames = child.frames
        self.place = child.place
        self.remove_source = child.remove_source
        self._child = child
        self._lending = lending

    async def describe(self, path: bytes, kind: str, *, expect: Stat | None) -> Described:
        self._lending.before()
        return await self._child.describe(path, kind, expect=expect, timeout=self._lending.seconds)


async def drain(ingest: Ingest, lending: Lending) -> list[str]:
    async with ingest.db.unit_of_work() as uow:
        taken = await claims.claim(uow.sql, 1, 16)
    return sorted([await Import(ingest.settings, ingest.db, each).run(lending.child) for each in taken])


async def walked(ingest: Ingest, folder: Path) -> None:
    await ingest.walk(await ingest.claim_walk(await ingest.queue(folder)))


async def test_a_sidecar_that_is_written_while_it_is_read_waits_until_it_rests(
    ingest: Ingest, folder: Path
) -> None:
    put(folder, "a.jpg", jpeg(1))
    sidecar = put(folder, "a.jpg.json", WHOLE)
    await walked(ingest, folder)

    lending = Lending(ingest, lambda: put(folder, "a.jpg.json", WHOLE[:-4]) and None)
    assert await drain(ingest, lending) == ["imported", "waits"]
    assert await ingest.rows(TAGS) == []
    assert (await ingest.rows(ENTRIES))[1]["outcome"] == "pending"

    sidecar.write_bytes(WHOLE)
    os.utime(sidecar, (1_600_000_000, 1_600_000_000))
    await ingest.rest()
    assert await ingest.drain() == {"waits": 1}
    await ingest.rest()
    assert await ingest.drain() == {"skipped": 1}
    assert await ingest.rows(TAGS) == [{"name": "lake"}]


async def test_a_sidecar_that_takes_too_long_costs_its_own_words_and_says_so(
    ingest: Ingest, folder: Path
) -> None:
    for name in ("a.jpg", "b.jpg"):
        put(folder, name, jpeg(ord(name[0])))
    put(folder, "a.jpg.json", WHOLE)
    await walked(ingest, folder)

    lending = Lending(ingest)
    lending.seconds = 0.0
    assert await drain(ingest, lending) == ["imported", "imported", "skipped"]
    assert (await ingest.rows(ENTRIES))[1] == {
        "path": b"a.jpg.json",
        "outcome": "skipped",
        "reason": "sidecar",
        "detail": "timeout: not done after 0 s",
    }
    assert await ingest.rows("SELECT status, count(*) FROM import_task GROUP BY status ORDER BY status") == [
        {"status": "complete", "count": 2},
        {"status": "skipped", "count": 1},
    ]


async def test_a_half_written_sidecar_changes_nothing_and_says_why(library: Library) -> None:
    library.put("a.jpg", jpeg(1))
    sidecar = library.put("a.jpg.json", json.dumps({"tags": ["lake"]}).encode())
    await library.scan()
    sidecar.write_bytes(b'{"tags": ["la')
    await library.scan()

    assert await library.tags("a.jpg") == {"lake"}
    rows = await library.ingest.rows(
        "SELECT outcome, reason, detail FROM root_entry WHERE path = 'a.jpg.json'"
    )
    # It is listed for as long as it is so, since whole it would say something of the picture.
    assert rows == [{"outcome": "failed", "reason": "corrupt", "detail": "it is not JSON, or not all of it"}]

    sidecar.write_bytes(b'{"tags": ["pier"]}')
    await library.scan()
    assert await library.tags("a.jpg") == {"pier"}
    rows = await library.ingest.rows("SELECT outcome, reason FROM root_entry WHERE path = 'a.jpg.json'")
    assert rows == [{"outcome": "skipped", "reason": "sidecar"}]


@pytest.mark.parametrize(
    ("name", "content"), [("a.json", b"{"), ("settings.json", b"// none"), ("a.jpg.json", b"[1, 2]")]
)
async def test_what_need_not_be_a_sidecar_is_passed_over(library: Library, name: str, content: bytes) -> None:
    library.put("a.jpg", jpeg(1))
    library.put(name, content)
    await library.scan()

    rows = await library.ingest.rows("SELECT path, outcome, reason FROM root_entry WHERE path <> 'a.jpg'")
    assert rows == [{"path": name.encode(), "outcome": "skipped", "reason": "sidecar"}]
