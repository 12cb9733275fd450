"""The part of a decode child that an import uses, and how one is lent."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from appliance.media.wire import Decoded, Described, Frame, Read, Stat, Wanted


class Reader(Protocol):
    """The part of a decode child that an import uses."""

    async def read(self, path: bytes, *, expect: Stat | None, copy_to: bytes | None) -> Read:
        """Open, sniff and hash; on the way copy when a place is named."""

    async def decode(self, wanted: list[Wanted]) -> Decoded:
        """Decode the open file and write the wanted renditions."""

    async def frames(self, count: int) -> list[Frame]:
        """Hash frames of the open film."""

    async def describe(self, path: bytes, kind: str, *, expect: Stat | None) -> Described:
        """Read a small file that describes another one, if it still is what was expected."""

    async def place(self, temporary: bytes, final: bytes) -> None:
        """Give the synced copy its final name, durably."""

    async def remove_source(self, path: bytes, expect: Stat) -> None:
        """Unlink the source if it still is the file that was read."""


Lend = Callable[[], AbstractAsyncContextManager[Reader]]
"""Gives a decode child for as long as one is needed."""
