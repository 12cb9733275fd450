"""How an asset is shown: what is there at once, what follows, and what it is when it is seen closely."""

from __future__ import annotations

from typing import Any, NamedTuple

from appliance.library import shown
from appliance.library.motion import Motion
from appliance.library.queries import AssetView, Pictured, RenditionView
from appliance.web import words


class Stage(NamedTuple):
    """The stage of an asset's page."""

    asset: AssetView
    grid: RenditionView | None
    preview: RenditionView | None

    @classmethod
    def of(cls, asset: AssetView, renditions: dict[str, RenditionView]) -> Stage:
        """The stage of an asset with these derived pictures."""
        grid = renditions.get("grid-480") or renditions.get("grid-240")
        return cls(asset, grid, renditions.get("preview"))

    @property
    def title(self) -> str:
        """What the page is called."""
        return self.asset.title or words.wall(self.asset.effective_at)

    @property
    def state(self) -> str:
        """`ready`, `waits`, or `failed` with the reason shown."""
        if self.film or self.moves or (self.preview and self.preview.status == "complete"):
            return "ready"
        return "failed" if self.preview is None or self.preview.status == "failed" else "waits"

    @property
    def film(self) -> str:
        """`original` for a video that browsers play, `wish` for one that is made playable, else empty."""
        if self.asset.kind != "video":
            return ""
        asset = self.asset
        return "original" if shown.film(asset.mime, asset.turn, asset.facts) else "wish"

    @property
    def moves(self) -> str:
        """An animation: `original` as it is, if need be turned by the style sheet; `full` drawn anew."""
        return shown.moving(self.asset.mime) if self.asset.kind == "animation" else ""

    @property
    def closely(self) -> str:
        """Where the picture in full size is, in a form that browsers show."""
        return closely(self.asset.id, self.asset.kind, self.asset.mime, self.asset.turn)

    @property
    def under(self) -> RenditionView | None:
        """The picture that is there at once."""
        return self.grid if self.grid and self.grid.status == "complete" else None


def closely(asset_id: int, kind: str, mime: str, turn: int) -> str:
    """The address of the full size; a video's is its original, a volume is read."""
    if kind == "volume":
        return f"/asset/{asset_id}/read"
    still = shown.picture(mime, turn) and mime not in shown.UNSURE
    direct = (mime not in shown.REDRAWN) if kind != "still" else still
    return f"/media/{asset_id}/{'original' if direct else 'full'}"


def item(found: Pictured, place: str, motion: Motion | None = None) -> dict[str, Any]:
    """What the viewer needs to show an asset, by the names that its script uses."""
    moving = shown.moving(found.mime) if found.kind == "animation" else ""
    film = ""
    if found.kind == "video":
        film = "original" if shown.film(found.mime, found.turn, found.facts) else "wish"
    media = f"/media/{found.id}"
    return {
        "id": found.id,
        "place": place,
        "kind": found.kind,
        "title": found.title or words.wall(found.effective_at),
        "when": words.wall(found.effective_at),
        "width": found.width,
        "height": found.height,
        "turn": found.turn if moving == "original" else 0,
        "under": f"{media}/{found.grid}?v={found.grid_version}" if found.grid else "",
        "src": f"{media}/{moving}" if moving else f"{media}/preview?v={found.preview_version}",
        "closely": closely(found.id, found.kind, found.mime, found.turn),
        "film": film,
        "motion": motion.played(found.turn) if motion else "",
        "failed": "" if found.preview != "failed" or moving or film else words.why(found.reason),
    }
