"""The decode pool of this process, shared by imports and pictures."""

from __future__ import annotations

from functools import cache

from appliance.core import settings
from appliance.media.decoder import DecodePool


@cache
def pool() -> DecodePool:
    """The one pool of the process; either lane may use all of it while the other is idle."""
    return DecodePool(settings.current().decoders)
