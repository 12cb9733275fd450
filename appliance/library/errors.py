"""Refusals of the library, named by the fact."""

from __future__ import annotations

from appliance.core.errors import VitrineError


class NoFile(VitrineError):
    """The asset has no file that can be read at the moment."""

    status = 410
