from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from PIL import Image

from appliance.media.decoder import ChildDied, DecodePool, DecoderUnavailable, StorageSilent
from appliance.media.limits import MIB, Limits
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import Decoded, Step, Wanted
from tests.media import make


GOOD = make.saved(make.corner((400, 300)), "JPEG")


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file of half a megabyte that is within the pixel limit and takes seconds and 600 MB to decode."""
    path = tmp_path_factory.mktemp("bomb") / "bomb.png"
    Image.new("RGB", (13000, 13000), make.BLUE).save(path, compress_level=1)
    return bytes(path)


@pytest.fixture
def good(tmp_path: Path) -> bytes:
    path = tmp_path / "good.jpg"
    path.write_bytes(GOOD)
    return bytes(path)


@pytest.fixture
async def limited() -> AsyncIterator[Callable[..., DecodePool]]:
    """Pools with limits of their own, closed after the test."""
    pools: list[DecodePool] = []

    def make_pool(size: int = 1, **limits: float) -> DecodePool:
        pools.append(DecodePool(size, Limits(**limits)))
        return pools[-1]

    yield make_pool
    for pool in pools:
        await pool.close()


async def run(pool: DecodePool, path: bytes, *, timeout: float = 60.0, wanted: str = "grid-240") -> Decoded:
    async with pool.child() as child:
        await child.read(path)
        return await child.decode([Wanted.named(wanted, path + b".webp")], timeout=timeout)


async def until(condition: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """Wait for a condition; fail when it does not come true."""
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, "it did not happen in time"
        await asyncio.sleep(0.01)


def resident(pid: int) -> int:
    """Bytes that a child holds; far more than at rest means that it is decoding the bomb."""
    return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(") ", 1)[1][0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def test_a_good_file_is_read_and_decoded(limited: Callable[..., DecodePool], good: bytes) -> None:
    decoded = await run(limited(), good)
    assert (decoded.kind, decoded.width, decoded.height) == ("still", 400, 300)
    assert decoded.renditions[0].bytes == os.stat(decoded.renditions[0].path).st_size


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"), reason="filters are known for these machines"
)
async def test_every_confinement_is_in_force(limited: Callable[..., DecodePool]) -> None:
    assert (await limited().tier()).full


CONFINED = """
import os, socket
from appliance.media import confine
from appliance.media.limits import Limits
confine.confine(Limits(), os.getppid())
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):
    try:
        socket.socket(family)
    except PermissionError:
        print("refused")
try:
    os.execv("/bin/true", ["true"])
except PermissionError:
    print("refused")
a, b = socket.socketpair()
"""


def test_a_confined_process_has_no_network_and_runs_no_programs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CONFINED], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout.split() == ["refused"] * 4


async def test_a_file_that_takes_too_long_is_a_timeout_and_the_next_is_fine(
    limited: Callable[..., DecodePool], bomb: bytes, good: bytes
) -> None:
    pool = limited(poll_s=0.02)
    with pytest.raises(ChildDied) as caught:
        await run(pool, bomb, timeout=0.2)
    assert caught.value.reason is Reason.TIMEOUT
    assert (await run(pool, good)).width == 400


async def test_a_file_that_takes_too_much_processor_time_is_a_timeout(
    limited: Callable[..., DecodePool], bomb: bytes, good: bytes
) -> None:
    pool = limited(cpu_s=0)
    # In full size, which takes many times the second that is granted.
    with pytest.raises(ChildDied, match="processor time") as caught:
        await run(pool, bomb, wanted="full")
    assert caught.value.reason is Reason.TIMEOUT
    assert (await run(pool, good)).width == 400


async def test_a_poison_file_that_kills_its_child_fails_alone(
    limited: Callable[..., DecodePool], bomb: bytes, good: bytes
) -> None:
    pool = limited(resident=128 * MIB, poll_s=0.02)
    with pytest.raises(ChildDied, match="MiB in use") as caught:
        await run(pool, bomb)
    assert caught.value.reason is Reason.OUT_OF_MEMORY
    assert (await run(pool, good)).width == 400


async def test_a_file_beyond_the_data_limit_is_refused_without_a_death(
    limited: Callable[..., DecodePool], bomb: bytes, good: bytes
) -> None:
    pool = limited(memory=256 * MIB)
    assert (await run(pool, good)).width == 400
    before = pool.pids()
    with pytest.raises(MediaFailure) as caught:
        await run(pool, bomb)
    assert caught.value.reason is Reason.OUT_OF_MEMORY
    # What it left behind must not be the next file's fault.
    assert (await run(pool, good)).width == 400
    assert before != pool.pids() != []


async def test_films_leave_neither_threads_nor_memory_behind(
    limited: Callable[..., DecodePool], tmp_path: Path
) -> None:
    pool = limited()
    film = make.film("avi", codec="mpeg4", count=12)
    claimed = []
    for number in range(8):
        # Each with another part of it broken, so that decoding ends somewhere in the middle.
        path = tmp_path / f"{number}.avi"
        path.write_bytes(film[: 3000 + 300 * number] + b"\xff" * 40 + film[3040 + 300 * number :])
        async with pool.child() as child:
            await child.open(bytes(path))
            for ask in (
                child.frames(4),
                child.convert(bytes(tmp_path / "made"), turn=0, timeout=60, told=_deaf),
            ):
                with contextlib.suppress(MediaFailure):
                    await ask
            # Answered only after it has tidied up.
            await child.open(bytes(path))
            status = Path(f"/proc/{child.pid}/status").read_text("ascii")
            assert "Threads:\t1\n" in status
            claimed.append(int(Path(f"/proc/{child.pid}/statm").read_text("ascii").split()[5]))
    assert claimed[-1] < 1.5 * claimed[0]


def _deaf(_step: Step) -> None:
    """Nobody wants to know how far it is."""


async def test_a_child_that_crashes_is_replaced_and_the_batch_mates_complete(
    limited: Callable[..., DecodePool], bomb: bytes, good: bytes
) -> None:
    pool = limited(size=2)

    async def crash() -> None:
        async with pool.child() as child:
            await child.read(bomb)
            pid = child.pid
            assert pid is not None
            asyncio.get_running_loop().call_later(0.1, os.kill, pid, signal.SIGSEGV)
            with pytest.raises(ChildDied, match="SIGSEGV") as caught:
                await child.decode([])
            assert caught.value.reason is Reason.CRASHED
            assert (await child.read(good)).size == len(GOOD)

    results = await asyncio.gather(crash(), run(pool, good), run(pool, good))
    assert [mate.width for mate in results[1:]] == [400, 400]


async def test_a_cancelled_request_never_answers_the_next_one(
    limited: Callable[..., DecodePool], bomb: bytes, good: bytes
) -> None:
    pool = limited()
    task = asyncio.create_task(run(pool, bomb))
    await until(lambda: any(resident(pid) > 100 * MIB for pid in pool.pids()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await run(pool, good)).width == 400


async def test_a_child_that_was_killed_at_rest_is_no_failure_of_the_next_file(
    limited: Callable[..., DecodePool], good: bytes
) -> None:
    pool = limited()
    await run(pool, good)
    [pid] = pool.pids()
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not pool.pids())
    assert (await run(pool, good)).width == 400


async def test_signals_meant_for_the_whole_group_do_not_end_a_child(
    limited: Callable[..., DecodePool], good: bytes
) -> None:
    pool = limited()
    await run(pool, good)
    [pid] = pool.pids()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(pid, number)
    assert (await run(pool, good)).width == 400
    assert pool.pids() == [pid]


async def test_a_fresh_child_has_served_nobody(limited: Callable[..., DecodePool], good: bytes) -> None:
    pool = limited()
    await run(pool, good)
    before = pool.pids()
    async with pool.child(fresh=True) as child:
        await child.read(good)
        assert child.pid not in before
        [during] = pool.pids()
    assert pool.pids() == []
    assert not alive(during)


async def test_a113_idle_children_leave(limited: Callable[..., DecodePool], good: bytes) -> None:
    pool = limited(size=2, idle_s=0.05)
    await run(pool, good)
    [pid] = pool.pids() or [0]
    await until(lambda: not alive(pid))
    assert pool.pids() == []
    assert (await run(pool, good)).width == 400


async def test_worn_out_children_are_replaced(limited: Callable[..., DecodePool], good: bytes) -> None:
    pool = limited(items=1)
    await run(pool, good)
    assert pool.pids() == []
    assert (await run(pool, good)).width == 400


async def test_a_child_that_does_not_die_is_left_behind(
    limited: Callable[..., DecodePool], bomb: bytes, good: bytes
) -> None:
    pool = limited(kill_grace_s=0.0, poll_s=0.02)
    with pytest.raises(StorageSilent) as caught:
        await run(pool, bomb, timeout=0.1)
    assert caught.value.reason is Reason.UNREADABLE
    assert "does not answer" in caught.value.detail
    assert (await run(pool, good)).width == 400


async def test_closing_blames_no_file(limited: Callable[..., DecodePool], bomb: bytes) -> None:
    pool = limited()
    task = asyncio.create_task(run(pool, bomb))
    await until(lambda: any(resident(pid) > 100 * MIB for pid in pool.pids()))
    await pool.close()
    with pytest.raises(DecoderUnavailable):
        await task
    with pytest.raises(DecoderUnavailable):
        await run(pool, bomb)


async def test_a_decoder_that_cannot_start_blames_no_file(
    limited: Callable[..., DecodePool], good: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    with pytest.raises(DecoderUnavailable):
        await run(limited(), good)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(DecoderUnavailable):
        await run(limited(), good)


async def test_decoding_without_a_file_is_refused(limited: Callable[..., DecodePool]) -> None:
    async with limited().child() as child:
        with pytest.raises(LookupError):
            await child.decode([])


async def test_no_secret_reaches_a_child(
    limited: Callable[..., DecodePool], good: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VITRINE_DATABASE_URL", "postgresql://secret@example/vitrine")
    pool = limited()
    await run(pool, good)
    [pid] = pool.pids()
    assert b"secret" not in Path(f"/proc/{pid}/environ").read_bytes()


PARENT = """
import asyncio, sys
from appliance.media.decoder import DecodePool

async def main():
    pool = DecodePool(1)
    async with pool.child() as child:
        await child.read(sys.argv[1].encode())
        print(child.pid, flush=True)
        await child.decode([])

asyncio.run(main())
"""


async def test_a_child_dies_with_its_parent(bomb: bytes) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, bomb], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(await asyncio.to_thread(parent.stdout.readline))
        assert alive(pid)
        parent.kill()
        await until(lambda: not alive(pid))
        assert not alive(pid)


READER = """
import asyncio, sys
from appliance.media.decoder import DecodePool

async def main():
    pool = DecodePool(1)
    async with pool.child() as child:
        print((await child.read(sys.argv[1].encode())).size)
    await pool.close()

asyncio.run(main())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hand a capability to another user")
def test_a_child_keeps_the_right_to_read_that_its_parent_was_given(good: bytes) -> None:
    os.chmod(good, 0)
    right = "dac_read_search"
    done = subprocess.run(
        ["setpriv", "--reuid=65534", f"--inh-caps=-all,+{right}", f"--ambient-caps=-all,+{right}",
         sys.executable, "-B", "-c", READER, good],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.stdout.strip(), done.stderr) == (str(len(GOOD)), "")
