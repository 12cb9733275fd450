"""One asset: its picture on a stage, and what is known about it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from litestar import Controller, Request, Response, get

from appliance.core import db, names
from appliance.core.errors import NotFound
from appliance.library import motion, queries, services
from appliance.library.queries import AssetView, FileView, RenditionView
from appliance.tagging import services as tagging
from appliance.web import datewords, words
from appliance.web.beside import Beside, beside, run
from appliance.web.guards import EVERYBODY
from appliance.web.hypermedia import Screen, fragment, go, page, wants_fragment
from appliance.web.media import wait_for_preview
from appliance.web.remembering import remembered, sees_everything
from appliance.web.stages import Stage
from appliance.web.visitor import Visitor


if TYPE_CHECKING:
    from asyncpg import Connection


AnyRequest = Request[Any, Any, Any]
PANES = ("info", "files")
FLAGS = {"truncated": "The file ends early; what is there can be shown."}


def _place(file: FileView) -> str:
    return names.display(file.root + b"/" + file.path if file.root is not None else file.path)


def _changed(file: FileView) -> str:
    try:
        return words.full(datetime.fromtimestamp(file.mtime_ns / 1e9, UTC))
    except (ValueError, OverflowError, OSError):
        return words.NOTHING


class AssetController(Controller):
    """The page of an asset, its live picture, its panel, and the viewer over the gallery."""

    opt = EVERYBODY

    path = "/asset"

    @get("/{asset_id:int}")
    async def show(
        self, request: AnyRequest, asset_id: int, pane: str = "info", q: str = ""
    ) -> Response[Any]:
        """The asset on its stage; asking for it puts its missing preview first."""
        async with db.unit_of_work() as uow:
            asset = await _seen(request, uow.sql, asset_id)
            renditions = await queries.renditions(uow.sql, asset_id)
            near = await beside(uow.sql, asset, q, admin=sees_everything(request))
            ids = [n for n in (near.newer, near.older) if n is not None]
            await services.want_preview(uow, asset_id, neighbours=ids)
            values = await _panel(request, uow.sql, asset, renditions)
        stage = Stage.of(asset, renditions)
        return page(
            request,
            "asset/index.html",
            Screen("asset", stage.title, "gallery"),
            stage=stage,
            beside=near,
            pane=pane if pane in PANES else "info",
            **values,
        )

    @get("/{asset_id:int}/picture")
    async def picture(self, request: AnyRequest, asset_id: int) -> Response[Any]:
        """The sharp picture once it is there; waits for it a while."""
        if not wants_fragment(request):
            return go(f"/asset/{asset_id}")
        await remembered.of(asset_id, request)
        await wait_for_preview(asset_id)
        async with db.unit_of_work() as uow:
            asset = await _seen(request, uow.sql, asset_id)
            stage = Stage.of(asset, await queries.renditions(uow.sql, asset_id))
        may_edit = sees_everything(request)
        return fragment("asset/_picture.html", stage=stage, asset=asset, may_edit=may_edit)

    @get("/{asset_id:int}/panel")
    async def panel(
        self, request: AnyRequest, asset_id: int, pane: str = "info", q: str = ""
    ) -> Response[Any]:
        """What stands beside the picture in the viewer; a page of its own when asked for plainly."""
        near = Beside(q, None, None, None)
        if not wants_fragment(request):
            return go(near.to(asset_id, pane=pane))
        async with db.unit_of_work() as uow:
            asset = await _seen(request, uow.sql, asset_id)
            renditions = await queries.renditions(uow.sql, asset_id)
            values = await _panel(request, uow.sql, asset, renditions)
        return fragment("asset/_over.html", beside=near, pane=pane if pane in PANES else "info", **values)

    @get("/{asset_id:int}/run")
    async def run(
        self, request: AnyRequest, asset_id: int, q: str = "", place: str = "", way: str = "here"
    ) -> Response[Any]:
        """The assets of a search from one place on, for the viewer: `here` includes the one at the place."""
        admin = sees_everything(request)
        async with db.unit_of_work() as uow:
            if not place:
                asset = await _seen(request, uow.sql, asset_id)
                near = await beside(uow.sql, asset, q, admin=admin)
                place = near.place.text() if near.place else ""
            if not place:
                raise NotFound("This search does not find it")
            found = await run(uow.sql, q, place, way, admin=admin)
        return Response(found, headers={"Cache-Control": "no-store"})

    @get("/viewer")
    async def viewer(self) -> Response[Any]:
        """The empty viewer, which its script fills."""
        return fragment("asset/_viewer.html")


async def _seen(request: AnyRequest, sql: Connection[Any], asset_id: int) -> AssetView:
    """The asset; what a viewer may not see does not exist for them."""
    asset = await queries.asset(sql, asset_id)
    if not (asset.visible or sees_everything(request)):
        raise NotFound("There is no such picture")
    return asset


async def _panel(
    request: AnyRequest, sql: Connection[Any], asset: AssetView, renditions: dict[str, RenditionView]
) -> dict[str, Any]:
    """Values of the panel, wherever it stands."""
    tags = await tagging.of_asset(sql, asset.id)
    person = Visitor.of(request).person
    recent = await tagging.recent(sql, person.id, limit=8) if person else []
    return {
        "asset": asset,
        "files": await queries.files(sql, asset.id),
        "origins": await queries.origins(sql, asset.id),
        "taken": datewords.taken(asset),
        "tags": tags,
        "recent": [t for t in recent if t.id not in {each.tag.id for each in tags}],
        "may_edit": person is not None and person.admin,
        "place": _place,
        "changed": _changed,
        "flags": [FLAGS.get(f, f) for f in asset.flags],
        "renditions": sorted(renditions.values(), key=lambda r: r.name),
        "facts": camera_facts(asset.facts),
        "film": await motion.of(sql, asset.id),
    }


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
        "motion",
        "live_id",
    }
)
LABELS = {
    "video_codec": "Video",
    "audio_codec": "Sound",
    "frame_rate": "Frames per second",
    "hdr": "High dynamic range",
    "dolby_vision": "Dolby Vision",
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
    if not isinstance(bits, int | float) or bits <= 0:
        return ""
    return f"{bits / 1e6:.1f} Mbit/s" if bits >= 1e6 else f"{bits / 1e3:.0f} kbit/s"


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
