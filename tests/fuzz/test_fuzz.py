"""Nothing escapes the decode child, nothing outlives its limit, nothing ends without a class.

`./vitrine test --fuzz`; what a run found wrong is run again by seed, family and number.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.media.decoder import DecodePool
from tests.fuzz.families import FAMILIES, Family
from tests.fuzz.running import LIMITS, Fuzz
from tests.ingest.conftest import Ingest
from tests.media_files import jpeg, put


pytestmark = pytest.mark.fuzz

SEED = int(os.environ.get("VITRINE_TEST_FUZZ_SEED") or time.time())
ONLY = os.environ.get("VITRINE_TEST_FUZZ_ONLY", "")
"""FAMILY, or FAMILY:NUMBER for a single input."""
LEAST = 500
ROUND = 250
SHARE_S = 20.0
"""A family goes on in rounds for this long, so that a quick machine tries more in the same time."""


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[DecodePool]:
    """Two children for all families: each has to stay fit for the next."""
    made = DecodePool(2, LIMITS)
    yield made
    await made.close()


def chosen() -> list[Family]:
    """The families of this run."""
    name = ONLY.partition(":")[0]
    return [family for family in FAMILIES if name in {"", family.name}]


def rounds(began: float) -> Iterator[list[int]]:
    """The numbers of the inputs: as many as everyone tries, then more until the time is up."""
    yield list(range(LEAST))
    for start in itertools.count(LEAST, ROUND):
        if time.monotonic() - began > SHARE_S:
            return
        yield list(range(start, start + ROUND))


@pytest.mark.parametrize("family", chosen(), ids=lambda family: family.name)
async def test_every_broken_file_ends_with_an_asset_or_a_class(
    family: Family,
    db: Database,
    settings: Settings,
    pool: DecodePool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    number = ONLY.partition(":")[2]
    fuzz = Fuzz(Ingest(db, settings, pool), tmp_path / "inputs", SEED)
    began, tried = time.monotonic(), 0
    for numbers in [[int(number)]] if number else rounds(began):
        await fuzz.run(family, numbers)
        tried += len(numbers)
    found = fuzz.found
    with capsys.disabled():
        print(
            f"\n{family.name}: {tried} inputs, seed {SEED}, {time.monotonic() - began:.0f} s,"
            f" slowest {found.slowest[0]:.1f} s ({found.slowest[1]}): {dict(found.outcomes.most_common())}"
        )
        for line in found.deaths:
            print(f"  died at {line}")
    assert found.faults[:50] == [], f"again: ./vitrine test --fuzz --seed {SEED} --only {family.name}:NUMBER"
    await check_fitness(fuzz.ingest, tmp_path)


async def check_fitness(ingest: Ingest, tmp_path: Path) -> None:
    """A sound picture comes in afterwards as if nothing had been."""
    sound = tmp_path / "sound"
    put(sound, "a.jpg", jpeg(987_654_321))
    assert (await ingest.scan(sound)).imported == 1
