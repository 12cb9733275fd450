"""The whole import beside the bare loop: what queues, database and recovery cost on top of the pictures."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.cli.benches import bare, batches, database, pictures, processes
from appliance.cli.benches.bare import Loop
from appliance.cli.benches.frame import Check, at_least
from appliance.cli.benches.instance import instance
from appliance.cli.benches.stage import Stage, median, spread
from appliance.core.settings import Settings


SHARE = 0.8
# What happens once for each process (connections, plans) is a tenth of a short run and nothing of a real one.
FILES, QUICK_FILES = 400, 60
ROUNDS, QUICK_ROUNDS = 4, 2
# Until what an instance does at its start is over.
CALM_S = 2.0
LIMIT = 600.0


@dataclass(frozen=True, slots=True)
class Pass:
    """One import by a new instance."""

    seconds: float
    """From the moment that the wish stands in the database to the end of the last file.

    Whatever asks for it (here this process, whose first connection takes its time) is not the import.
    """
    file_ms: float
    """Mean time of one file in hand."""
    cpu_ms: dict[str, float]
    """Processor milliseconds for one file, by process."""


def measure(stage: Stage) -> tuple[dict[str, Any], list[Check]]:
    """Alternating rounds on the same files; each import begins with an empty library."""
    photos = pictures.photos(stage.cache, QUICK_FILES if stage.quick else FILES)
    folder = pictures.laid_out(stage.work / "throughput", photos)
    loops: list[Loop] = []
    passes: list[Pass] = []
    for number in range(QUICK_ROUNDS if stage.quick else ROUNDS):
        stage.tell(f"import beside the bare loop, round {number + 1}")
        # In memory for both: this compares work, not disks.
        size = sum(len(photo.read_bytes()) for photo in photos)
        if number % 2 == 0:
            loops.append(bare.loop(photos, stage.work, Settings().decoders))
        passes.append(_import(stage, folder, len(photos), number))
        if number % 2 == 1:
            loops.append(bare.loop(photos, stage.work, Settings().decoders))
    shares = [loop.seconds / imported.seconds for loop, imported in zip(loops, passes, strict=True)]
    figures = _figures(loops, passes, shares, len(photos)) | {"mean_mb": round(size / len(photos) / 1e6, 2)}
    return {"throughput": figures}, [at_least("import, share of the bare loop", median(shares), SHARE)]


def _import(stage: Stage, folder: Path, count: int, number: int) -> Pass:
    with instance(stage.work, f"throughput-{number}") as subject:
        subject.start()
        settings = subject.ready()
        time.sleep(CALM_S)
        with database.looking(settings) as look:
            before = processes.cpu(subject.processes())
            batches.read(settings, folder)
            look.until("SELECT count(*) = $1 FROM import_task WHERE status = 'complete'", count, limit=LIMIT)
            after = processes.cpu(subject.processes())
            ends = look.row(
                "SELECT extract(epoch FROM max(t.finished_at) - min(b.queued_at))::float8 AS seconds,"
                " avg(t.milliseconds)::float8 AS mean"
                " FROM import_task t JOIN import_batch b ON b.id = t.batch_id"
            )
    spent = {name: round((after[name] - before.get(name, 0)) * 1000 / count, 2) for name in after}
    return Pass(ends["seconds"], ends["mean"], spent)


def _figures(loops: list[Loop], passes: list[Pass], shares: list[float], count: int) -> dict[str, Any]:
    cpu = [sum(p.cpu_ms.values()) for p in passes]
    return {
        "files": count,
        "share_rounds": spread(shares),
        # By processor time alone: what remains comparable on a machine that others use as well.
        "share_of_cpu": median([loop.cpu_ms / spent for loop, spent in zip(loops, cpu, strict=True)]),
        "import_files_s": median([count / p.seconds for p in passes]),
        "bare_files_s": median([count / loop.seconds for loop in loops]),
        "import_file_ms": median([p.file_ms for p in passes]),
        "import_cpu_ms": {n: median([p.cpu_ms[n] for p in passes]) for n in passes[0].cpu_ms},
        "import_cpu_sum_ms": median(cpu),
        "bare_cpu_ms": median([loop.cpu_ms for loop in loops]),
        "bare_stages_ms": {n: median([loop.stages[n] for loop in loops]) for n in loops[0].stages},
    }
