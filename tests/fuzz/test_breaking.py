"""The tools of the fuzz: inputs can be made again, begin sound, and what is wrong is noticed."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import pytest

from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.media.decoder import DecodePool
from appliance.media.wire import GRID_240, Wanted
from tests.fuzz import numbers
from tests.fuzz.breaking import WAYS, Way, with_sums
from tests.fuzz.families import BY_NAME, FAMILIES, Family
from tests.fuzz.running import Fuzz
from tests.ingest.conftest import Ingest
from tests.media import make


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_an_input_is_the_same_for_the_same_seed_and_number(family: Family) -> None:
    first = [family.input(5, number) for number in range(8)]
    assert first == [family.input(5, number) for number in range(8)]
    assert len(set(first)) > 6
    assert [family.input(6, number) for number in range(8)] != first


@pytest.mark.parametrize(
    "family", [each for each in FAMILIES if not each.beside], ids=lambda family: family.name
)
async def test_what_is_broken_was_sound_before(family: Family, tmp_path: Path) -> None:
    whole = tmp_path / f"whole{family.extension}"
    whole.write_bytes(family.wrap(family.bases()[0], 0))
    pool = DecodePool(1)
    async with pool.child() as child:
        await child.read(bytes(whole))
        decoded = await child.decode([Wanted.named(GRID_240, bytes(tmp_path / "grid"))])
    await pool.close()
    assert len(decoded.renditions) == 1


def test_numbers_are_found_where_formats_have_them() -> None:
    png = make.saved(make.corner(), "PNG")
    assert [each.read(png) for each in numbers.png(png)][:3] == [13, 40, 20]
    film = make.film()
    assert next(each.read(film) for each in numbers.boxes(film)) == film.index(b"ftyp") + film[3] - 4
    exif = make.exif(make="Acme")
    assert any(each.read(exif) == 0x10F for each in numbers.tiff(exif))


def test_check_sums_of_a_png_are_made_right_again() -> None:
    png = bytearray(make.saved(make.corner(), "PNG"))
    png[20] ^= 1
    mended = with_sums(bytearray(png))
    assert mended != png
    assert mended[29:33] == zlib.crc32(mended[12:29]).to_bytes(4, "big")


async def test_a_whole_picture_that_does_not_come_in_is_a_fault(
    db: Database, settings: Settings, tmp_path: Path
) -> None:
    pool = DecodePool(1)
    fuzz = Fuzz(Ingest(db, settings, pool), tmp_path / "inputs", 1)
    wrong = BY_NAME["png"]._replace(comes_in=lambda _number: True)
    await fuzz.run(wrong, list(range(12)))
    await pool.close()
    assert sum(fuzz.found.outcomes[end] for end in ("imported", "duplicate", "failed")) == 12
    assert len(fuzz.found.faults) == fuzz.found.outcomes["failed"] > 0


@pytest.mark.parametrize("way", {each.__name__: each for each in WAYS}.values(), ids=lambda way: way.__name__)
def test_every_way_breaks_also_the_smallest_file(way: Way) -> None:
    for seed in range(30):
        assert way(bytearray(b"\0"), random.Random(seed)) is not None
