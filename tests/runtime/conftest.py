"""A directory for an instance, and one undisturbed instance that several tests look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.running import Instance, instance, place


@pytest.fixture
def data() -> Iterator[Path]:
    """Where a data directory may be made."""
    with place() as folder:
        yield folder


@pytest.fixture(scope="module")
def standing() -> Iterator[Instance]:
    """An instance that is up; whoever disturbs it waits until it is whole again."""
    with place() as folder, instance(folder) as running:
        yield running
