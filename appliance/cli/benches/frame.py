"""What every bench answers: the machine, its figures, and the checks against the budgets."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


GIB = 1 << 30
NO_MODEL = "unknown"


@dataclass(frozen=True, slots=True)
class Check:
    """One figure against its budget."""

    name: str
    value: float
    limit: float
    ok: bool
    sign: str = "≤"

    def plain(self) -> dict[str, Any]:
        """As it stands in the JSON."""
        return {"name": self.name, "value": self.value, "limit": self.limit, "ok": self.ok}


def at_most(name: str, value: float, limit: float) -> Check:
    """A budget that must not be exceeded."""
    return Check(name, value, limit, ok=value <= limit, sign="≤")


def at_least(name: str, value: float, limit: float) -> Check:
    """A budget that must be reached."""
    return Check(name, value, limit, ok=value >= limit, sign="≥")


@dataclass(slots=True)
class Frame:
    """One bench's answer."""

    name: str
    machine: dict[str, Any]
    figures: dict[str, Any] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)

    @property
    def status(self) -> int:
        """The exit status: 1 when a budget does not hold, or nothing was checked."""
        return 0 if self.checks and all(c.ok for c in self.checks) else 1

    def add(self, figures: dict[str, Any], checks: Iterable[Check] = ()) -> None:
        """Take in one part's results."""
        self.figures |= figures
        self.checks += checks

    def plain(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "name": self.name,
            "machine": self.machine,
            "figures": self.figures,
            "checks": [c.plain() for c in self.checks],
        }


def machine() -> dict[str, Any]:
    """What the figures were measured on; nothing that names the host."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": _cpu_model(),
        "cores": cores(),
        "memory_gb": round(memory / GIB, 1),
        "python": platform.python_version(),
        "kernel": platform.release(),
    }


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or NO_MODEL
    found = (line.partition(":")[2].strip() for line in lines if line.lower().startswith("model name"))
    return next(found, platform.processor() or NO_MODEL)


def table(frame: Frame) -> str:
    """The same for people: figures, then checks."""
    about = frame.machine
    head = f"{frame.name}: {about['cores']} cores, {about['memory_gb']} GB, Python {about['python']}"
    rows = [*_flat(frame.figures)]
    width = max((len(name) for name, _ in rows), default=0)
    lines = [head, *(f"  {name:<{width}}  {_short(value)}" for name, value in rows)]
    return "\n".join([*lines, *(_verdict(c) for c in frame.checks)])


def _verdict(check: Check) -> str:
    word = "ok  " if check.ok else "FAIL"
    return f"{word}  {check.name}: {_short(check.value)} ({check.sign} {_short(check.limit)})"


def _flat(figures: dict[str, Any], above: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in figures.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " ".join(_short(v) for v in value)
    return f"{value:,}" if isinstance(value, int) else str(value)
