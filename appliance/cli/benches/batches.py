"""Asking an instance under measurement to read a folder, and waiting for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from appliance.cli import opening
from appliance.cli.benches.database import Look
from appliance.cli.benches.instance import BenchBroke
from appliance.core.settings import Settings


LIVE = "status IN ('pending', 'walking', 'importing')"
IDLE = f"SELECT NOT EXISTS (SELECT 1 FROM import_batch WHERE {LIVE})"
NOTHING_WAITS = f"{IDLE} AND NOT EXISTS (SELECT 1 FROM rendition WHERE status IN ('pending', 'processing'))"
LAST = (
    "SELECT id, files, imported, duplicate, unchanged, failed, skipped, hashed, decoded,"
    " extract(epoch FROM queued_at)::float8 AS queued, extract(epoch FROM finished_at)::float8 AS finished"
    " FROM import_batch ORDER BY id DESC LIMIT 1"
)


def read(settings: Settings, folder: Path) -> None:
    """Add a folder as `vitrine up FOLDER` does beside a running instance."""
    said = opening.add_folders(settings, [bytes(folder)])
    if not said[0].startswith("Reading"):
        raise BenchBroke(said[0])


def wait(look: Look, *, limit: float) -> dict[str, Any]:
    """Until every batch is over; the counters of the last one."""
    look.until(IDLE, limit=limit)
    batch = look.row(LAST)
    if batch["failed"]:
        raise BenchBroke(f"{batch['failed']} files of the bench failed to import")
    return batch
