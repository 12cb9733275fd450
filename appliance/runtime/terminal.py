"""What a person sees while Vitrine starts and runs: few lines, what happens, how long it takes."""

from __future__ import annotations

import contextlib
import sys
import time


EVERY = 10.0


def say(line: str = "") -> None:
    """One line for the person or the container's log."""
    # Whoever read it may have gone (`up | head`); that ends no instance.
    with contextlib.suppress(OSError):
        print(line, flush=True)


def complain(line: str) -> None:
    """One line about a refusal."""
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


class Waiting:
    """Says after some seconds, and then every ten, what is waited for."""

    def __init__(self, what: str, *, first: float = 3.0) -> None:
        self._what = what
        self._begun = time.monotonic()
        self._next = self._begun + first

    def tell(self, detail: str = "") -> None:
        """Call it as often as you like."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + EVERY
            say(f"  {self._what} … {now - self._begun:.0f} s{f' ({detail})' if detail else ''}")
