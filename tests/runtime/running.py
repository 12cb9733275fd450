"""Starting that instance from a test, looking at it, and ending it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.core.paths import PROJECT, Home
from appliance.runtime import proc
from tests.servers import wait_until


@dataclass
class Instance:
    process: subprocess.Popen[str]
    data: Path
    port: int
    output: Path

    @property
    def home(self) -> Home:
        return Home(self.data)

    @property
    def state(self) -> dict[str, Any]:
        return read(self.home.run / "state.json")

    @property
    def health(self) -> dict[str, Any]:
        return read(self.home.run / "health.json")

    def pids(self) -> dict[str, int]:
        return {child["name"]: child["pid"] for child in self.state.get("children", [])}

    def process_state(self, name: str) -> dict[str, Any]:
        found = [p for p in self.health.get("processes", []) if p["name"] == name]
        return found[0] if found else {}

    def page(self, limit: float = 60) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=limit) as answer:
            text: str = answer.read().decode()
            return text

    def said(self) -> str:
        return self.output.read_text(encoding="utf-8")

    def notes(self) -> list[str]:
        try:
            return (self.data / "notes").read_text(encoding="utf-8").splitlines()
        except OSError:
            return []

    def is_ready(self) -> bool:
        state = self.state
        return bool(state.get("ready")) and state["pid"] == self.process.pid

    def until_ready(self) -> Instance:
        wait_until(lambda: self.is_ready() or self.process.poll() is not None, "the instance is ready")
        assert self.process.poll() is None, self.said()
        return self

    def end_at_once(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def end(self, number: signal.Signals = signal.SIGTERM, limit: float = 60) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=limit)


def read(path: Path) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def begin(data: Path, **options: Any) -> Instance:
    port = options.pop("port", None) or free_port()
    words = json.dumps({"data": str(data), "port": port, **options})
    output = data.with_name(f"{data.name}.said")
    with output.open("ab") as said:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.runtime.instance", words],
            stdout=said,
            stderr=said,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            text=True,
            start_new_session=True,
        )
    return Instance(process, data, port, output)


@contextmanager
def instance(data: Path, **options: Any) -> Iterator[Instance]:
    """One that is up, and gone afterwards whatever happened."""
    started = begin(data, **options)
    try:
        yield started.until_ready()
    finally:
        if started.process.poll() is None:
            started.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                started.process.wait(timeout=60)
            started.process.kill()


@contextmanager
def place() -> Iterator[Path]:
    """A short path that every account can reach: sockets lie in it, and root's own is closed."""
    folder = Path(tempfile.mkdtemp(prefix="vr-"))
    folder.chmod(0o755)
    try:
        yield folder / "d"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if proc.started(pid) and not proc.is_zombie(pid)]
