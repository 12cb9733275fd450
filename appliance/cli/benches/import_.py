"""Reading a library in: how fast, how soon it can be seen, and what a second look costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from appliance.cli.benches import confined, folder, looking, rescan, throughput
from appliance.cli.benches.frame import Check, Frame
from appliance.cli.benches.stage import Stage


Part = Callable[[Stage], tuple[dict[str, Any], list[Check]]]
PARTS: dict[str, Part] = {
    "throughput": throughput.measure,
    "decoding": confined.measure,
    "folder": folder.measure,
    "opening": looking.measure,
    "rescan": rescan.measure,
}


def measure(stage: Stage, frame: Frame) -> None:
    """All parts, or those that were asked for."""
    for name in stage.chosen(list(PARTS)):
        frame.add(*PARTS[name](stage))
