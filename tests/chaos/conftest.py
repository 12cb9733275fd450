"""Places and trees for the runs under faults; silence is shortened, nothing else is."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from appliance.core.settings import Settings
from tests.chaos.calibration import scale_for
from tests.journeys.instance import Instance, instance, workplace
from tests.journeys.tree import Shares, Tree, grow


REAL = os.environ.get("VITRINE_TEST_CHAOS") == "real"
"""`--chaos=real`: nothing is shortened."""
SILENCE = {} if REAL else {"silence": "20", "heartbeat": "5"}
SILENCE_S = Settings().silence if REAL else 20.0
HEARTBEAT_S = Settings().heartbeat if REAL else 5.0
BIG = Shares(small=776, webp=1300, jpeg=500, png=200, duplicates=120, broken=60, skipped=40)
BIG_SECONDS = 120.0
"""Of decoding alone, on all decoders: the rest of an import comes on top of it."""
MIDDLE = Shares(small=400, webp=160, jpeg=80, png=40, duplicates=20, broken=10, skipped=8)


Opened = Callable[..., contextlib.AbstractContextManager[Instance]]


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder for one test."""
    with workplace() as made:
        yield made


@pytest.fixture
def vitrine(place: Path) -> Iterator[Instance]:
    """An instance with shortened silence, not started yet; its pictures wait unless a test wants them."""
    with instance(place, pause="thumbnail", **SILENCE) as made:
        yield made


@pytest.fixture(scope="session")
def big() -> Iterator[Tree]:
    """3,000 files that keep this machine busy for more than two minutes."""
    with workplace() as made:
        tree = grow(made / "big", BIG, seed=1, scale=scale_for(BIG, BIG_SECONDS))
        yield tree


@pytest.fixture(scope="session")
def middle() -> Iterator[Tree]:
    """Some hundred files, for faults that need no crowd."""
    with workplace() as made:
        yield grow(made / "middle", MIDDLE, seed=2, scale=1.0)


def begin(there: Instance, folder: Path, *, mode: str = "in_place") -> int:
    """Ask the running instance for an import; the number of its batch."""
    done = there.run("import", str(folder), "--as", mode, "--json")
    assert done.returncode == 0, done.stderr
    batch: int = json.loads(done.stdout)["batch"]
    return batch
