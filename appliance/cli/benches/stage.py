"""Where a bench works and how thoroughly."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from appliance.core.errors import Invalid


ASSETS = 200_000


@dataclass(frozen=True, slots=True)
class Stage:
    """What a bench was given."""

    work: Path
    cache: Path
    quick: bool
    only: frozenset[str]
    assets: int = ASSETS
    """How large the library of the gallery is."""

    def chosen(self, parts: Sequence[str]) -> list[str]:
        """The parts to measure, in order; an unknown one is refused."""
        if unknown := sorted(self.only - set(parts)):
            raise Invalid(f"There is no part {unknown[0]!r}", f"Parts: {', '.join(parts)}.")
        return [part for part in parts if not self.only or part in self.only]

    def tell(self, text: str) -> None:
        """Say on stderr what happens; stdout belongs to the result."""
        sys.stderr.write(f"  {text} …\n")
        sys.stderr.flush()


def default_cache() -> str:
    """Outside the clone, and where other accounts can read when we are root."""
    if os.geteuid() == 0:
        return "/var/cache/vitrine-bench"
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "vitrine-bench")


def median(values: Sequence[float]) -> float:
    """The median, rounded to what a clock can know."""
    return round(statistics.median(values), 4)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that a share of all do not exceed."""
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2)


def spread(values: Sequence[float]) -> list[float]:
    """All rounds, so that a reader sees the noise."""
    return [round(v, 3) for v in values]
