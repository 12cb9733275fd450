"""One running instance for the journeys that need one, and small folders to bring in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.instance import Instance, instance, workplace
from tests.journeys.tree import Shares, Tree, grow


SMALL = Shares(small=24, webp=1, jpeg=1, png=1, duplicates=4, broken=5, skipped=4)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder for one journey."""
    with workplace() as made:
        yield made


@pytest.fixture
def tree(place: Path) -> Tree:
    """A folder full of files whose fate is known."""
    return grow(place / "pictures", SMALL, seed=7, scale=0.1)


@pytest.fixture(scope="module")
def running() -> Iterator[Instance]:
    """An instance that several journeys share; each brings folders of its own."""
    with workplace() as made, instance(made) as there:
        yield there.start()
