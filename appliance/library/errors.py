"""Refusals of the library, named by the fact."""

from __future__ import annotations

from appliance.core.errors import NotFound, VitrineError


class NoAsset(NotFound):
    """No asset has this number."""


class NoFile(VitrineError):
    """The asset has no file that can be read at the moment."""

    status = 410
