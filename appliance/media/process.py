"""One decode child as its parent sees it: started, asked, watched, and ended for certain."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

import appliance
from appliance.core import log
from appliance.media import channel, wire
from appliance.media.limits import Limits
from appliance.media.reasons import MediaFailure, Reason


_PAGE = os.sysconf("SC_PAGE_SIZE")
# Names that a decoder needs; everything else, secrets above all, stays with the parent.
_PASSED = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "VITRINE_CRASH_AT", "LD_LIBRARY_PATH")
_LOG_LINES = 200


def _unheard(_step: wire.Step) -> None:
    """Short requests tell nothing on their way."""


class ChildDied(Exception):
    """The child that held a file died over it; a fresh one takes its place."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class DecoderUnavailable(Exception):
    """No child could be started; no file is to blame."""


class StorageSilent(MediaFailure):
    """The child hangs in the kernel and cannot be killed: the storage of its file does not answer."""

    def __init__(self) -> None:
        super().__init__(Reason.UNREADABLE, "the storage does not answer")


class Process:
    """A running child and its channel."""

    def __init__(
        self,
        limits: Limits,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._limits = limits
        self._process = process
        self._reader = reader
        self._writer = writer
        self._stderr = asyncio.create_task(_log_stderr(process))
        self._ending = False
        self.served = 0
        self.tier: wire.Tier | None = None

    @classmethod
    async def start(cls, limits: Limits) -> Process:
        """Start a child and wait until it says that it is confined and ready."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            with theirs:
                process = await _spawn(limits, theirs.fileno())
            reader, writer = await asyncio.open_connection(sock=ours)
        except OSError as error:
            ours.close()
            raise DecoderUnavailable(f"the decoder could not be started: {error}") from error
        started = cls(limits, process, reader, writer)
        try:
            await started._greet()
        except BaseException:
            await started.end()
            raise
        return started

    async def _greet(self) -> None:
        try:
            async with asyncio.timeout(self._limits.start_s):
                hello = await self._receive()
        except (TimeoutError, OSError, EOFError, msgspec.MsgspecError) as error:
            raise DecoderUnavailable("the decoder did not come up; see the log") from error
        if not isinstance(hello, wire.Hello):
            raise DecoderUnavailable("the decoder speaks another protocol")
        self.tier = hello.tier

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def usable(self) -> bool:
        """True while the child can take another file."""
        return self._process.returncode is None and not self._reader.at_eof()

    def memory(self) -> tuple[int, int]:
        """Return resident and claimed memory in bytes; 0 when it is gone or the system does not tell."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = Path(f"/proc/{self.pid}/statm").read_text("ascii").split()
            return int(fields[1]) * _PAGE, int(fields[5]) * _PAGE
        return 0, 0

    async def ask(
        self, request: wire.Request, seconds: float, *, told: Callable[[wire.Step], None] = _unheard
    ) -> wire.Answer:
        """Send a request and wait for its answer under all limits; the child is gone when this raises."""
        try:
            self._writer.write(channel.frame(request))
            answer = await self._watched(seconds, told)
        except BaseException:
            # Also when cancelled: an answer that comes later would belong to the wrong file.
            await asyncio.shield(self.end())
            raise
        self.served += 1
        return answer

    async def _watched(self, seconds: float, told: Callable[[wire.Step], None]) -> wire.Answer:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        receiving = asyncio.ensure_future(self._last_word(told))
        try:
            while not receiving.done():
                await asyncio.wait({receiving}, timeout=min(self._limits.poll_s, max(0.0, seconds)))
                if not receiving.done():
                    await self._check(loop.time() >= deadline, seconds)
            return await receiving
        except (OSError, EOFError) as error:
            raise await self._death() from error
        except msgspec.MsgspecError as error:
            raise await self._killed(Reason.CRASHED, "the decoder answered nonsense") from error
        finally:
            receiving.cancel()

    async def _check(self, late: bool, seconds: float) -> None:  # noqa: FBT001
        if late:
            raise await self._killed(Reason.TIMEOUT, f"not done after {seconds:g} s")
        used, _ = self.memory()
        if used > self._limits.resident:
            raise await self._killed(Reason.OUT_OF_MEMORY, f"{used >> 20} MiB in use")

    async def _last_word(self, told: Callable[[wire.Step], None]) -> wire.Answer:
        """Hear out what a long request tells on its way to the answer."""
        while isinstance(said := await self._receive(), wire.Step):
            told(said)
        return said

    async def _receive(self) -> wire.Answer:
        head = await self._reader.readexactly(channel.LENGTH.size)
        length = channel.LENGTH.unpack(head)[0]
        if length > channel.MAX_MESSAGE:
            raise msgspec.DecodeError("message too long")
        return channel.answer(await self._reader.readexactly(length))

    async def _killed(self, reason: Reason, detail: str) -> ChildDied | StorageSilent:
        return ChildDied(reason, detail) if await self.end() else StorageSilent()

    async def _death(self) -> Exception:
        """Tell from the exit status what ended the child."""
        if self._ending:
            return DecoderUnavailable("the decoders are being closed")
        if not await self.end(kill=False):
            # It closed its channel, so it does not hang in a read: a busy machine has not reaped it yet.
            return ChildDied(Reason.CRASHED, "it went away")
        status = self._process.returncode or 0
        if status == -signal.SIGXCPU:
            return ChildDied(Reason.TIMEOUT, f"more than {self._limits.cpu_s} s of processor time")
        if status == -signal.SIGKILL:
            return ChildDied(Reason.CRASHED, "killed from outside, perhaps for lack of memory")
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return ChildDied(Reason.CRASHED, how)

    async def end(self, *, kill: bool = True) -> bool:
        """End the child; False when it does not even die of SIGKILL and is left behind."""
        self._ending = True
        self._writer.close()
        if kill:
            self._kill()
        if not await self._gone():
            self._kill()
            if not await self._gone():
                log.get().warning("abandoned a decoder that does not die", pid=self.pid)
                return False
        self._stderr.cancel()
        return True

    def retire(self) -> None:
        """Close the channel of an idle child, which makes it leave by itself."""
        self._writer.close()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def _gone(self) -> bool:
        try:
            async with asyncio.timeout(self._limits.kill_grace_s):
                await self._process.wait()
        except TimeoutError:
            return False
        return True


async def _spawn(limits: Limits, number: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-X",
        "faulthandler",
        "-m",
        "appliance.media.child",
        f"--channel={number}",
        f"--parent={os.getpid()}",
        f"--limits={msgspec.json.encode(limits).decode()}",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        pass_fds=(number,),
        env=_environment(),
        limit=16 * 1024,
    )


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _PASSED if name in os.environ}
    code = str(Path(appliance.__file__).resolve().parents[1])
    # Few arenas: a child decodes on one thread, and each arena would keep its own freed memory.
    return {**kept, "PYTHONPATH": code, "PYTHONUTF8": "1", "MALLOC_ARENA_MAX": "2"}


async def _log_stderr(process: asyncio.subprocess.Process) -> None:
    """Log the first lines that a child complains, and drain the rest so that it never blocks."""
    lines = 0
    while process.stderr is not None:
        chunk = await process.stderr.read(4096)
        if not chunk:
            return
        for line in chunk.decode("utf-8", "replace").splitlines():
            lines += 1
            if lines <= _LOG_LINES:
                log.get().debug("decoder said", pid=process.pid, line=line[:500])
