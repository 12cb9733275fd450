"""Starting real worker processes, and looking at the rows that they hold."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from appliance.core.paths import PROJECT
from appliance.core.settings import Settings


class WorkerProcess:
    """One worker process and the folder through which its bodies are held."""

    def __init__(self, process: subprocess.Popen[bytes], gate: Path) -> None:
        self.process = process
        self.gate = gate

    @property
    def pid(self) -> int:
        return self.process.pid

    def has_begun(self) -> bool:
        return (self.gate / f"begun-{self.pid}").exists()

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    async def ended(self, limit: float = 60) -> int:
        async with asyncio.timeout(limit):
            while self.process.poll() is None:
                await asyncio.sleep(0.02)
        return self.process.returncode


@contextlib.asynccontextmanager
async def worker(settings: Settings, gate: Path | None, group: str = "quick") -> AsyncIterator[WorkerProcess]:
    """A worker process that is ended, whatever happens."""
    environ = {
        "PATH": os.environ["PATH"],
        "VITRINE_DATABASE_URL": settings.database_url,
        "VITRINE_REDIS_URL": settings.redis_url,
        "VITRINE_HEARTBEAT": str(settings.heartbeat),
        "VITRINE_SILENCE": str(settings.silence),
    }
    if gate:
        gate.mkdir(exist_ok=True)
        environ["VITRINE_TEST_GATE"] = str(gate)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.queues.worker_process", str(settings.data), group],
        cwd=PROJECT,
        env=environ,
    )
    try:
        yield WorkerProcess(process, gate or Path("/nonexistent"))
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.wait(10)
