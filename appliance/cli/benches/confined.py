"""Decoding in confined children beside decoding without any: what limits, channel and recycling cost."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from appliance.cli.benches import bare, pictures
from appliance.cli.benches.frame import Check, at_least
from appliance.cli.benches.stage import Stage, median, spread
from appliance.core.paths import Home
from appliance.core.settings import Settings
from appliance.media.decoder import DecodePool
from appliance.media.wire import GRID_240, GRID_480, Wanted


SHARE = 0.85
PHOTOS, QUICK_PHOTOS = 100, 40
# A photo of a phone's messenger beside each of a camera: the smaller a file, the more a message weighs.
SMALL = (1280, 960)
ROUNDS, QUICK_ROUNDS = 4, 2


def measure(stage: Stage) -> tuple[dict[str, Any], list[Check]]:
    """Alternating rounds on the same files, by the same number of processes that start anew each time."""
    count = QUICK_PHOTOS if stage.quick else PHOTOS
    files = [*pictures.photos(stage.cache, count), *pictures.photos(stage.cache, count, SMALL)]
    processes = Settings().decoders
    shares = []
    for number in range(QUICK_ROUNDS if stage.quick else ROUNDS):
        stage.tell(f"confined decoding beside the bare loop, round {number + 1}")
        first = bare.loop(files, stage.work, processes).seconds if number % 2 == 0 else None
        confined = asyncio.run(_confined(files, stage.work / f"confined-{number}", processes))
        plain = first if first is not None else bare.loop(files, stage.work, processes).seconds
        shares.append(plain / confined)
    figures = {"files": len(files), "share_rounds": spread(shares), "processes": processes}
    return {"decoding": figures}, [
        at_least("confined decoding, share of the bare loop", median(shares), SHARE)
    ]


async def _confined(files: list[Path], work: Path, processes: int) -> float:
    """Seconds until the children have hashed, decoded and drawn all files, their start included."""
    pool, home, waiting = DecodePool(processes), Home(work), iter(files)
    begun = time.monotonic()
    try:
        await asyncio.gather(*(_work(pool, home, waiting) for _ in range(processes)))
    finally:
        spent = time.monotonic() - begun
        await pool.close()
    return spent


async def _work(pool: DecodePool, home: Home, waiting: Iterator[Path]) -> None:
    for path in waiting:
        async with pool.child() as child:
            read = await child.read(os.fsencode(path))
            await child.decode(
                [
                    Wanted.named(name, os.fsencode(home.rendition(read.sha256, name)))
                    for name in (GRID_240, GRID_480)
                ]
            )
