"""Memory and processor time of an instance's own processes, by what they are."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from appliance.runtime import proc


DECODER = "appliance.media.child"
TICKS = os.sysconf("SC_CLK_TCK")
SUPERVISOR, DECODERS = "supervisor", "decoders"
# The processes whose memory could grow with the library; the database's cache grows by design.
WORKERS = frozenset({"web", "quick", "heavy", "long", DECODERS})


def tree(root: int, named: Mapping[int, str]) -> dict[int, str]:
    """All processes below and including the supervisor; each belongs to its nearest named ancestor."""
    offspring: dict[int, list[int]] = {}
    for pid in proc.everyone():
        offspring.setdefault(proc.parent_of(pid), []).append(pid)
    return dict(_below(root, SUPERVISOR, named, offspring))


def _below(
    pid: int, owner: str, named: Mapping[int, str], offspring: Mapping[int, list[int]]
) -> Iterator[tuple[int, str]]:
    owner = DECODERS if DECODER in _command(pid) else named.get(pid, owner)
    yield pid, owner
    for child in offspring.get(pid, ()):
        yield from _below(child, owner, named, offspring)


def _command(pid: int) -> str:
    try:
        return (proc.PROC / str(pid) / "cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def memory(owners: Mapping[int, str]) -> dict[str, float]:
    """Proportional memory in MB: what is shared counts once, divided among those who share it."""
    total: Counter[str] = Counter()
    for pid, owner in owners.items():
        total[owner] += _pss_kb(pid)
    return {name: round(kb / 1024, 1) for name, kb in sorted(total.items())}


def _pss_kb(pid: int) -> int:
    try:
        text = (proc.PROC / str(pid) / "smaps_rollup").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        # It ended meanwhile; a refusal is not caught, since a part left out would flatter the sum.
        return 0
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))


def cpu(owners: Mapping[int, str]) -> dict[str, float]:
    """Processor seconds that the processes and their ended children have used so far."""
    total: Counter[str] = Counter()
    for pid, owner in owners.items():
        total[owner] += _ticks(proc.PROC / str(pid) / "stat")
    return {name: ticks / TICKS for name, ticks in sorted(total.items())}


def _ticks(stat: Path) -> int:
    try:
        fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(field) for field in fields[11:15])
