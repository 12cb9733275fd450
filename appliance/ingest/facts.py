"""What happens during ingest that lanes care about."""

from __future__ import annotations

from dataclasses import dataclass

from appliance.core.facts import Fact


@dataclass(frozen=True, slots=True)
class ScanQueued(Fact):
    """A batch waits for its walk."""


@dataclass(frozen=True, slots=True)
class FilesFound(Fact):
    """Import tasks wait."""


@dataclass(frozen=True, slots=True)
class ImportsRested(Fact):
    """A pass over waiting files ended; what waits for calm may look whether there is any."""
