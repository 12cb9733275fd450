"""The bare loop: the same files through the same media functions, with nothing around them.

Its processes are what an import cannot be faster than: they share one pipe of file numbers and neither
talk to anybody nor write anything down.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import msgspec

from appliance.core.paths import PROJECT, Home
from appliance.media import decoding, metadata, opening, pictures, reading
from appliance.media.limits import Limits
from appliance.media.wire import GRID_240, GRID_480, OpenRequest, Wanted


NUMBER = 4
# What the kernel holds in a pipe without a reader.
PIPE = 65536


@dataclass(frozen=True, slots=True)
class Loop:
    """One run of the loop."""

    seconds: float
    """From before the processes were started until the last of them had ended."""
    stages: dict[str, float]
    """Mean milliseconds of one file, by stage."""
    cpu_ms: float
    """Processor milliseconds of one file, the processes' own start included."""


def loop(files: list[Path], work: Path, processes: int) -> Loop:
    """Hash, decode and draw all files once."""
    if len(files) * NUMBER > PIPE:
        raise ValueError("more files than fit into the pipe")
    with tempfile.TemporaryDirectory(dir=work) as target, _numbers(len(files)) as numbers:
        listing = Path(target) / "files"
        listing.write_bytes(b"\0".join(os.fsencode(f) for f in files))
        before = _children_cpu()
        begun = time.monotonic()
        running = [_start(listing, numbers) for _ in range(processes)]
        answers = [_answer(process) for process in running]
        seconds = time.monotonic() - begun
    total = sum((Counter(a) for a in answers), Counter[str]())
    if total["files"] != len(files):
        raise RuntimeError(f"the bare loop did {total['files']} of {len(files)} files")
    stages = {name: round(value / len(files) / 1e6, 2) for name, value in total.items() if name != "files"}
    return Loop(seconds, stages, round((_children_cpu() - before) * 1000 / len(files), 2))


@contextlib.contextmanager
def _numbers(count: int) -> Iterator[int]:
    reader, writer = os.pipe()
    os.write(writer, b"".join(n.to_bytes(NUMBER, "big") for n in range(count)))
    os.close(writer)
    try:
        yield reader
    finally:
        os.close(reader)


def _start(listing: Path, numbers: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - ourselves
        [sys.executable, "-P", "-m", "appliance.cli.benches.bare", str(listing)],
        stdin=numbers,
        stdout=subprocess.PIPE,
        # As a decode child has it.
        env={**os.environ, "PYTHONPATH": str(PROJECT), "MALLOC_ARENA_MAX": "2"},
    )


def _answer(process: subprocess.Popen[bytes]) -> dict[str, int]:
    said, _ = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"the bare loop ended with status {process.returncode}")
    return msgspec.json.decode(said, type=dict[str, int])


def _children_cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system


class Stages:
    """Nanoseconds by stage; inner stages are taken off the outer one."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self._inner = 0

    def timed(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, whose own time is counted under the name."""

        @wraps(work)
        def wrapper(*arguments: Any, **named: Any) -> Any:
            outside, self._inner = self._inner, 0
            begun = time.perf_counter_ns()
            try:
                return work(*arguments, **named)
            finally:
                spent = time.perf_counter_ns() - begun
                self.spent[name] += spent - self._inner
                self._inner = outside + spent

        return wrapper


def main() -> None:
    """One process of the loop: numbers come in on stdin, one line of JSON goes out."""
    limits, stages = Limits(), Stages()
    os.nice(limits.nice)
    opening.prepare(limits)
    # What `decode` does beyond these is the reduced decode itself.
    for module, name, stage in (
        (metadata, "of_picture", "metadata"),
        (pictures, "reduced", "resize"),
        (pictures, "render", "webp"),
    ):
        setattr(module, name, stages.timed(stage, getattr(module, name)))
    listing = Path(sys.argv[1])
    files = listing.read_bytes().split(b"\0")
    home = Home(listing.parent)
    read, decode = stages.timed("hash", reading.read), stages.timed("decode", decoding.decode)
    while number := os.read(0, NUMBER):
        source, found = read(OpenRequest(files[int.from_bytes(number, "big")], None, True, None))
        decode(source, _wanted(home, found.sha256), limits)
        source.close()
        stages.spent["files"] += 1
    sys.stdout.buffer.write(msgspec.json.encode(dict(stages.spent)))


def _wanted(home: Home, sha256: bytes) -> list[Wanted]:
    return [Wanted.named(n, os.fsencode(home.rendition(sha256, n))) for n in (GRID_240, GRID_480)]


if __name__ == "__main__":
    main()
