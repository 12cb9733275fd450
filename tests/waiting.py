"""Waiting for a condition instead of sleeping."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


async def until(condition: Callable[[], Any], what: str, limit: float = 60) -> Any:
    """Wait for a condition and return its value; the limit only ends a hopeless wait."""
    try:
        async with asyncio.timeout(limit):
            while True:
                answer = condition()
                if asyncio.iscoroutine(answer):
                    answer = await answer
                if answer:
                    return answer
                await asyncio.sleep(0.01)
    except TimeoutError as error:
        raise AssertionError(f"not within {limit:g} s: {what}") from error
