"""A directory for an instance, and one undisturbed instance that several tests look at."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.running import Instance, instance, place


@pytest.fixture
def data() -> Iterator[Path]:
    """Where a data directory may be made."""
    with place() as folder:
        yield folder


@pytest.fixture(scope="session")
def template() -> Iterator[Path]:
    """A data directory that was in use once and was stopped in order."""
    with place() as folder:
        with instance(folder):
            pass
        yield folder


@pytest.fixture
def used(template: Path) -> Iterator[Path]:
    """A copy of it, for tests that are not about a first start: making a cluster takes seconds."""
    with place() as folder:
        subprocess.run(["cp", "-a", "--reflink=auto", str(template), str(folder)], check=True)
        (folder / "notes").unlink()
        yield folder


@pytest.fixture(scope="module")
def standing() -> Iterator[Instance]:
    """An instance that is up; whoever disturbs it waits until it is whole again."""
    with place() as folder, instance(folder) as running:
        yield running
