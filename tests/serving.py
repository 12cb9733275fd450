"""The product's own web process for a test, forked from one that has imported everything.

`python -m tests.serving` reads a line of JSON for each wish: `["start", SETTINGS, PORT]` answers the process
id, `["end", PID, SIGNAL]` the status that the process left with. Importing takes longer than most tests.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from appliance.core.settings import Settings
from appliance.web import app
from queues.declare import load
from tests.servers import wait_until


class Stage:
    """The process that forks, as a test sees it."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.serving"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def _ask(self, *wish: Any) -> int:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(wish) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def start(self, settings: Settings, folder: Path) -> tuple[int, str]:
        """Begin to serve these settings; the answer is the process and its address."""
        described, port = folder / "settings.json", folder / "port"
        described.write_bytes(msgspec.json.encode(settings, enc_hook=str))
        port.unlink(missing_ok=True)
        pid = self._ask("start", str(described), str(port))
        wait_until(lambda: port.exists() and port.read_text() != "", "the web process is up")
        return pid, f"http://127.0.0.1:{port.read_text()}"

    def end(self, pid: int, number: int = signal.SIGTERM) -> int:
        """Stop a web process, in an orderly way or not; the answer is its status."""
        return self._ask("end", pid, number)

    def close(self) -> None:
        """No further wishes."""
        assert self._process.stdin
        self._process.stdin.close()
        assert self._process.wait(10) == 0


def main() -> None:
    load()
    app.preload()
    for line in sys.stdin:
        kind, *words = json.loads(line)
        answer = _start(*words) if kind == "start" else _end(*words)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


def _start(described: str, port: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    # What a test prints must not be read as an answer.
    os.dup2(2, 1)
    status = 1
    try:
        settings = msgspec.json.decode(
            Path(described).read_bytes(), type=Settings, dec_hook=lambda kind, value: kind(value)
        )
        listening = socket.create_server(("127.0.0.1", 0))
        Path(port).write_text(str(listening.getsockname()[1]))
        app.serve(settings, [listening])
        status = 0
    finally:
        os._exit(status)


def _end(pid: int, number: int) -> int:
    os.kill(pid, number)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    main()
