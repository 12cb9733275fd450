"""The embedded Valkey: a doorbell on a private socket that keeps nothing."""

from __future__ import annotations

import signal
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from appliance.runtime.account import Account
from appliance.runtime.postgres import server_environment
from appliance.runtime.privileges import child_setup


@dataclass(frozen=True, slots=True)
class ValkeyServer:
    """One server without persistence: every start is an empty one."""

    program: Path
    sockets: Path
    log: Path
    account: Account | None = None

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.sockets / "valkey.sock"

    @property
    def url(self) -> str:
        """Address for clients on this machine."""
        return f"unix://{quote(str(self.socket))}"

    def start(self) -> subprocess.Popen[bytes]:
        """Start it; it answers within some milliseconds."""
        with self.log.open("ab") as log:
            return subprocess.Popen(  # noqa: S603 - our own program with our own arguments
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=server_environment(),
                cwd="/",
                preexec_fn=child_setup(self.account, signal.SIGTERM),  # noqa: PLW1509 - one thread
            )

    def command(self) -> list[str]:
        """No file, no port, no persistence; a full memory is an error and never a silent eviction."""
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "save": "",
            "appendonly": "no",
            "dir": str(self.sockets),
            "maxmemory": "256mb",
            "maxmemory-policy": "noeviction",
            "loglevel": "warning",
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        return [str(self.program), *arguments]

    def answers(self) -> bool:
        """Whether it takes commands at this moment."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(2)
            try:
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(16).startswith(b"+PONG")
            except OSError:
                return False
