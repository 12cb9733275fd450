"""Who gets the next free decoder: those whom a person waits for, then everybody in order of arrival."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator


class Turns:
    """A semaphore with a second, faster queue."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._urgent: deque[asyncio.Future[None]] = deque()
        self._others: deque[asyncio.Future[None]] = deque()

    @contextlib.asynccontextmanager
    async def turn(self, *, urgent: bool = False) -> AsyncIterator[None]:
        """Hold one place for the length of the block."""
        await self._take(self._urgent if urgent else self._others)
        try:
            yield
        finally:
            self._give()

    async def _take(self, queue: deque[asyncio.Future[None]]) -> None:
        if self._free and not self._urgent and not self._others:
            self._free -= 1
            return
        place = asyncio.get_running_loop().create_future()
        queue.append(place)
        try:
            await place
        except asyncio.CancelledError:
            # Cancelled after the place was handed over: the next one gets it.
            if place.done() and not place.cancelled():
                self._give()
            elif place in queue:
                queue.remove(place)
            raise

    def _give(self) -> None:
        """Hand the place over; a waiter that was cancelled but has not noticed yet is passed by."""
        for queue in (self._urgent, self._others):
            while queue:
                waiter = queue.popleft()
                if not waiter.done():
                    waiter.set_result(None)
                    return
        self._free += 1
