"""The library is filled through the real ingest pipeline."""

from __future__ import annotations

from tests.ingest.conftest import folder, ingest


__all__ = ["folder", "ingest"]
