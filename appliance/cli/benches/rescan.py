"""A second look at a large folder in which nothing changed: stat alone, nothing is opened."""

from __future__ import annotations

import time
from typing import Any

from appliance.cli.benches import batches, database, pictures
from appliance.cli.benches.database import Look
from appliance.cli.benches.frame import Check, at_most
from appliance.cli.benches.instance import BenchBroke, instance
from appliance.cli.benches.opened import counting
from appliance.cli.benches.stage import Stage


FILES, QUICK_FILES = 200_000, 20_000
RESCAN_S = 60.0
LIMIT = 900.0


def measure(stage: Stage) -> tuple[dict[str, Any], list[Check]]:
    """Walk once, note all files as imported without reading them, and walk again."""
    count = QUICK_FILES if stage.quick else FILES
    stage.tell(f"writes {count:,} files")
    folder = stage.work / "rescan"
    pictures.empty(folder, count)
    with instance(stage.work, "rescan-instance", pause="import") as subject:
        subject.start()
        settings = subject.ready()
        with database.looking(settings) as look:
            stage.tell("walks through them twice")
            begun = time.time()
            batches.read(settings, folder)
            look.until("SELECT count(*) = 1 FROM import_batch WHERE walked_at IS NOT NULL", limit=LIMIT)
            first = look.value("SELECT extract(epoch FROM max(walked_at))::float8 FROM import_batch") - begun
            _settle(look, count)
            with counting(folder) as opened:
                begun = time.time()
                batches.read(settings, folder)
                batch = batches.wait(look, limit=LIMIT)
                files_opened = opened()
    if batch["unchanged"] != count:
        raise BenchBroke(f"Only {batch['unchanged']} of {count} files were found unchanged")
    seconds = round(batch["finished"] - begun, 2)
    figures = {
        "files": count,
        "first_walk_s": round(first, 2),
        "rescan_s": seconds,
        "hashed": batch["hashed"],
        "decoded": batch["decoded"],
        "opened": files_opened,
    }
    return {"rescan": figures}, [
        at_most(f"rescan of {count} unchanged files, s", seconds, RESCAN_S),
        at_most("files opened, hashed or decoded by it", _touched(figures), 0),
    ]


def _touched(figures: dict[str, Any]) -> int:
    return sum(int(figures[name] or 0) for name in ("opened", "hashed", "decoded"))


def _settle(look: Look, count: int) -> None:
    """As if the import had been through all of them."""
    if look.value("SELECT count(*) FROM root_entry WHERE outcome = 'pending'") != count:
        raise BenchBroke("The first walk did not find all files")
    look.change("DELETE FROM import_task")
    look.change("UPDATE root_entry SET outcome = 'imported', sha256 = sha256(path)")
    look.change("UPDATE import_batch SET status = 'done', finished_at = now(), imported = files")
    look.change("VACUUM ANALYZE root_entry")
