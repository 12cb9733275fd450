"""A file of the person's own folder goes only when it is asked for by name, and never otherwise."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.ingest.models import Mode
from tests.ingest import conftest as ingesting
from tests.ingest.conftest import Ingest, tree
from tests.media_files import jpeg, put
from tests.operations.conftest import Library


folder, ingest = ingesting.folder, ingesting.ingest


@pytest.fixture
def library(db: Database, settings: Settings) -> Library:
    return Library(db)


@pytest.fixture
async def asset(library: Library, ingest: Ingest, folder: Path) -> int:
    put(folder, "holiday/a picture.jpg", jpeg(1))
    put(folder, "b.jpg", jpeg(2))
    await ingest.scan(folder)
    found: int = await library.value(
        "SELECT asset_id FROM asset_file WHERE path = $1", b"holiday/a picture.jpg"
    )
    await library.act("trash", [found])
    return found


async def file_of(library: Library, asset_id: int) -> str:
    return str(await library.value("SELECT id FROM asset_file WHERE asset_id = $1", asset_id))


async def test_the_file_goes_with_its_typed_name(
    client: httpx.AsyncClient,
    library: Library,
    asset: int,
    folder: Path,
) -> None:
    shown = await client.get(f"/asset/{asset}/delete")
    assert "a picture.jpg" in shown.text
    sent = {"file": await file_of(library, asset), "typed": "a picture.jpg"}

    answer = await client.post(f"/asset/{asset}/delete", data=sent)

    assert answer.status_code == 303
    assert not (folder / "holiday" / "a picture.jpg").exists()
    assert (folder / "b.jpg").exists()
    assert await library.value("SELECT count(*) FROM asset WHERE id = $1", asset) == 0


@pytest.mark.parametrize("typed", ["", "a picture", "A PICTURE.JPG", "b.jpg"])
async def test_another_name_deletes_nothing(
    client: httpx.AsyncClient,
    library: Library,
    asset: int,
    folder: Path,
    typed: str,
) -> None:
    before = tree(folder)
    sent = {"file": await file_of(library, asset), "typed": typed}
    answer = await client.post(f"/asset/{asset}/delete", data=sent)
    assert answer.status_code == 422
    assert "to confirm" in answer.text
    assert tree(folder) == before
    assert await library.value("SELECT count(*) FROM asset WHERE id = $1", asset) == 1


async def test_without_the_name_only_the_picture_goes(
    client: httpx.AsyncClient,
    library: Library,
    asset: int,
    folder: Path,
) -> None:
    before = tree(folder)
    assert (await client.post(f"/asset/{asset}/delete")).status_code == 303
    assert tree(folder) == before
    assert await library.value("SELECT count(*) FROM asset WHERE id = $1", asset) == 0


async def test_a_file_that_is_another_one_by_now_is_left_alone(
    client: httpx.AsyncClient,
    library: Library,
    asset: int,
    folder: Path,
) -> None:
    put(folder, "holiday/a picture.jpg", jpeg(7))
    sent = {"file": await file_of(library, asset), "typed": "a picture.jpg"}
    answer = await client.post(f"/asset/{asset}/delete", data=sent)
    assert "left alone" in answer.text
    assert (folder / "holiday" / "a picture.jpg").exists()


async def test_a_folder_that_may_only_be_read_is_refused(
    client: httpx.AsyncClient,
    library: Library,
    asset: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Root may write anywhere, so the answer of the system is given here instead.
    monkeypatch.setattr(os, "access", lambda *_args: False)
    sent = {"file": await file_of(library, asset), "typed": "a picture.jpg"}
    answer = await client.post(f"/asset/{asset}/delete", data=sent)
    assert answer.status_code == 409
    assert "may only read" in answer.text
    assert (folder / "holiday" / "a picture.jpg").exists()
    assert await library.value("SELECT count(*) FROM asset WHERE id = $1", asset) == 1


async def test_what_is_not_in_the_trash_is_refused(
    client: httpx.AsyncClient,
    library: Library,
    asset: int,
    folder: Path,
) -> None:
    await library.act("restore", [asset])
    sent = {"file": await file_of(library, asset), "typed": "a picture.jpg"}
    assert (await client.post(f"/asset/{asset}/delete", data=sent)).status_code == 409
    assert (folder / "holiday" / "a picture.jpg").exists()


@pytest.mark.parametrize("mode", [Mode.COPY])
async def test_sources_of_a_copy_are_never_offered(
    client: httpx.AsyncClient,
    library: Library,
    ingest: Ingest,
    folder: Path,
    mode: Mode,
) -> None:
    put(folder, "c.jpg", jpeg(3))
    await ingest.scan(folder, mode)
    ids = [row["id"] for row in await library.rows("SELECT id FROM asset")]
    await library.act("trash", ids)
    shown = await client.get(f"/asset/{ids[0]}/delete")
    assert "Also delete the file" not in shown.text
