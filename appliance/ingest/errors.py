"""Refusals of ingest, named by the fact."""

from __future__ import annotations

from appliance.core.errors import Conflict, Invalid


class NotAFolder(Invalid):
    """The path cannot be a root."""


class ContainsRoots(Conflict):
    """The folder holds roots already; scanning it too would read them twice."""


class OtherMode(Conflict):
    """The folder is a root with another mode."""
