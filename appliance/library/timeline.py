"""What a grid shows of an asset, and the columns that say it; searches decide which and in what order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from appliance.core.keyset import Position


OPAQUE = frozenset({"image/jpeg", "image/heic", "image/heif", "image/bmp"})
"""Formats that are practically never transparent."""


class Tile(msgspec.Struct, frozen=True):
    """What a grid shows of one asset."""

    id: int
    effective_at: datetime
    kind: str
    mime: str
    width: int
    height: int
    duration_ms: int | None
    frames: int | None
    dominant: int | None
    rating: int
    title: str | None
    missing: bool
    grid: str | None
    """State of the grid picture; None where none was ever asked for."""
    grid_version: int
    grid_width: int | None
    grid_height: int | None
    reason: str | None
    """Why there is no grid picture."""
    value: datetime | int | None = None
    """What the order that it was read in sorts by; None means the date."""
    tags: Sequence[str] = ()
    """The tags that say most about it: those of people and works first, then the rarest."""

    @property
    def ground(self) -> int | None:
        """Colour to stand in for the picture; none where it could shine through the picture for ever."""
        opaque = self.kind == "video" or self.mime in OPAQUE
        return self.dominant if opaque else None

    @property
    def position(self) -> Position:
        """Its place in the order that it was read in."""
        return Position(self.effective_at if self.value is None else self.value, self.id)

    @property
    def place(self) -> str:
        """Its place as it stands in addresses."""
        return self.position.text()


TILES = """
SELECT a.id, a.effective_at, a.kind, a.mime, a.width, a.height, a.duration_ms, a.frames, a.dominant,
       a.rating, a.title, a.missing_since IS NOT NULL, r.status, coalesce(r.version, 1), r.width, r.height,
       r.reason, hit.value,
       ARRAY(SELECT k.name FROM asset_tag x JOIN tag k ON k.id = x.tag_id WHERE x.asset_id = a.id
             ORDER BY k.kind IN ('general', 'meta', 'rating'), k.uses, k.id LIMIT 3)
FROM ({}) hit JOIN asset a ON a.id = hit.id
LEFT JOIN rendition r ON r.asset_id = a.id AND r.name = 'grid-240'
ORDER BY hit.value {way}, hit.id {way}
"""
"""SQL: the tiles of rows `(id, value)`."""
