"""What `main` hands to the runtime, which knows neither pages nor queues."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from appliance.core.settings import Settings


GROUPS = ("quick", "heavy", "long")
# Groups that open files under roots or pack originals; the web process serves in_place originals.
READERS = frozenset({"web", "heavy", "long"})


@dataclass(frozen=True, slots=True)
class Factories:
    """Each runs to its end inside a forked child and brings its own event loop."""

    first_contact: Callable[[Settings], dict[str, Any]]
    """Looks at the database: {state, current, code}; changes nothing but the setup code."""
    preload: Callable[[], None]
    """Reads what all children share (tasks, templates), before the forks."""
    migrate: Callable[[Settings], None]
    web: Callable[[Settings, list[socket.socket]], None]
    group: Callable[[Settings, str], None]
    settle: Callable[[Settings, int, int], None]
    settle_host: Callable[[Settings], None]
    add_folders: Callable[[Settings, list[bytes]], list[str]]
    """Registers folders and queues their scans; answers one line for each."""
