"""How large the pictures of a tree must be so that its import keeps this machine busy long enough."""

from __future__ import annotations

import asyncio
import os
import resource
import tempfile
from pathlib import Path

from appliance.core.settings import Settings
from appliance.media.decoder import DecodePool
from appliance.media.wire import GRID_240, GRID_480, Wanted
from tests.journeys.tree import Shares, grow


SAMPLE = Shares(small=12, webp=3, jpeg=3, png=3)
SMALLEST, LARGEST = 0.2, 6.0


def scale_for(shares: Shares, seconds: float) -> float:
    """The factor for `tree.grow` with which decoding alone takes that long on all decoders together."""
    small = _seconds_each(Shares(small=SAMPLE.small))
    large = {kind: _seconds_each(Shares(small=0, **{kind: 3})) for kind in ("webp", "jpeg", "png")}
    fixed = shares.small * small
    growing = sum(getattr(shares, kind) * cost for kind, cost in large.items())
    wanted = seconds * Settings().decoders - fixed
    return min(LARGEST, max(SMALLEST, wanted / growing))


def _seconds_each(shares: Shares) -> float:
    """Processor time for one file: other work on the machine does not make its pictures smaller."""
    with tempfile.TemporaryDirectory() as place:
        grow(Path(place), shares, seed=3)
        files = [path for path in Path(place).rglob("file-*") if path.is_file()]
        idle = _processor_time([])
        return max(0.001, (_processor_time(files) - idle) / len(files))


def _processor_time(files: list[Path]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    asyncio.run(_decode(files))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


async def _decode(files: list[Path]) -> None:
    pool = DecodePool(1)
    try:
        async with pool.child() as child:
            await child.tier()
            for path in files:
                await child.read(os.fsencode(path))
                out = [(name, os.fsencode(path.with_suffix(f".{name}"))) for name in (GRID_240, GRID_480)]
                await child.decode([Wanted.named(name, place) for name, place in out])
    finally:
        await pool.close()
