"""Leftovers of killed imports go; what any row names, and what is young, stays."""

from __future__ import annotations

import os
from pathlib import Path

from appliance.library import sweeping
from appliance.library.sweeping import SetAside
from tests.ingest.conftest import Ingest
from tests.media_files import jpeg, put


def old(path: Path) -> Path:
    os.utime(path, (1_600_000_000, 1_600_000_000))
    return path


def test_a7_unfinished_file_is_swept_after_an_hour_and_not_before(ingest: Ingest) -> None:
    home = ingest.settings.home
    gone = old(put(home.tmp, "import-1", b"half"))
    young = put(home.tmp, "import-2", b"half")

    assert sweeping.sweep_temporary(home) == 1
    assert (gone.exists(), young.exists()) == (False, True)


async def test_only_pictures_that_no_row_names_are_found(ingest: Ingest, folder: Path) -> None:
    put(folder, "a.jpg", jpeg(1))
    await ingest.scan(folder)
    base = ingest.settings.home.renditions
    kept = list(base.rglob("*.webp"))
    leftover = put(kept[0].parent, ".grid-240.webp.123", b"half")
    orphan = put(base, f"ab/cd/{'ab' * 32}/grid-240.webp", b"whole")
    paths = [os.fsencode(p.relative_to(base)) for p in base.rglob("*") if p.is_file()]

    async with ingest.db.unit_of_work() as uow:
        found = await sweeping.unnamed_renditions(uow.sql, paths)

    assert {base / os.fsdecode(p) for p in found} == {leftover, orphan}
    assert len(kept) == 2


async def test_original_named_by_a_row_is_never_found(ingest: Ingest, folder: Path) -> None:
    from appliance.ingest.models import Mode

    put(folder, "a.jpg", jpeg(1))
    await ingest.scan(folder, Mode.COPY)
    base = ingest.settings.home.originals
    orphan = put(base, "00/11/orphan.jpg", b"x")
    paths = [os.fsencode(p.relative_to(base)) for p in base.rglob("*") if p.is_file()]

    async with ingest.db.unit_of_work() as uow:
        assert await sweeping.unnamed_originals(uow.sql, paths) == [os.fsencode(orphan.relative_to(base))]


def test_young_file_is_left_alone(ingest: Ingest) -> None:
    base = ingest.settings.home.originals
    put(base, "00/11/x.jpg", b"x")

    assert SetAside(ingest.settings.home, base, b"00/11/x.jpg").take() is False


def test_file_that_became_named_meanwhile_comes_back_unless_a_fresh_one_took_its_place(
    ingest: Ingest,
) -> None:
    base = ingest.settings.home.originals
    path = old(put(base, "00/11/x.jpg", b"old"))
    aside = SetAside(ingest.settings.home, base, b"00/11/x.jpg")

    assert aside.take()
    aside.put_back()
    assert path.read_bytes() == b"old"

    assert aside.take()
    put(base, "00/11/x.jpg", b"fresh")
    aside.put_back()
    assert path.read_bytes() == b"fresh"
    assert list(ingest.settings.home.tmp.iterdir()) == []


def test_dropped_file_takes_its_empty_folder_along(ingest: Ingest) -> None:
    base = ingest.settings.home.renditions
    path = old(put(base, f"ab/cd/{'ab' * 32}/preview.webp", b"x"))
    aside = SetAside(ingest.settings.home, base, os.fsencode(path.relative_to(base)))

    assert aside.take()
    aside.drop()

    assert not path.parent.exists()
