"""The books of an instance: what its rows say, what lies on the disk, and whether both agree."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.journeys.instance import Instance


OUTCOMES = ("imported", "duplicate", "unchanged", "moved", "returned", "failed", "skipped")
COUNTERS = ("files", *OUTCOMES, "missing", "stayed")


@dataclass(frozen=True)
class Books:
    """One import as it ended."""

    seconds: float
    """From the wish to the last file."""
    counters: dict[str, int]
    recount: dict[str, int]
    reasons: dict[str, int]
    assets: Counter[bytes]
    work: dict[str, int]
    """hashed, decoded, deliveries, interruptions, crashed, recovered, errors."""

    def report(self) -> dict[str, Any]:
        """What people are told, in the form of `Tree.report`."""
        return {**self.counters, "reasons": self.reasons, "held": None}


def read(instance: Instance, batch: int) -> Books:
    """Read the rows of a running instance whose import is over."""
    row = instance.rows(
        f"SELECT {', '.join(COUNTERS)}, hashed, decoded FROM import_batch WHERE id = $1", batch
    )[0]
    return Books(
        instance.value(_SECONDS, batch),
        {name: row[name] for name in COUNTERS},
        recount(instance, batch),
        {r[0]: r[1] for r in instance.rows(_REASONS, batch)},
        Counter(r[0] for r in instance.rows("SELECT sha256 FROM asset")),
        {"hashed": row["hashed"], "decoded": row["decoded"], **troubles(instance)},
    )


_SECONDS = """
SELECT coalesce(extract(epoch FROM max(t.finished_at) - b.queued_at)::float8, 0)
FROM import_batch b LEFT JOIN import_task t ON t.batch_id = b.id WHERE b.id = $1 GROUP BY b.id
"""
_REASONS = """
SELECT reason, count(*)::int FROM root_entry
WHERE seen_batch = $1 AND outcome IN ('failed', 'skipped') GROUP BY 1
"""
_RECOUNT = """
SELECT coalesce(t.outcome, CASE e.outcome WHEN 'imported' THEN 'unchanged' WHEN 'duplicate' THEN 'unchanged'
       ELSE e.outcome END), count(*)::int
FROM root_entry e LEFT JOIN import_task t ON t.batch_id = $1 AND t.entry_id = e.id
WHERE e.seen_batch = $1 GROUP BY 1
"""


def recount(instance: Instance, batch: int) -> dict[str, int]:
    """The counters of a batch, counted from the rows of its files."""
    found = {row[0]: row[1] for row in instance.rows(_RECOUNT, batch)}
    return {"files": sum(found.values()), "missing": 0, "stayed": 0} | {
        name: found.get(name, 0) for name in OUTCOMES
    }


def troubles(instance: Instance) -> dict[str, int]:
    """Everything that counts against somebody."""
    return dict(instance.rows(_TROUBLES)[0])


_TROUBLES = """
SELECT (SELECT coalesce(sum(deliveries), 0)::int FROM import_task) AS deliveries,
       (SELECT coalesce(sum(interruptions), 0)::int FROM import_task) AS interruptions,
       (SELECT count(*)::int FROM import_task WHERE reason = 'crashed') AS crashed,
       (SELECT count(*)::int FROM task_run WHERE status = 'recovered') AS recovered,
       (SELECT count(*)::int FROM task_run WHERE status = 'error') AS errors
"""


def unfinished(instance: Instance) -> int:
    """How many files wait or are in hand."""
    found: int = instance.patient_value(
        "SELECT count(*)::int FROM import_task WHERE status IN ('pending', 'processing')"
    )
    return found


def disk_faults(instance: Instance) -> list[str]:
    """Files without a row and rows without their file; nothing may be at work meanwhile."""
    home = instance.home
    stored = {os.fsdecode(r[0]): r[1] for r in instance.rows(_STORED)}
    drawn = {f"{_nested(r[0].hex())}/{r[1]}.webp": (r[2], r[3]) for r in instance.rows(_DRAWN)}
    originals, renditions = _sizes(home.originals), _sizes(home.renditions)
    return [
        *(f"original without row: {name}" for name in originals.keys() - stored.keys()),
        *(f"row without original: {name}" for name, size in stored.items() if originals.get(name) != size),
        *(f"rendition without row: {name}" for name in renditions.keys() - drawn.keys()),
        *(
            f"row without rendition: {name}"
            for name, (status, size) in drawn.items()
            if status == "complete" and renditions.get(name) != size
        ),
    ]


_STORED = "SELECT DISTINCT path, size FROM asset_file WHERE root_id IS NULL"
_DRAWN = "SELECT a.sha256, r.name, r.status, r.bytes FROM rendition r JOIN asset a ON a.id = r.asset_id"


def _nested(text: str) -> str:
    return f"{text[:2]}/{text[2:4]}/{text}"


def _sizes(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()
    }


def differences(first: Books, second: Books) -> list[str]:
    """How two imports of the same tree differ in what people see; speed and detours do not count."""
    pairs: list[tuple[str, Any, Any]] = [
        ("counters", first.counters, second.counters),
        ("reasons", first.reasons, second.reasons),
        ("assets", first.assets, second.assets),
        ("hashed", first.work["hashed"], second.work["hashed"]),
    ]
    return [f"{name}: {one} / {other}" for name, one, other in pairs if one != other]
