"""Where the program and its data lie."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


PROJECT = Path(__file__).resolve().parents[2]
TEMPLATES = PROJECT / "templates"
STATIC = PROJECT / "static"
MIGRATIONS = PROJECT / "migrations"


@dataclass(frozen=True, slots=True)
class Home:
    """The data directory and the places inside it."""

    data: Path

    @property
    def instance(self) -> Path:
        """Identity of the installation; its presence makes a directory ours."""
        return self.data / "instance.json"

    @property
    def lock(self) -> Path:
        """Held by the one supervisor of this directory."""
        return self.data / "lock"

    @property
    def run(self) -> Path:
        """State of the running instance: process ids, health, flags."""
        return self.data / "run"

    @property
    def pg(self) -> Path:
        """The embedded database cluster."""
        return self.data / "pg"

    @property
    def originals(self) -> Path:
        """Files that were copied or moved into the library."""
        return self.data / "originals"

    @property
    def uploads(self) -> Path:
        """Files that are being sent to us, and sent ones that could not be imported."""
        return self.data / "uploads"

    @property
    def renditions(self) -> Path:
        """Derived pictures, all of which can be made again."""
        return self.data / "renditions"

    @property
    def tmp(self) -> Path:
        """Unfinished files; whatever is older than an hour is swept."""
        return self.data / "tmp"

    @property
    def logs(self) -> Path:
        """Logs of the servers."""
        return self.data / "logs"

    @property
    def imports_paused(self) -> Path:
        """Exists while imports must wait (a full disk); holds the reason as JSON."""
        return self.run / "imports_paused"

    def rendition(self, sha256: bytes, name: str) -> Path:
        """Place of one derived picture: by content, so that a repeated import writes the same file."""
        text = sha256.hex()
        return self.renditions / text[:2] / text[2:4] / text / rendition_file(name)

    def original(self, sha256: bytes, extension: str) -> Path:
        """Place of a stored original, by content."""
        text = sha256.hex()
        return self.originals / text[:2] / text[2:4] / f"{text}{extension}"


def rendition_file(name: str) -> str:
    """The file name of a derived picture; a full size comes in one of several formats."""
    return name + {"play": ".mp4", "full": ""}.get(name, ".webp")


def default_data() -> Path:
    """The data directory that is used when none is named."""
    if os.geteuid() == 0:
        return Path("/var/lib/vitrine")
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "vitrine"
