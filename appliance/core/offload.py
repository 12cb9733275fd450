"""Blocking or hostile work in a child process that never outlives its limit or its parent."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from appliance.core.paths import PROJECT


def python(module: str, *arguments: str) -> list[str]:
    """The command line that runs a module of this program, wherever the caller stands."""
    return [sys.executable, "-P", "-m", module, *arguments]


_PR_SET_PDEATHSIG = 1
_TAIL_LINES = 50
_LINE_LIMIT = 1 << 16
UNKILLABLE_S = 5.0
"""A child that ignores SIGKILL for so long hangs in the kernel (a dead mount) and is abandoned."""

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(eq=False, slots=True)
class Child:
    """A running child; `errors` holds the last lines that it wrote to its error stream."""

    process: asyncio.subprocess.Process
    stdout: asyncio.StreamReader
    errors: deque[str] = field(default_factory=lambda: deque(maxlen=_TAIL_LINES))
    timed_out: bool = False

    @property
    def pid(self) -> int:
        """The process id; also the id of its group."""
        return self.process.pid

    async def wait(self) -> int:
        """The exit status, once it has ended."""
        return await self.process.wait()

    def kill(self) -> None:
        """End the child and everything that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def expire(self) -> None:
        """End it because its limit is over."""
        self.timed_out = True
        self.kill()


@contextlib.asynccontextmanager
async def child(
    argv: Sequence[str | bytes],
    *,
    limit: timedelta,
    pass_fds: Sequence[int] = (),
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> AsyncIterator[Child]:
    """Start a program in a session of its own; whichever way the block is left, its whole group is dead."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        pass_fds=tuple(pass_fds),
        env=os.environ | {"PYTHONPATH": str(PROJECT)} if env is None else env,
        cwd=cwd,
        limit=_LINE_LIMIT,
        preexec_fn=_die_with_parent(os.getpid()),
    )
    assert process.stdout is not None  # noqa: S101 - asked for above
    running = Child(process, process.stdout)
    listener = asyncio.create_task(_listen(running))
    timer = asyncio.get_running_loop().call_later(limit.total_seconds(), running.expire)
    try:
        yield running
    finally:
        timer.cancel()
        running.kill()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(process.wait()), UNKILLABLE_S)
        listener.cancel()


def _die_with_parent(parent: int) -> Callable[[], None]:
    def arm() -> None:
        if _libc is not None:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            # The parent may have died between the fork and this line.
            if os.getppid() != parent:
                os._exit(1)

    return arm


async def _listen(running: Child) -> None:
    """Read the error stream all the time: a full pipe would stop the child."""
    stream = running.process.stderr
    while stream is not None:
        try:
            line = await stream.readline()
        except ValueError:
            # Longer than the limit of the reader, which has dropped it.
            continue
        if not line:
            return
        running.errors.append(line.decode("utf-8", "replace").rstrip()[:500])
