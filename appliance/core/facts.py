"""Facts: what happened, recorded in the unit of work, rung after the commit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that happened and that a lane may care about; it only rings, it carries no payload."""


Ringer = Callable[[Sequence[type[Fact]]], Awaitable[None]]


async def _silent(_kinds: Sequence[type[Fact]]) -> None:
    """Where no doorbell is connected, drains find their rows by their own schedule."""


_ringer: Ringer = _silent


def ring_with(ringer: Ringer) -> None:
    """Connect the doorbell; called once by the composition root."""
    global _ringer  # noqa: PLW0603 - one doorbell per process
    _ringer = ringer


async def ring(kinds: Sequence[type[Fact]]) -> None:
    """Tell the lanes which kinds of fact have become true."""
    if kinds:
        await _ringer(kinds)
