"""Offloaded work: no child outlives its limit, its block or its parent."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from appliance.core import offload
from appliance.core.paths import PROJECT


def seconds(n: float) -> object:
    from datetime import timedelta

    return timedelta(seconds=n)


SLEEPER = "import time; print('up', flush=True); time.sleep(600)"
FAMILY = (
    "import subprocess, sys, time;"
    "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
    "print(p.pid, flush=True); time.sleep(600)"
)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(*pids: int) -> bool:
    deadline = time.monotonic() + 60
    while any(alive(p) for p in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


async def test_what_a_child_writes_arrives_as_a_stream() -> None:
    async with offload.child(
        [sys.executable, "-c", "print('one'); print('two')"], limit=seconds(30)
    ) as running:
        lines = [line async for line in running.stdout]
        status = await running.wait()

    assert lines == [b"one\n", b"two\n"]
    assert status == 0


async def test_a_child_ends_at_its_limit() -> None:
    async with offload.child([sys.executable, "-c", SLEEPER], limit=seconds(0.5)) as running:
        status = await asyncio.wait_for(running.wait(), 10)

    assert status == -signal.SIGKILL
    assert running.timed_out


async def test_leaving_the_block_ends_the_child_and_its_children() -> None:
    with pytest.raises(ZeroDivisionError):
        async with offload.child([sys.executable, "-c", FAMILY], limit=seconds(60)) as running:
            grandchild = int(await running.stdout.readline())
            raise ZeroDivisionError

    assert gone(running.pid, grandchild)


async def test_cancelling_the_body_ends_the_child() -> None:
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def body() -> None:
        async with offload.child([sys.executable, "-c", SLEEPER], limit=seconds(60)) as running:
            await running.stdout.readline()
            started.set_result(running.pid)
            await asyncio.Event().wait()

    task = asyncio.create_task(body())
    pid = await started
    task.cancel()
    await asyncio.wait({task}, timeout=10)

    assert task.cancelled()
    assert gone(pid)


async def test_a_chatty_child_is_not_stopped_by_its_error_stream() -> None:
    program = "import sys\nfor n in range(20000): print('x' * 80, n, file=sys.stderr)\nprint('done')"
    async with offload.child([sys.executable, "-c", program], limit=seconds(30)) as running:
        answer = await running.stdout.read()
        await running.wait()

    assert answer == b"done\n"
    assert len(running.errors) <= 50


def test_the_death_of_the_parent_is_the_death_of_the_child() -> None:
    program = (
        "import asyncio, sys, datetime\n"
        "from appliance.core import offload\n"
        "async def main():\n"
        f"    argv = [sys.executable, '-c', {SLEEPER!r}]\n"
        "    async with offload.child(argv, limit=datetime.timedelta(minutes=5)) as running:\n"
        "        await running.stdout.readline()\n"
        "        print(running.pid, flush=True)\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], cwd=PROJECT, stdout=subprocess.PIPE, env=dict(os.environ)
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())

    parent.kill()
    parent.wait()

    assert gone(child)
