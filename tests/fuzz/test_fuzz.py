"""Nothing escapes the decode child, nothing outlives its limit, nothing ends without a class.

`./vitrine test --fuzz`; what a run found wrong is run again by seed, family and number.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
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
COUNT = int(os.environ.get("VITRINE_TEST_FUZZ_COUNT") or 500)
ONLY = os.environ.get("VITRINE_TEST_FUZZ_ONLY", "")
"""FAMILY, or FAMILY:NUMBER for a single input."""


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
    numbers = [int(number)] if number else list(range(COUNT))
    folder = tmp_path / "inputs"
    folder.mkdir()
    ingest = Ingest(db, settings, pool)
    began = time.monotonic()
    found = await Fuzz(ingest, folder, SEED).run(family, numbers)
    with capsys.disabled():
        print(
            f"\n{family.name}: {len(numbers)} inputs, seed {SEED}, {time.monotonic() - began:.0f} s,"
            f" slowest {found.slowest[0]:.1f} s ({found.slowest[1]}): {dict(found.outcomes.most_common())}"
        )
        for line in found.deaths:
            print(f"  died at {line}")
    assert found.faults[:50] == [], f"seed {SEED}; again: --seed {SEED} --only {family.name}:NUMBER"
    await check_fitness(ingest, tmp_path)


async def check_fitness(ingest: Ingest, tmp_path: Path) -> None:
    """A sound picture comes in afterwards as if nothing had been."""
    sound = tmp_path / "sound"
    put(sound, "a.jpg", jpeg(1))
    assert (await ingest.scan(sound)).imported == 1
