"""A real `vitrine up` on a data directory and a port of its own."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from appliance.cli.benches import processes
from appliance.cli.benches.reader import Reader
from appliance.core.errors import VitrineError
from appliance.core.paths import PROJECT
from appliance.core.settings import OTHERS, PREFIX, Settings, load
from appliance.runtime.leftovers import running_state
from appliance.runtime.standing import running


START_LIMIT = 120.0
STOP_LIMIT = 30.0
LOOK_S = 0.005
# What describes this machine stays; what names another instance's data and servers must not get in.
KEPT = frozenset({"VITRINE_PG_BIN", "VITRINE_VALKEY_BIN", "VITRINE_DECODE_CHILDREN", "VITRINE_TZ"})


class BenchBroke(VitrineError):
    """The instance under measurement did not do what it should, so there is no figure."""


class Instance:
    """One instance; started and stopped as often as the bench likes."""

    def __init__(self, work: Path, name: str, **extra: str) -> None:
        self.data = work / name / "data"
        self.data.parent.mkdir(parents=True)
        # The account that servers run as must get through to its own directory below.
        self.data.parent.chmod(0o755)
        self.output = work / name / "output"
        self.port = free_port()
        self.environment = _environment(extra)
        self._process: subprocess.Popen[bytes] | None = None
        self._begun = 0.0

    @property
    def settings(self) -> Settings:
        """As the command line would load them."""
        return load({}, data=str(self.data), port=self.port, host="127.0.0.1")

    @property
    def pid(self) -> int:
        """The supervisor's id."""
        if self._process is None:
            raise BenchBroke("The instance does not run")
        return self._process.pid

    def start(self, *folders: Path) -> None:
        """Run `vitrine up`; the time of everything that follows counts from here."""
        command = [sys.executable, "-P", "-m", "appliance.main", "up", *map(str, folders)]
        command += ["--data", str(self.data), "--host", "127.0.0.1", "--port", str(self.port)]
        with self.output.open("ab") as output:
            self._begun = time.monotonic()
            self._process = subprocess.Popen(  # noqa: S603 - ourselves
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=self.environment
            )

    def since_start(self) -> float:
        """Seconds since `vitrine up` was run."""
        return time.monotonic() - self._begun

    def first_page(self, path: str = "/login") -> float:
        """Seconds from the start to the first 200 of a page."""
        reader = Reader(self.port)
        while reader.status_of(path) != 200:
            self._must_live(START_LIMIT)
            time.sleep(LOOK_S)
        return self.since_start()

    def ready(self) -> Settings:
        """Wait until it takes work; the settings reach its servers."""
        while (there := running(self.settings)) is None:
            self._must_live(START_LIMIT)
            time.sleep(LOOK_S)
        return there.settings

    def set_up(self) -> Reader:
        """Make the first account with the code that the start printed; the reader is signed in."""
        while not (found := re.findall(r"/setup\?code=(\S+)", self.output.read_text(errors="replace"))):
            self._must_live(START_LIMIT)
            time.sleep(LOOK_S)
        reader = Reader(self.port)
        reader.set_up(found[-1])
        return reader

    def stop(self) -> float:
        """End it as a service manager would; seconds until it was gone."""
        process, self._process = self._process, None
        if process is None:
            return 0.0
        begun = time.monotonic()
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise BenchBroke("The instance did not stop", f"Its output is in {self.output}.") from None
        return time.monotonic() - begun

    def processes(self) -> dict[int, str]:
        """Its processes and what they are."""
        children = running_state(self.settings.home).get("children", ())
        return processes.tree(self.pid, {int(c["pid"]): str(c["name"]) for c in children})

    def _must_live(self, limit: float) -> None:
        if self._process is None or self._process.poll() is not None or self.since_start() > limit:
            last = self.output.read_text(errors="replace").strip().splitlines()[-1:]
            raise BenchBroke("The instance did not come up", last[0] if last else "It said nothing.")


@contextmanager
def instance(work: Path, name: str, **extra: str) -> Iterator[Instance]:
    """An instance that is stopped however the block ends."""
    made = Instance(work, name, **extra)
    try:
        yield made
    finally:
        made.stop()


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    ours = {n: v for n, v in os.environ.items() if not n.startswith(PREFIX) or n in KEPT or OTHERS.match(n)}
    # Would have every start compile all modules anew, which no installation does.
    ours.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**ours, "PYTHONPATH": str(PROJECT), **{f"{PREFIX}{n.upper()}": v for n, v in extra.items()}}
