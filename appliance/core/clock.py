"""Time comes from here, so that tests can hold and step it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime


class Clock:
    """Wall and monotonic time of this process."""

    def now(self) -> datetime:
        """The instant, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never step; on Linux they stand still while the machine is suspended."""
        return time.monotonic()

    def boottime(self) -> float:
        """Seconds that never step and go on during a suspend, where the system has such a clock."""
        source: int | None = getattr(time, "CLOCK_BOOTTIME", None)
        return time.monotonic() if source is None else time.clock_gettime(source)


_clock = Clock()


def use(clock: Clock) -> Callable[[], None]:
    """Put another clock in place; the answer puts the former one back."""
    global _clock
    former, _clock = _clock, clock

    def restore() -> None:
        global _clock  # noqa: PLW0603
        _clock = former

    return restore


def now() -> datetime:
    """The instant, in UTC."""
    return _clock.now()


def monotonic() -> float:
    """Seconds that never step."""
    return _clock.monotonic()


def boottime() -> float:
    """Seconds that never step and count a suspend."""
    return _clock.boottime()
