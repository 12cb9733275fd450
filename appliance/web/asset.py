"""One asset: its picture on a stage, and what is known about it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, NamedTuple

from litestar import Controller, Request, Response, get

from appliance.core import db, names
from appliance.core.errors import NotFound
from appliance.library import queries, services
from appliance.library.queries import AssetView, FileView, RenditionView
from appliance.web import words
from appliance.web.guards import EVERYBODY
from appliance.web.hypermedia import Screen, fragment, go, page, wants_fragment
from appliance.web.media import INLINE, wait_for_preview


AnyRequest = Request[Any, Any, Any]
PANES = ("info", "files")
SOURCES = {
    "exif": "from the camera\N{RIGHT SINGLE QUOTATION MARK}s own record",
    "container": "from the video file",
    "sidecar": "from a file beside it",
    "name": "from the file name",
    "mtime": "when the file was last changed",
    "import": "when it came in",
}
FLAGS = {"truncated": "The file ends early; what is there can be shown."}


class Stage(NamedTuple):
    """How the picture is shown."""

    asset: AssetView
    grid: RenditionView | None
    preview: RenditionView | None

    @property
    def title(self) -> str:
        """What the page is called."""
        return self.asset.title or words.wall(self.asset.effective_at)

    @property
    def state(self) -> str:
        """`ready`, `waits`, or `failed` with the reason shown."""
        if self.plays or self.moves or (self.preview and self.preview.status == "complete"):
            return "ready"
        return "failed" if self.preview is None or self.preview.status == "failed" else "waits"

    @property
    def plays(self) -> bool:
        """A video in a container that browsers open."""
        return self.asset.kind == "video" and self.asset.mime in INLINE

    @property
    def moves(self) -> bool:
        """An animation that browsers show as it is."""
        return self.asset.kind == "animation" and self.asset.mime in INLINE

    @property
    def under(self) -> RenditionView | None:
        """The picture that is there at once."""
        return self.grid if self.grid and self.grid.status == "complete" else None


def _stage(asset: AssetView, renditions: dict[str, RenditionView]) -> Stage:
    return Stage(asset, renditions.get("grid-480") or renditions.get("grid-240"), renditions.get("preview"))


def _taken(asset: AssetView) -> tuple[str, str]:
    source = SOURCES[asset.date_source]
    if asset.taken_at is None:
        return words.wall(asset.effective_at), source
    return words.wall(asset.taken_at), f"{source}, {words.offset(asset.taken_offset)}"


def _place(file: FileView) -> str:
    return names.display(file.root + b"/" + file.path if file.root is not None else file.path)


def _changed(file: FileView) -> str:
    try:
        return words.full(datetime.fromtimestamp(file.mtime_ns / 1e9, UTC))
    except (ValueError, OverflowError, OSError):
        return words.NOTHING


class AssetController(Controller):
    """The page of an asset and its live picture."""

    opt = EVERYBODY

    path = "/asset"

    @get("/{asset_id:int}")
    async def show(self, request: AnyRequest, asset_id: int, pane: str = "info") -> Response[Any]:
        """The asset on its stage; asking for it puts its missing preview first."""
        async with db.unit_of_work() as uow:
            asset = await queries.asset(uow.sql, asset_id)
            renditions = await queries.renditions(uow.sql, asset_id)
            beside = await queries.neighbours(uow.sql, asset.position)
            near = [n for n in (beside.newer, beside.older) if n is not None]
            await services.want_preview(uow, asset_id, neighbours=near)
            files = await queries.files(uow.sql, asset_id)
            origins = await queries.origins(uow.sql, asset_id)
        stage = _stage(asset, renditions)
        return page(
            request,
            "asset/index.html",
            Screen("asset", stage.title, "gallery"),
            stage=stage,
            asset=asset,
            beside=beside,
            files=files,
            origins=origins,
            taken=_taken(asset),
            place=_place,
            changed=_changed,
            flags=[FLAGS.get(f, f) for f in asset.flags],
            pane=pane if pane in PANES else "info",
            renditions=sorted(renditions.values(), key=lambda r: r.name),
            facts=camera_facts(asset.facts),
        )

    @get("/{asset_id:int}/picture")
    async def picture(self, request: AnyRequest, asset_id: int) -> Response[Any]:
        """The sharp picture once it is there; waits for it a while."""
        if not wants_fragment(request):
            return go(f"/asset/{asset_id}")
        await wait_for_preview(asset_id)
        async with db.unit_of_work() as uow:
            asset = await queries.asset(uow.sql, asset_id)
            stage = _stage(asset, await queries.renditions(uow.sql, asset_id))
        if stage.asset.state == "trashed":
            raise NotFound("This picture is in the trash")
        return fragment("asset/_picture.html", stage=stage, asset=asset)


HIDDEN = frozenset(
    {
        "make",
        "model",
        "lens",
        "exposure",
        "f_number",
        "iso",
        "focal_length",
        "focal_length_35mm",
        "latitude",
        "longitude",
        "bit_rate",
        "flash",
        "pixel_format",
        "container",
    }
)
LABELS = {
    "video_codec": "Video",
    "audio_codec": "Sound",
    "frame_rate": "Frames per second",
}


def camera_facts(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """What the file says about itself: the camera first, the way it was set, the place, then the rest."""
    lines = [
        ("Camera", _camera(facts)),
        ("Lens", _fact(facts.get("lens", ""))),
        ("Set to", _exposure(facts)),
        ("Place", _position(facts)),
        ("Data rate", _rate(facts.get("bit_rate"))),
    ]
    lines += [
        (LABELS.get(k, k.replace("_", " ").capitalize()), _fact(v))
        for k, v in facts.items()
        if k not in HIDDEN
    ]
    return [(label, text) for label, text in lines if text]


def _camera(facts: dict[str, Any]) -> str:
    make, model = _fact(facts.get("make", "")), _fact(facts.get("model", ""))
    return model if model.casefold().startswith(make.casefold()) else f"{make} {model}".strip()


def _exposure(facts: dict[str, Any]) -> str:
    length = facts.get("focal_length_35mm") or facts.get("focal_length")
    parts = (
        f"{_fact(length)} mm" if length else "",
        f"f/{_fact(facts['f_number'])}" if facts.get("f_number") else "",
        _fact(facts.get("exposure", "")),
        f"ISO {_fact(facts['iso'])}" if facts.get("iso") else "",
        "flash" if facts.get("flash") is True else "",
    )
    return ", ".join(p for p in parts if p)


def _rate(bits: Any) -> str:
    return f"{bits / 1e6:.1f} Mbit/s" if isinstance(bits, int | float) and bits > 0 else ""


def _position(facts: dict[str, Any]) -> str:
    latitude, longitude = facts.get("latitude"), facts.get("longitude")
    if not isinstance(latitude, int | float) or not isinstance(longitude, int | float):
        return ""
    north, east = ("N" if latitude >= 0 else "S"), ("E" if longitude >= 0 else "W")
    return f"{abs(latitude):.5f}° {north}, {abs(longitude):.5f}° {east}"


def _fact(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(_fact(v) for v in value)
    if isinstance(value, dict):
        return ", ".join(f"{k} {_fact(v)}" for k, v in value.items())
    return "yes" if value is True else "no" if value is False else str(value)


HANDLERS = (AssetController,)
