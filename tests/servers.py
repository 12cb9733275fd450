"""Real servers for the tests: the product's own PostgreSQL and Valkey, without waiting for the disk."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from appliance.runtime.account import Account, service_account
from appliance.runtime.binaries import postgres_bin, postgres_for, valkey_for, valkey_server
from appliance.runtime.pgwire import Answer
from appliance.runtime.postgres import PostgresServer
from appliance.runtime.valkey import ValkeyServer


# Tests measure behaviour, not the disk; crash tests start their servers with the product's own options.
HASTY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}


@dataclass(frozen=True)
class Servers:
    """Two running servers and their addresses."""

    postgres: PostgresServer
    valkey: ValkeyServer
    processes: tuple[subprocess.Popen[bytes], ...]
    home: Path

    @property
    def database_url(self) -> str:
        """Address of the empty database `vitrine`, whose user may create others."""
        return self.postgres.url

    @property
    def redis_url(self) -> str:
        """Address of the empty Valkey."""
        return self.valkey.url

    def stop(self) -> None:
        """End both and remove their files."""
        for process, number in zip(self.processes, (signal.SIGINT, signal.SIGTERM), strict=True):
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)
        for process in self.processes:
            process.wait(timeout=60)
        shutil.rmtree(self.home, ignore_errors=True)


def start_servers(base: Path | None = None) -> Servers:
    """Start both in a new directory; as root they run as the service account."""
    account = service_account(Path("/nonexistent"))
    home = private_folder(account, base)
    postgres, valkey = describe(home, account)
    postgres.create()
    processes = (postgres.start(), valkey.start())
    wait_until(lambda: postgres.answer() is Answer.READY, "PostgreSQL answers")
    wait_until(valkey.answers, "Valkey answers")
    return Servers(postgres, valkey, processes, home)


def describe(home: Path, account: Account | None) -> tuple[PostgresServer, ValkeyServer]:
    """Both servers with their places in `home`, not started."""
    store = home / "bin"
    postgres = PostgresServer(
        bin=postgres_for(account, postgres_bin(os.environ.get("VITRINE_PG_BIN", "")), store),
        data=home / "pg",
        sockets=home,
        log=home / "postgres.log",
        account=account,
        extra=HASTY,
    )
    program = valkey_for(account, valkey_server(os.environ.get("VITRINE_VALKEY_BIN", "")), store)
    return postgres, ValkeyServer(program, home, home / "valkey.log", account)


def private_folder(account: Account | None, base: Path | None = None) -> Path:
    """A short path (sockets allow 107 bytes) that the service account owns and can reach."""
    home = Path(tempfile.mkdtemp(prefix="vt-", dir=base))
    if account is not None:
        os.chown(home, account.uid, account.gid)
    return home


def wait_until(condition: Callable[[], object], what: str, *, limit: float = 60.0) -> None:
    """Wait for a condition instead of sleeping; the limit only ends a hopeless wait."""
    deadline = time.monotonic() + limit
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {limit} s: {what}")
        time.sleep(0.01)
