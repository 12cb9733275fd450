"""Who holds an upload at the moment: one request, which ends when it goes silent or is told to let go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from appliance.core.errors import VitrineError


IDLE_S = 60.0
"""A connection that brings nothing for so long is dead, whatever the network says."""


class Stopped(VitrineError):
    """The sender went silent, or sends the same file through another connection."""

    status = 408


class Hand:
    """A request that is appending to an upload; it can be told to let go."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self._patience: asyncio.Timeout | None = None

    @asynccontextmanager
    async def patience(self) -> AsyncIterator[None]:
        """Give up when nothing comes for a while."""
        try:
            async with asyncio.timeout(IDLE_S) as self._patience:
                yield
        except TimeoutError:
            raise Stopped("Nothing came for a while", "What has arrived is kept.") from None
        finally:
            self._patience = None

    def go_on(self) -> None:
        """Something came."""
        if self._patience is not None and not self._patience.expired():
            self._patience.reschedule(asyncio.get_running_loop().time() + IDLE_S)

    def let_go(self) -> None:
        """Stop at the next moment; what was received is kept."""
        if self._patience is not None:
            self._patience.reschedule(asyncio.get_running_loop().time())
