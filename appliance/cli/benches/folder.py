"""A large folder: how soon its first pictures are on screen, and whether memory grows while it is read."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from appliance.cli.benches import database, pictures, processes
from appliance.cli.benches.database import Look
from appliance.cli.benches.frame import Check, at_most
from appliance.cli.benches.instance import BenchBroke, Instance, instance
from appliance.cli.benches.reader import Reader
from appliance.cli.benches.stage import Stage


FILES, QUICK_FILES, PATTERNS = 10_000, 2_000, 50
SHOWN, SHOWN_S = 100, 10.0
EARLY, LATE, QUICK_EARLY, QUICK_LATE = 1_000, 5_000, 500, 1_500
GROWTH = 1.10
SAMPLES, BETWEEN_S = 7, 0.5
# As often as a person could notice a difference.
GLANCE_S = 0.1
LIMIT = 1200.0


def measure(stage: Stage) -> tuple[dict[str, Any], list[Check]]:
    """First with an installation that exists, then as the very first thing that somebody does."""
    stage.tell("writes a large folder")
    place = stage.work / "folder"
    patterns = pictures.photos(stage.cache, PATTERNS, pictures.TWO_MP)
    pictures.many(place, patterns, QUICK_FILES if stage.quick else FILES)
    stage.tell("waits for its first pictures")
    cold = _first_ever(stage, place)
    with instance(stage.work, "folder-warm") as subject:
        subject.start()
        reader = subject.set_up()
        subject.ready()
        subject.stop()
        subject.start(place)
        subject.first_page()
        warm = _shown(subject, reader)
        with database.looking(subject.ready()) as look:
            stage.tell("reads on")
            growth = _growth(stage, subject, look)
            rate = _rate(look)
    figures = {"first_100_s": round(warm, 2), "first_100_first_start_s": round(cold, 2), "files_s": rate}
    return {"folder": figures | growth}, [
        at_most("first 100 pictures of a large folder on screen after up, s", round(warm, 2), SHOWN_S),
        at_most("memory of the workers, late by early", growth["growth"], GROWTH),
    ]


def _first_ever(stage: Stage, place: Path) -> float:
    """No database yet, no account yet."""
    with instance(stage.work, "folder-cold") as subject:
        subject.start(place)
        subject.first_page("/setup")
        return _shown(subject, subject.set_up())


def _shown(subject: Instance, reader: Reader) -> float:
    """Seconds from the start until a signed-in visitor holds the bytes of a hundred pictures."""
    held: set[int] = set()
    while len(held) < SHOWN:
        if subject.since_start() > LIMIT:
            raise BenchBroke(f"Only {len(held)} pictures after {LIMIT:g} s")
        for asset, address in reader.grid().items():
            if asset not in held and reader.get(address):
                held.add(asset)
        if len(held) < SHOWN:
            time.sleep(GLANCE_S)
    return subject.since_start()


def _growth(stage: Stage, subject: Instance, look: Look) -> dict[str, Any]:
    early = _memory_at(subject, look, QUICK_EARLY if stage.quick else EARLY)
    late = _memory_at(subject, look, QUICK_LATE if stage.quick else LATE)
    before, after = sum(early.values()), sum(late.values())
    return {
        "early_mb": round(before, 1),
        "late_mb": round(after, 1),
        "growth": round(after / before, 3),
        "early_by_process_mb": early,
        "late_by_process_mb": late,
    }


def _memory_at(subject: Instance, look: Look, count: int) -> dict[str, float]:
    """Medians over some seconds, since each decoder's memory goes up and down with its file."""
    look.until("SELECT imported >= $1 FROM import_batch", count, limit=LIMIT)
    taken = []
    for _ in range(SAMPLES):
        taken.append(processes.memory(subject.processes()))
        time.sleep(BETWEEN_S)
    names = processes.WORKERS & set(taken[0])
    return {n: round(statistics.median(t.get(n, 0.0) for t in taken), 1) for n in sorted(names)}


def _rate(look: Look) -> float:
    """Files a second while all of it worked, the visitor included."""
    ends = look.row(
        "SELECT count(*) AS files, extract(epoch FROM max(finished_at) - min(finished_at))::float8 AS seconds"
        " FROM import_task WHERE status = 'complete'"
    )
    return round(float(ends["files"] / ends["seconds"]), 1)
