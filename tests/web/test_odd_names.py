"""Names that are legal and hostile: they come in, are shown and go out as what they are."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import httpx
import pytest

from appliance.core import names
from appliance.core.db import Database
from appliance.core.settings import Settings
from tests.ingest import conftest as ingesting
from tests.ingest.conftest import Ingest
from tests.media_files import jpeg, put


folder, ingest = ingesting.folder, ingesting.ingest
NAMES = (
    "72 【Summer】 [Tulip]*?.jpg",
    'a\'b "c"/picture.jpg',
    "😀 100%25 #1;&.jpg",
    "-rf --help.jpg",
    "line\nbreak.jpg",
    "<b>bold</b>.jpg",
)


@pytest.mark.parametrize("name", NAMES)
async def test_a13_odd_names_are_imported_shown_and_sent(
    client: httpx.AsyncClient, db: Database, settings: Settings, ingest: Ingest, folder: Path, name: str
) -> None:
    content = jpeg(1)
    put(folder, name, content)

    assert (await ingest.scan(folder)).imported == 1

    (asset,) = [r["id"] for r in await ingest.rows("SELECT id FROM asset")]
    small = await client.get(f"/media/{asset}/grid-240")
    assert (small.status_code, small.content[:4]) == (200, b"RIFF")
    page = await client.get(f"/asset/{asset}")
    assert page.status_code == 200
    assert "<b>bold</b>" not in page.text
    saved = await client.get(f"/media/{asset}/original?download=1")
    assert saved.content == content
    header = saved.headers["content-disposition"]
    plain, _, exact = header.partition("; filename*=UTF-8''")
    assert plain.startswith('attachment; filename="')
    assert plain.count('"') == 2
    # As it is; only what no file system should have to write is shown as its bytes.
    assert unquote(exact) == names.display(name.rpartition("/")[2].encode())
    assert all(c.isprintable() for c in header)
    assert (await client.get("/folders")).status_code == 200
