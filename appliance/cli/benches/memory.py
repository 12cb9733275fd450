"""What an always-on box keeps of a large import (A113): memory at rest afterwards, beside that before."""

from __future__ import annotations

import time
from typing import Any

from appliance.cli.benches import batches, database, pictures, processes
from appliance.cli.benches.database import Look
from appliance.cli.benches.frame import Frame, at_most
from appliance.cli.benches.instance import BenchBroke, Instance, instance
from appliance.cli.benches.stage import Stage


ABOVE_IDLE_MB = 150.0
FILES, QUICK_FILES, PATTERNS, QUICK_PATTERNS = 2_000, 60, 150, 20
REST_S, QUICK_REST_S = 60.0, 10.0
# Previews are drawn when imports rest, which takes longer than the import itself.
LIMIT = 3600.0
_NOBODY_WORKS = f"{batches.NOTHING_WAITS} AND NOT EXISTS (SELECT 1 FROM task_run WHERE status = 'running')"
PARTS = ("import",)


def measure(stage: Stage, frame: Frame) -> None:
    """Rest, import 2,000 pictures of 12 MP and draw their previews, rest again."""
    stage.chosen(PARTS)
    count = QUICK_FILES if stage.quick else FILES
    stage.tell(f"writes {count:,} pictures of 12 MP")
    folder = stage.work / "large"
    patterns = pictures.photos(stage.cache, QUICK_PATTERNS if stage.quick else PATTERNS)
    pictures.many(folder, patterns, count)
    with instance(stage.work, "memory") as subject:
        subject.start()
        subject.set_up()
        settings = subject.ready()
        with database.looking(settings) as look:
            before = _at_rest(stage, subject, look)
            stage.tell("imports them")
            batches.read(settings, folder)
            look.until("SELECT imported > 0 FROM import_batch", limit=LIMIT)
            working = processes.memory(subject.processes())
            if (came_in := batches.wait(look, limit=LIMIT)["imported"]) != count:
                raise BenchBroke(f"{came_in} of {count} pictures came in")
            after = _at_rest(stage, subject, look)
    above = round(sum(after.values()) - sum(before.values()), 1)
    frame.add(
        _figures(count, before, working, after),
        [at_most("at rest after by before, MB", above, ABOVE_IDLE_MB)],
    )


def _at_rest(stage: Stage, subject: Instance, look: Look) -> dict[str, float]:
    """Memory of all processes when for a minute nothing has had anything to do."""
    stage.tell("rests")
    rest = QUICK_REST_S if stage.quick else REST_S
    look.until(_NOBODY_WORKS, limit=LIMIT)
    time.sleep(rest)
    return processes.memory(subject.processes())


def _figures(
    count: int, before: dict[str, float], working: dict[str, float], after: dict[str, float]
) -> dict[str, Any]:
    return {
        "files": count,
        "before_mb": round(sum(before.values()), 1),
        "working_mb": round(sum(working.values()), 1),
        "after_mb": round(sum(after.values()), 1),
        "before_by_process_mb": before,
        "working_by_process_mb": working,
        "after_by_process_mb": after,
    }
