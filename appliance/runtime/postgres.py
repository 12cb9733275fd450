"""The embedded PostgreSQL: made once, run by us on a private socket, never as root, patient with recovery."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from appliance.core.errors import VitrineError
from appliance.runtime.account import Account
from appliance.runtime.memory import machine_memory
from appliance.runtime.pgwire import Answer, ask
from appliance.runtime.privileges import child_setup


NAME = "vitrine"  # of the role and of the database
MIB = 1024 * 1024


class PostgresUnusable(VitrineError):
    """The cluster cannot be created or belongs to another version."""


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """One cluster and how it is run."""

    bin: Path
    data: Path
    sockets: Path
    log: Path
    account: Account | None = None
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Address for clients on this machine; whoever may enter the socket directory is trusted."""
        return f"postgresql://{NAME}@/{NAME}?host={quote(str(self.sockets))}"

    def create(self) -> bool:
        """Make the cluster unless it exists; an interrupted attempt is started over."""
        if (self.data / "PG_VERSION").exists():
            self._refuse_other_version()
            return False
        unfinished = self.data.with_name(f"{self.data.name}.new")
        shutil.rmtree(unfinished, ignore_errors=True)
        self._run("initdb", *_initdb_options(), "-D", str(unfinished))
        self._run("postgres", "--single", "-D", str(unfinished), "postgres", text=f"CREATE DATABASE {NAME}\n")
        unfinished.rename(self.data)
        return True

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server; it may take long to recover, so nothing here waits for it."""
        forget_dead_lock(self.data)
        with self.log.open("ab") as log:
            return subprocess.Popen(  # noqa: S603 - our own programs with our own arguments
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=server_environment(),
                cwd="/",
                # The supervisor has one thread: nothing can hold a lock at the fork.
                preexec_fn=child_setup(self.account, signal.SIGINT),  # noqa: PLW1509
            )

    def command(self) -> list[str]:
        """Program and arguments; settings come from here and not from a file, so that updates bring them."""
        options = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.sockets),
            "unix_socket_permissions": "0700",
        }
        options |= tuned(machine_memory()) | dict(self.extra)
        arguments = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        return [str(self.bin / "postgres"), "-D", str(self.data), *arguments]

    def answer(self) -> Answer:
        """Whether it takes connections at this moment."""
        return ask(self.sockets, NAME, NAME)

    def last_words(self) -> str:
        """The last error in its log, for the line that says why it is down."""
        try:
            lines = _tail(self.log).splitlines()
        except OSError:
            return ""
        marks = ("FATAL:", "PANIC:", "ERROR:")
        return next((line for line in reversed(lines) if any(mark in line for mark in marks)), "")

    def _refuse_other_version(self) -> None:
        have = (self.data / "PG_VERSION").read_text(encoding="ascii").strip()
        said = subprocess.run(  # noqa: S603
            [str(self.bin / "postgres"), "--version"],
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
            env=server_environment(),
            preexec_fn=child_setup(self.account, signal.SIGKILL),
        ).stdout
        major = said.split()[-1].partition(".")[0] if "(PostgreSQL)" in said else have
        if major.isdigit() and major != have:
            raise PostgresUnusable(
                f"The database was made by PostgreSQL {have}, but the program here is {major}",
                f"Name a directory with PostgreSQL {have} in VITRINE_PG_BIN.",
            )

    def _run(self, program: str, *arguments: str, text: str = "") -> None:
        done = subprocess.run(  # noqa: S603
            [str(self.bin / program), *arguments],
            check=False,
            input=text.encode(),
            capture_output=True,
            env=server_environment(),
            cwd="/",
            timeout=600,
            preexec_fn=child_setup(self.account, signal.SIGKILL),
        )
        with self.log.open("ab") as log:
            log.write(done.stdout + done.stderr)
        if done.returncode != 0:
            raise PostgresUnusable(
                f"PostgreSQL's {program} failed: {_last_line(done.stderr)}", f"Its output is in {self.log}."
            )


def _initdb_options() -> list[str]:
    return [
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--encoding=UTF8",
        f"--username={NAME}",
        "--auth=trust",  # the socket directory is 0700: entering it is the proof
        "--no-instructions",
    ]


def tuned(memory: int) -> dict[str, str]:
    """Settings for a home box: a modest cache, frequent vacuum of small tables, full durability."""
    shared = min(max(memory // 16, 64 * MIB), 512 * MIB)
    return {
        "shared_buffers": f"{shared // MIB}MB",
        "effective_cache_size": f"{max(memory // 2, 256 * MIB) // MIB}MB",
        "work_mem": "16MB",
        "maintenance_work_mem": f"{min(max(memory // 16, 64 * MIB), 512 * MIB) // MIB}MB",
        "max_connections": "60",
        "wal_compression": "on",
        "max_wal_size": "2GB",
        "checkpoint_timeout": "15min",
        "random_page_cost": "1.5",
        # The queue tables change all their rows within minutes: vacuum must look at them often.
        "autovacuum_naptime": "15s",
        # Compiling costs more than any of our short statements, and memory in every process.
        "jit": "off",
        "log_checkpoints": "off",
        "timezone": "UTC",
        "log_timezone": "UTC",
    }


def server_environment() -> dict[str, str]:
    """Nothing of ours reaches the servers: no secret, no locale, no PG* variable."""
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def forget_dead_lock(data: Path) -> None:
    """Remove a postmaster.pid whose process id now belongs to something else.

    PostgreSQL itself would refuse to start: after a container restart the ids begin again at 1. The caller
    holds the lock of the data directory and has ended everything that ran on it.
    """
    lock = data / "postmaster.pid"
    try:
        pid = int(lock.read_text(encoding="ascii", errors="replace").split("\n", 1)[0])
        runs_here = Path(f"/proc/{pid}/cwd").samefile(data)
    except (FileNotFoundError, ValueError, IndexError):
        return
    except OSError:
        runs_here = False
    if not runs_here:
        lock.unlink(missing_ok=True)


def _tail(path: Path, size: int = 8192) -> str:
    with path.open("rb") as log:
        log.seek(max(0, path.stat().st_size - size))
        return log.read().decode("utf-8", "replace")


def _last_line(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "no output"
