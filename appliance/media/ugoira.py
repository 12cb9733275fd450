"""Ugoira: an animation as a ZIP of pictures with a list of how long each is shown."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from PIL import Image

from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import Page


# What browsers make of a frame that asks for no time at all.
_ZERO_MEANS_MS = 100
_LONGEST_MS = 600_000


class Timed(msgspec.Struct, frozen=True):
    """One frame and how many milliseconds it is shown."""

    page: Page
    delay_ms: int


def frames(plan: bytes, pages: list[Page], limit: int) -> list[Timed]:
    """The frames of an animation in the order of its list; empty when this is none."""
    listed = _listed(plan)
    if not listed:
        return []
    if len(listed) > limit:
        raise MediaFailure(Reason.TOO_LARGE, f"{len(listed):,} frames > {limit:,}")
    by_name = {page.name.rpartition(b"/")[2]: page for page in pages}
    found = [Timed(by_name[name], delay) for name, delay in listed if name in by_name]
    if len(found) < len(listed):
        missing = len(listed) - len(found)
        raise MediaFailure(Reason.CORRUPT, f"ugoira: {missing:,} of {len(listed):,} frames are not in it")
    return found


def _listed(plan: bytes) -> list[tuple[bytes, int]]:
    try:
        found = json.loads(plan) if plan else None
    except (ValueError, RecursionError):
        return []
    # As the site says it, as its viewer keeps it, or the bare list.
    for key in ("ugokuIllustData", "frames"):
        found = found.get(key, found) if isinstance(found, dict) else found
    if not isinstance(found, list):
        return []
    entries = [_entry(each) for each in found]
    return [entry for entry in entries if entry is not None] if all(entries) else []


def _entry(each: Any) -> tuple[bytes, int] | None:
    if not isinstance(each, dict) or not isinstance(each.get("file"), str):
        return None
    delay = each.get("delay")
    name = each["file"].encode("utf-8", "replace")
    if not isinstance(delay, int | float) or isinstance(delay, bool) or not 1 <= delay < _LONGEST_MS:
        return name, _ZERO_MEANS_MS
    return name, round(delay)


def animated(
    timed: list[Timed], upright: Callable[[Page], Image.Image], size: tuple[int, int]
) -> tuple[Image.Image, Iterator[Image.Image], list[int]]:
    """The first frame, the ones after it as they are needed, and how long each is shown."""

    def fitting(page: Page) -> Image.Image:
        picture = upright(page)
        return picture if picture.size == size else picture.resize(size)

    rest = (fitting(each.page) for each in timed[1:])
    return fitting(timed[0].page), rest, [each.delay_ms for each in timed]
