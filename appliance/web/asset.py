"""One asset: its picture on a stage, and what is known about it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from litestar import Controller, Request, Response, get

from appliance.core import db, names
from appliance.core.errors import NotFound
from appliance.duplicates import services as duplicates
from appliance.ingest import following, vanished
from appliance.library import motion, queries, services, volumes
from appliance.library.queries import AssetView, FileView, RenditionView
from appliance.tagging import services as tagging
from appliance.web import datewords, factwords, words
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
    volume = await volumes.view(sql, asset.id, person and person.id) if asset.kind == "volume" else None
    everything = sees_everything(request)
    return {
        "volume": volume,
        "holders": await volumes.holders(sql, asset.id, everything=everything),
        "asset": asset,
        "files": await queries.files(sql, asset.id),
        "origins": await queries.origins(sql, asset.id),
        "last_seen": await vanished.last_seen(sql, asset.id) if asset.missing_since else [],
        "versions": await _versions(request, sql, asset.id),
        "looks_like": await duplicates.of_asset(sql, asset.id) if person and person.admin else None,
        "taken": datewords.taken(asset),
        "tags": tags,
        "recent": [t for t in recent if t.id not in {each.tag.id for each in tags}],
        "may_edit": person is not None and person.admin,
        "place": _place,
        "changed": _changed,
        "flags": [FLAGS.get(f, f) for f in asset.flags],
        "renditions": sorted(renditions.values(), key=lambda r: r.name),
        "facts": factwords.of_file(asset.facts),
        "described": [factwords.of_sidecar(each) for each in await following.sidecars_of(sql, asset.id)],
        "film": await motion.of(sql, asset.id, everything=everything),
    }


async def _versions(request: AnyRequest, sql: Connection[Any], asset_id: int) -> dict[int, queries.Pictured]:
    """The other versions of an asset, with what showing them needs."""
    ids = await duplicates.versions(sql, asset_id, archived=sees_everything(request))
    return await queries.pictured(sql, ids) if ids else {}


HANDLERS = (AssetController,)
