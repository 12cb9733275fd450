"""Free room for data: on a full disk nothing new begins, and no file is to blame for it."""

from __future__ import annotations

import asyncio
import shutil

from appliance.core.drains import Interrupted
from appliance.core.settings import Settings


MIB = 1024 * 1024
SCANT = 16 * MIB
"""Room that servers and renditions need at any moment, also where the floor was set to nothing."""
PAUSE_S = 2.0
"""Until the supervisor has seen the disk, a file that goes back is taken again at once."""


def plain(size: int) -> str:
    """Free space as people read it; fine enough to tell what is below a limit from the limit."""
    return f"{size / 1e6:,.0f} MB" if size < 10e9 else f"{size / 1e9:,.1f} GB"


def spare(settings: Settings) -> int:
    """Bytes above the floor; negative on a disk that counts as full."""
    floor = max(SCANT, settings.disk_floor_mb * MIB)
    return shutil.disk_usage(settings.home.data).free - floor


async def wait_on_full_disk(settings: Settings) -> int:
    """Give the item back, uncounted, when the disk is full; else answer how much room there is."""
    room = spare(settings)
    if room < 0:
        await asyncio.sleep(PAUSE_S)
        raise Interrupted
    return room
