"""Opening a picture that has no preview yet: how long until it is sharp."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
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


@dataclass(frozen=True, slots=True)
class Opened:
    """One opening, and where its milliseconds went."""

    total: float
    stages: dict[str, float]


_MOMENTS = (
    "SELECT extract(epoch FROM claimed_at)::float8 AS claimed,"
    " extract(epoch FROM started_at)::float8 AS started, extract(epoch FROM finished_at)::float8 AS finished"
    " FROM rendition WHERE asset_id = $1 AND name = 'preview'"
)


@dataclass(slots=True)
class Visit:
    """A signed-in visitor and the assets that were not opened yet."""

    subject: Instance
    look: Look
    reader: Reader
    fresh: list[int]

    def open(self) -> Opened:
        """From the click to the bytes of the sharp picture: the page, then its preview."""
        asset = self.fresh.pop()
        self.look.change(
            "UPDATE rendition SET status = 'pending', priority = 5, finished_at = NULL, bytes = NULL"
            " WHERE asset_id = $1 AND name = 'preview' AND status <> 'processing'",
            asset,
        )
        moments = [time.time()]
        self.reader.get(f"/asset/{asset}")
        body = self.reader.get(f"/media/{asset}/preview")
        received = time.time()
        moments += [*self.look.row(_MOMENTS, asset).values(), received]
        with Image.open(io.BytesIO(body)) as picture:
            if max(picture.size) != WIDTH:
                raise BenchBroke(f"The preview is {picture.size[0]}x{picture.size[1]}, not sharp")
        steps = [round((b - a) * 1000, 1) for a, b in pairwise(moments)]
        stages = dict(zip(("until_claimed", "until_begun", "drawn", "until_received"), steps, strict=True))
        return Opened((received - moments[0]) * 1000, stages)

    def each(self, times: int, before: Callable[[], None] = lambda: None) -> list[Opened]:
        """Open that many, one after the other."""
        opened = []
        for _ in range(min(times, len(self.fresh))):
            before()
            opened.append(self.open())
        return opened

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
    figures = {"calm": _figures(calm), "from_rest": _figures(rested), "importing": _figures(busy)}
    figures["importing"]["imported_throughout"] = importing
    checks = [at_most("opening a 12 MP picture without preview, ms", figures["calm"]["ms"], SHARP_MS)]
    return {"opening": figures}, checks


def _figures(opened: list[Opened]) -> dict[str, Any]:
    return {
        "ms": median([o.total for o in opened]),
        "rounds_ms": spread([o.total for o in opened]),
        **{name: median([o.stages[name] for o in opened]) for name in opened[0].stages},
    }


def _assets(look: Look) -> list[int]:
    found: list[int] = look.value("SELECT array_agg(id ORDER BY id) FROM asset")
    return found
