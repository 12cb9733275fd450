"""A small clone with the real bootstrap script, an empty lock and a program that tells what it was given."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from appliance.core.paths import PROJECT


PROGRAM = """
import json, os, sys
print(json.dumps({"words": sys.argv[1:], "cwd": os.getcwd(), "path": sys.path, "prefix": sys.prefix}))
"""


@dataclass(frozen=True)
class Clone:
    """A clone to run verbs in."""

    folder: Path

    @property
    def venv(self) -> Path:
        return self.folder / ".venv"

    def run(self, *words: str, cwd: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the script the way a person does, without any network."""
        return subprocess.run(
            [str(self.folder / "vitrine"), *words],
            cwd=cwd or self.folder,
            env=self.environment(**environ),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def begin(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.folder / "vitrine"), *words],
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def environment(self, **environ: str) -> dict[str, str]:
        base = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "PIP_NO_INDEX": "1"}
        return base | {"VITRINE_PYTHON": sys.executable} | environ

    def lock(self, text: str) -> None:
        for name in ("appliance", "dev"):
            (self.folder / "requirements" / f"{name}.txt").write_text(text)


def new_clone(folder: Path) -> Clone:
    (folder / "requirements").mkdir(parents=True)
    (folder / "appliance").mkdir()
    (folder / "appliance" / "main.py").write_text(PROGRAM)
    shutil.copy2(PROJECT / "vitrine", folder / "vitrine")
    clone = Clone(folder)
    clone.lock("# nothing\n")
    return clone


@pytest.fixture
def fresh() -> Iterator[Clone]:
    """A clone in which nothing was run yet, where every account can read."""
    with tempfile.TemporaryDirectory(prefix="vb-") as folder:
        Path(folder).chmod(0o755)
        yield new_clone(Path(folder) / "a clone")


@pytest.fixture(scope="module")
def used() -> Iterator[Clone]:
    """A clone whose environment exists."""
    with tempfile.TemporaryDirectory(prefix="vb-") as folder:
        Path(folder).chmod(0o755)
        clone = new_clone(Path(folder) / "clone")
        assert clone.run("up").returncode == 0
        yield clone
