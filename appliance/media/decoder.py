"""The pool of decode children: the only way in which a worker touches hostile media."""

# ruff: noqa: ASYNC109 -- a limit given here ends the child, which asyncio.timeout around a call cannot.

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeVar

from appliance.media import wire
from appliance.media.hops import Hop
from appliance.media.limits import Limits
from appliance.media.process import ChildDied, DecoderUnavailable, Process, StorageSilent
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.turns import Turns
from appliance.media.wire import Converted, Decoded, Described, Frame, Read, Stat, Step, Tier, Wanted


__all__ = ["Child", "ChildDied", "DecodePool", "DecoderUnavailable", "StorageSilent"]

_Answer = TypeVar("_Answer", bound=wire.Answer)

READ_S = 600.0
DECODE_S = 90.0
STEP_S = 60.0


class Child:
    """The right to use one decode process; a dead process is replaced with the next request."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._process: Process | None = None
        self._holds_file = False
        # A file that found no memory says nothing about the next one: that gets a fresh process.
        self._full = False
        self._retiring: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the running child, if one runs."""
        return self._process.pid if self._process is not None and self._process.usable else None

    async def open(
        self,
        path: bytes,
        *,
        expect: Stat | None = None,
        member: Sequence[Hop] = (),
        timeout: float = STEP_S,
    ) -> Read:
        """Open and sniff a file, or one page of an archive, without hashing it."""
        return await self._opened(wire.OpenRequest(path, expect, False, None, list(member)), timeout)

    async def read(
        self,
        path: bytes,
        *,
        expect: Stat | None = None,
        copy_to: bytes | None = None,
        member: Sequence[Hop] = (),
        timeout: float = READ_S,
    ) -> Read:
        """Open, sniff and hash a file or a page, and copy it to a synced temporary file when asked."""
        return await self._opened(wire.OpenRequest(path, expect, True, copy_to, list(member)), timeout)

    async def digest(self, path: bytes, *, expect: Stat | None = None, timeout: float = READ_S) -> Read:
        """Hash a file, whatever it is, without a look at its content."""
        return await self._opened(wire.OpenRequest(path, expect, True, None, anything=True), timeout)

    async def _opened(self, request: wire.OpenRequest, seconds: float) -> Read:
        self._holds_file = False
        answer = await self._ask(request, seconds, Read)
        self._holds_file = True
        return answer

    async def decode(self, wanted: list[Wanted], *, turn: int = 0, timeout: float = DECODE_S) -> Decoded:
        """Decode the file that was opened last and make the wanted renditions, turned clockwise."""
        self._check_holds_file()
        return await self._ask(wire.DecodeRequest(wanted, turn), timeout, Decoded)

    async def describe(
        self, path: bytes, kind: str, *, expect: Stat | None = None, timeout: float = STEP_S
    ) -> Described:
        """Read a small file that describes another one; the file in hand is let go."""
        self._holds_file = False
        return await self._ask(wire.DescribeRequest(path, kind, expect), timeout, Described)

    async def convert(
        self,
        path: bytes,
        *,
        turn: int,
        timeout: float,
        told: Callable[[Step], None],
        part: tuple[int, int] | None = None,
    ) -> Converted:
        """Make the video that was opened last, or that lies in a part of it, into one that browsers play."""
        self._check_holds_file()
        return await self._ask(wire.ConvertRequest(path, turn, part), timeout, Converted, told=told)

    async def frames(self, count: int, *, timeout: float = DECODE_S) -> list[Frame]:
        """Hash frames that are spread over the video that was opened last."""
        self._check_holds_file()
        return (await self._ask(wire.FramesRequest(count), timeout, wire.Frames)).frames

    def _check_holds_file(self) -> None:
        if not self._holds_file:
            raise LookupError("this needs a file that was opened or read by this child")

    async def place(self, temporary: bytes, final: bytes, *, timeout: float = STEP_S) -> None:
        """Give a copied file its final name, durably."""
        await self._ask(wire.PlaceRequest(temporary, final), timeout, wire.Done)

    async def remove_source(self, path: bytes, expect: Stat, *, timeout: float = STEP_S) -> None:
        """Unlink a `move` source that is still the file that was read; only after the commit."""
        await self._ask(wire.RemoveRequest(path, expect), timeout, wire.Done)

    async def tier(self) -> Tier:
        """Tell which confinements are in force in the child."""
        tier = (await self._running()).tier
        if tier is None:
            raise DecoderUnavailable("the decoder did not say how it is confined")
        return tier

    async def _ask(
        self,
        request: wire.Request,
        seconds: float,
        expected: type[_Answer],
        **heard: Callable[[Step], None],
    ) -> _Answer:
        process = await self._running()
        try:
            answer = await process.ask(request, seconds, **heard)
        except BaseException:
            self._process, self._holds_file = None, False
            raise
        if isinstance(answer, wire.Failed):
            self._full = self._full or answer.reason is Reason.OUT_OF_MEMORY
            raise MediaFailure(answer.reason, answer.detail, seen=answer.seen)
        if not isinstance(answer, expected):
            raise TypeError(f"the decoder answered {type(answer).__name__}")
        return answer

    async def _running(self) -> Process:
        if self._process is not None and not self._process.usable:
            await self.end()
        if self._process is None:
            self._process = await Process.start(self._limits)
            self._holds_file = self._full = False
        return self._process

    def claim(self) -> None:
        """Take the child out of its rest."""
        if self._retiring is not None:
            self._retiring.cancel()
            self._retiring = None

    async def rest(self) -> None:
        """Keep the process for a while, unless it is worn out or holds much memory."""
        self._holds_file = False
        process = self._process
        if process is None:
            return
        if self._full or process.served >= self._limits.items or self._holds_much(process):
            await self.end()
            return
        loop = asyncio.get_running_loop()
        self._retiring = loop.call_later(self._limits.idle_s, self._retire)

    def _holds_much(self, process: Process) -> bool:
        resident, claimed = process.memory()
        # What is claimed counts against the limit, also where nothing was written to it yet.
        return resident > self._limits.resting_memory or claimed > self._limits.memory // 2

    def _retire(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.retire()

    async def end(self) -> None:
        """End the process now."""
        self.claim()
        process, self._process, self._holds_file = self._process, None, False
        if process is not None:
            await process.end()


class DecodePool:
    """At most `size` children, started on demand and ended when they have nothing to do."""

    def __init__(self, size: int, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._turns = Turns(size)
        # The one used last comes first, so that the others reach their rest.
        self._resting: list[Child] = [Child(self._limits) for _ in range(size)]
        self._everyone = list(self._resting)
        self._closed = False

    @contextlib.asynccontextmanager
    async def child(self, *, fresh: bool = False, urgent: bool = False) -> AsyncIterator[Child]:
        """Lend a child for one file; a fresh one has served nobody before and nobody after.

        An urgent file is one that a person looks at: it gets the next child that is free.
        """
        async with self._turns.turn(urgent=urgent):
            if self._closed:
                raise DecoderUnavailable("the decoders are closed")
            child = self._resting.pop()
            child.claim()
            try:
                if fresh:
                    await child.end()
                yield child
            finally:
                try:
                    await (child.end() if fresh else child.rest())
                finally:
                    self._resting.append(child)

    async def tier(self) -> Tier:
        """Tell which confinements hold on this machine, starting a child if none runs."""
        async with self.child() as child:
            return await child.tier()

    def pids(self) -> list[int]:
        """The process ids of all running children."""
        return [child.pid for child in self._everyone if child.pid is not None]

    async def close(self) -> None:
        """End every child, also those at work, whose files are not to blame for it."""
        self._closed = True
        await asyncio.gather(*(child.end() for child in self._everyone))
