"""What happens to tags that lanes care about."""

from __future__ import annotations

from dataclasses import dataclass

from appliance.core.facts import Fact


@dataclass(frozen=True, slots=True)
class MergeAsked(Fact):
    """A large merge waits for its task."""
