"""A full disk is nobody's fault, and an empty one is nobody's excuse."""

from __future__ import annotations

import pytest

from appliance.core import room
from appliance.core.drains import Interrupted
from appliance.core.settings import Settings


async def test_below_the_floor_the_item_goes_back(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "PAUSE_S", 0.01)
    with pytest.raises(Interrupted):
        await room.wait_on_full_disk(settings.with_(disk_floor_mb=1 << 40))


async def test_above_the_floor_the_room_is_told(settings: Settings) -> None:
    assert await room.wait_on_full_disk(settings.with_(disk_floor_mb=0)) > 0


def test_a_floor_of_nothing_still_leaves_room_for_the_servers(settings: Settings) -> None:
    none, scant = settings.with_(disk_floor_mb=0), settings.with_(disk_floor_mb=room.SCANT // room.MIB)
    assert abs(room.spare(none) - room.spare(scant)) < 256 * room.MIB
