"""What happens to assets that lanes care about."""

from __future__ import annotations

from dataclasses import dataclass

from appliance.core.facts import Fact


@dataclass(frozen=True, slots=True)
class AssetImported(Fact):
    """An asset came in; some of its renditions wait."""


@dataclass(frozen=True, slots=True)
class PreviewWanted(Fact):
    """Someone waits for a rendition."""


@dataclass(frozen=True, slots=True)
class PlayWanted(Fact):
    """Someone waits for a video that browsers cannot play as it is."""


@dataclass(frozen=True, slots=True)
class PagesWanted(Fact):
    """Someone opened a volume whose pages have not been made yet."""
