"""A film beyond all 32 bits is imported, shown and sent in parts like any other."""

from __future__ import annotations

import os
from pathlib import Path

import httpx

from tests.ingest.conftest import Ingest, folder, ingest
from tests.media import strange


__all__ = ["folder", "ingest"]


async def test_a_film_of_five_gigabytes_is_like_any_other(
    client: httpx.AsyncClient, ingest: Ingest, folder: Path
) -> None:
    place = folder / os.fsdecode(b"caf\xe9.mp4")
    size = strange.enormous(place, 5)
    assert place.stat().st_blocks * 512 < 1 << 20
    view = await ingest.scan(folder)
    assert (view.imported, view.failed) == (1, 0)
    (row,) = await ingest.rows("SELECT id, size, kind, duration_ms, flags FROM asset")
    assert (row["size"], row["kind"], row["duration_ms"]) == (size, "video", 3000)
    assert row["flags"] in ([], "[]")

    last = await client.get(f"/media/{row['id']}/original", headers={"Range": "bytes=-9"})
    assert (last.status_code, last.content) == (206, bytes(9))
    assert last.headers["content-range"] == f"bytes {size - 9}-{size - 1}/{size}"
    page = await client.get(f"/asset/{row['id']}")
    assert "5.4 GB" in page.text
    assert "caf" in page.text

    again = await ingest.scan(folder)
    assert (again.unchanged, again.hashed) == (1, 0)
