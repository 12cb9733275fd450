"""What happens to bulk actions that lanes care about."""

from __future__ import annotations

from dataclasses import dataclass

from appliance.core.facts import Fact


@dataclass(frozen=True, slots=True)
class OperationQueued(Fact):
    """A bulk action waits for its task."""
