"""Opening a picture that has no preview yet: how long until it is sharp."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PIL import Image

from appliance.cli.benches import batches, database, pictures, processes
from appliance.cli.benches.database import Look
from appliance.cli.benches.frame import Check, at_most
from appliance.cli.benches.instance import BenchBroke, Instance, instance
from appliance.cli.benches.reader import Reader
from appliance.cli.benches.stage import Stage, median, spread
from appliance.media.wire import FITS, PREVIEW


SHARP_MS = 500.0
TIMES, QUICK_TIMES = 15, 5
FROM_REST = 5
FIRST, QUICK_FIRST = 40, 20
ALL, QUICK_ALL = 150, 60
LIMIT = 600.0
WIDTH = FITS[PREVIEW].width


@dataclass(slots=True)
class Visit:
    """A signed-in visitor and the assets that were not opened yet."""

    subject: Instance
    look: Look
    reader: Reader
    fresh: list[int]

    def open(self) -> float:
        """Milliseconds from the click to the bytes of the sharp picture: the page, then its preview."""
        asset = self.fresh.pop()
        self.look.change(
            "UPDATE rendition SET status = 'pending', priority = 5, finished_at = NULL, bytes = NULL"
            " WHERE asset_id = $1 AND name = 'preview' AND status <> 'processing'",
            asset,
        )
        begun = time.monotonic()
        self.reader.get(f"/asset/{asset}")
        body = self.reader.get(f"/media/{asset}/preview")
        spent = (time.monotonic() - begun) * 1000
        with Image.open(io.BytesIO(body)) as picture:
            if max(picture.size) != WIDTH:
                raise BenchBroke(f"The preview is {picture.size[0]}x{picture.size[1]}, not sharp")
        return spent

    def each(self, times: int, before: Callable[[], None] = lambda: None) -> list[float]:
        """Open that many, one after the other."""
        spent = []
        for _ in range(min(times, len(self.fresh))):
            before()
            spent.append(self.open())
        return spent

    def end_decoders(self) -> None:
        """As after a minute of rest; an idle decoder costs nobody anything when it ends."""
        for pid, owner in self.subject.processes().items():
            if owner == processes.DECODERS:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.5)


def measure(stage: Stage) -> tuple[dict[str, Any], list[Check]]:
    """At rest, with no decoder running, and while an import has all decoders at work."""
    first = QUICK_FIRST if stage.quick else FIRST
    photos = pictures.photos(stage.cache, QUICK_ALL if stage.quick else ALL)
    known = pictures.laid_out(stage.work / "opening-known", photos[:first])
    other = pictures.laid_out(stage.work / "opening-other", photos[first:])
    with instance(stage.work, "opening") as subject:
        stage.tell("opens pictures")
        subject.start(known)
        reader = subject.set_up()
        settings = subject.ready()
        with database.looking(settings) as look:
            look.until("SELECT EXISTS (SELECT 1 FROM asset)", limit=LIMIT)
            look.until(batches.NOTHING_WAITS, limit=LIMIT)
            visit = Visit(subject, look, reader, _assets(look))
            calm = visit.each(QUICK_TIMES if stage.quick else TIMES)
            rested = visit.each(FROM_REST, visit.end_decoders)
            batches.read(settings, other)
            look.until("SELECT count(*) > $1 FROM asset", first + 5, limit=LIMIT)
            busy = visit.each(QUICK_TIMES if stage.quick else TIMES)
            importing = not look.value(batches.IDLE)
    figures = {
        "calm_ms": median(calm),
        "calm_rounds_ms": spread(calm),
        "from_rest_ms": median(rested),
        "from_rest_rounds_ms": spread(rested),
        "importing_ms": median(busy),
        "importing_rounds_ms": spread(busy),
        "imported_throughout": importing,
    }
    checks = [at_most("opening a 12 MP picture without preview, ms", median(calm), SHARP_MS)]
    return {"opening": figures}, checks


def _assets(look: Look) -> list[int]:
    found: list[int] = look.value("SELECT array_agg(id ORDER BY id) FROM asset")
    return found
