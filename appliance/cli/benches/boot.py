"""How fast an instance starts and stops, and what it takes when it has nothing to do."""

from __future__ import annotations

import time
from typing import Any

from appliance.cli.benches import database, pictures, processes
from appliance.cli.benches.database import Look
from appliance.cli.benches.frame import Check, Frame, at_most
from appliance.cli.benches.instance import Instance, instance
from appliance.cli.benches.stage import Stage, median, spread


COLD_S, WARM_S, STOP_S, IDLE_MB = 12.0, 2.5, 10.0, 450.0
IDLE_AFTER_S, QUICK_IDLE_AFTER_S = 60.0, 10.0
COLD_ROUNDS, WARM_ROUNDS, QUICK_ROUNDS = 3, 7, 1
PICTURES = 24
PARTS = ("cold", "warm", "idle")


def measure(stage: Stage, frame: Frame) -> None:
    """Cold starts, warm starts, stops, and the memory of an instance at rest."""
    chosen = stage.chosen(PARTS)
    if "cold" in chosen:
        stage.tell("cold starts")
        frame.add(*_cold(stage))
    if "warm" in chosen or "idle" in chosen:
        with instance(stage.work, "warm") as subject:
            # The first life of this directory is made here, so that the next ones are warm.
            subject.start()
            subject.set_up()
            subject.ready()
            subject.stop()
            if "warm" in chosen:
                stage.tell("warm starts")
                frame.add(*_warm(stage, subject))
            if "idle" in chosen:
                frame.add(*_idle(stage, subject))


def _cold(stage: Stage) -> tuple[dict[str, Any], list[Check]]:
    times = []
    for number in range(QUICK_ROUNDS if stage.quick else COLD_ROUNDS):
        with instance(stage.work, f"cold-{number}") as subject:
            subject.start()
            # Without an account /login leads to the set-up page: that is the first page there is.
            times.append(subject.first_page("/setup"))
    figures = {"cold_s": median(times), "cold_rounds_s": spread(times)}
    return figures, [at_most("cold start to the first page, s", median(times), COLD_S)]


def _warm(stage: Stage, subject: Instance) -> tuple[dict[str, Any], list[Check]]:
    pages, readies, stops = [], [], []
    for _ in range(QUICK_ROUNDS if stage.quick else WARM_ROUNDS):
        subject.start()
        pages.append(subject.first_page())
        subject.ready()
        readies.append(subject.since_start())
        stops.append(subject.stop())
    figures = {
        "warm_s": median(pages),
        "warm_rounds_s": spread(pages),
        "workers_s": median(readies),
        "stop_s": median(stops),
        "stop_rounds_s": spread(stops),
    }
    return figures, [
        at_most("warm start to the first page, s", median(pages), WARM_S),
        at_most("stop, s", max(stops), STOP_S),
    ]


def _idle(stage: Stage, subject: Instance) -> tuple[dict[str, Any], list[Check]]:
    """After real work, since memory that work leaves behind is what stays in an always-on box."""
    folder = pictures.laid_out(stage.work / "photos", pictures.photos(stage.cache, PICTURES))
    subject.start(folder)
    subject.first_page()
    with database.looking(subject.ready()) as look:
        stage.tell("imports a folder, then rests")
        _until_nothing_waits(look)
        worked = processes.memory(subject.processes())
        rest = QUICK_IDLE_AFTER_S if stage.quick else IDLE_AFTER_S
        time.sleep(rest)
        rested = processes.memory(subject.processes())
    subject.stop()
    total = round(sum(rested.values()), 1)
    figures = {
        "idle_mb": total,
        "idle_after_s": rest,
        "idle_by_process_mb": rested,
        "after_work_mb": round(sum(worked.values()), 1),
    }
    return figures, [at_most("idle memory of all processes, MB", total, IDLE_MB)]


def _until_nothing_waits(look: Look) -> None:
    look.until("SELECT EXISTS (SELECT 1 FROM asset)", limit=120)
    look.until(
        "SELECT NOT EXISTS (SELECT 1 FROM import_batch WHERE status IN ('pending', 'walking', 'importing'))"
        " AND NOT EXISTS (SELECT 1 FROM rendition WHERE status IN ('pending', 'processing'))",
        limit=600,
    )
