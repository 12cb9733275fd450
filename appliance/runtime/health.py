"""What pages and the command line read about the running processes and the disk."""

from __future__ import annotations

import contextlib
import shutil
from typing import Any

from appliance.core import clock, room
from appliance.core.paths import Home
from appliance.runtime.written import read_json, write_json


FILE = "health.json"
MIB = 1024 * 1024


class Disk:
    """Free space of the data directory, and the flag that lets imports wait."""

    def __init__(self, home: Home, floor_mb: int) -> None:
        self._home = home
        self._floor = floor_mb
        self.free_mb = 0
        self.reason = ""

    def check(self) -> bool:
        """Look again; True when imports were paused or resumed by it."""
        self.free_mb = shutil.disk_usage(self._home.data).free // MIB
        # A tenth above the floor to go on: at the floor itself it would flap with every file.
        limit = self._floor if not self.reason else self._floor * 11 // 10
        reason = self._line() if self.free_mb < limit else ""
        changed = bool(reason) != bool(self.reason)
        self.reason = reason
        # The flag may also be that of an earlier life.
        if bool(reason) != self._home.imports_paused.exists():
            self._flag()
        return changed

    def _line(self) -> str:
        free, floor = room.plain(self.free_mb * MIB), room.plain(self._floor * MIB)
        return f"Only {free} are free for Vitrine's data; imports wait for {floor}."

    def _flag(self) -> None:
        if not self.reason:
            self._home.imports_paused.unlink(missing_ok=True)
            return
        with contextlib.suppress(OSError):  # a full disk may refuse even this; the next look tries again
            flag = {"reason": self.reason, "free_mb": self.free_mb, "floor_mb": self._floor, "since": _now()}
            write_json(self._home.imports_paused, flag)


class Health:
    """Writes the health file when something changed, and seldom otherwise."""

    def __init__(self, home: Home) -> None:
        self._path = home.run / FILE
        self._last: dict[str, Any] = {}

    def write(self, processes: list[dict[str, Any]], disk: Disk, *, stopping: bool = False) -> None:
        """Store the state unless the file says the same already."""
        healthy = all(process["state"] == "running" for process in processes)
        value = {
            "state": "stopping" if stopping else "ok" if healthy and not disk.reason else "degraded",
            "processes": processes,
            "disk_free_mb": disk.free_mb,
            "imports_paused_reason": disk.reason or None,
        }
        if _without_noise(value) == _without_noise(self._last):
            return
        with contextlib.suppress(OSError):
            write_json(self._path, value | {"at": _now()})
            self._last = value


def read(home: Home) -> dict[str, Any]:
    """The last written state, empty when nothing ran here."""
    return read_json(home.run / FILE)


def _without_noise(value: dict[str, Any]) -> dict[str, Any]:
    return value | {"disk_free_mb": value.get("disk_free_mb", 0) // 256}


def _now() -> str:
    return clock.now().isoformat(timespec="seconds")
