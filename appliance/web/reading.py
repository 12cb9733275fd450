"""Reading a volume: its pages one after the other, and where each person is in it."""

from __future__ import annotations

import asyncio
import hashlib
import os
from typing import TYPE_CHECKING, Any

from litestar import Controller, Request, Response, get, post
from litestar.response import Stream

from appliance.core import clock, db, settings
from appliance.core.errors import NotFound, Unavailable
from appliance.library import files, queries, shown, volumes
from appliance.library.files import Original
from appliance.library.queries import AssetView
from appliance.library.volumes import PageView, VolumeView
from appliance.media import hops
from appliance.media.hops import Broken
from appliance.media.reasons import Reason
from appliance.web import reaching, words
from appliance.web.guards import EVERYBODY
from appliance.web.hypermedia import Screen, fragment, go, page, wants_fragment
from appliance.web.media import FOREVER
from appliance.web.remembering import remembered, sees_everything
from appliance.web.sending import SANDBOX, Gone, disposition, on_storage, open_recorded, send_original
from appliance.web.spreads import COOKIE, FITS, Manner, spread
from appliance.web.visitor import Visitor, remember


if TYPE_CHECKING:
    from asyncpg import Connection


AnyRequest = Request[Any, Any, Any]
PAGE_SECONDS = 10.0
MOST_PAGES = 48


class ReaderController(Controller):
    """The reader, the pages of a volume at a glance, and the pages themselves."""

    opt = EVERYBODY

    @get("/asset/{asset_id:int}/read")
    async def read(self, request: AnyRequest, asset_id: int, page: int | None = None) -> Response[Any]:
        """One spread of a volume, where the person stopped unless the address says a page."""
        async with db.unit_of_work() as uow:
            asset, volume = await _volume(request, uow.sql, asset_id)
            manner = Manner.of(request, volume)
            seen = await spread(uow.sql, volume, page or volume.place or 1, manner)
            troubles = await reaching.known_troubles(uow.sql, volume, seen.pages)
            if wants_fragment(request):
                admin = sees_everything(request)
                return fragment("reader/_spread.html", spread=seen, troubles=troubles, admin=admin)
            await volumes.want_pages(uow, asset_id)
            await _note(request, uow.sql, volume, seen.first)
        screen = Screen("reader", _title(asset, volume), "gallery")
        answer = _whole(request, screen, spread=seen, troubles=troubles, asset=asset)
        answer.set_cookie(remember(COOKIE, manner.kept))
        return answer

    @get("/asset/{asset_id:int}/leaf")
    async def leaf(self, request: AnyRequest, asset_id: int, page: int, tried: int = 0) -> Response[Any]:
        """A page that did not come: what is wrong and the way out, or the page once more."""
        if not wants_fragment(request):
            return go(f"/asset/{asset_id}/read?page={page}")
        async with db.unit_of_work() as uow:
            _asset, volume = await _volume(request, uow.sql, asset_id)
            found = await volumes.page(uow.sql, asset_id, page)
        if found is None:
            raise NotFound("There is no such page")
        values: dict[str, Any] = {"admin": sees_everything(request), "volume_id": asset_id, "p": found}
        missing = await reaching.trouble(volume, found, tried=bool(tried))
        return fragment("reader/_leaf.html", trouble=missing, tried=True, **values)

    @post("/asset/{asset_id:int}/read", status_code=204)
    async def keep(self, request: AnyRequest, asset_id: int, page: int, rtl: int | None = None) -> None:
        """Remember the page that the script has turned to."""
        async with db.unit_of_work() as uow:
            _asset, volume = await _volume(request, uow.sql, asset_id)
            await _note(request, uow.sql, volume, page, right_to_left=None if rtl is None else rtl == 1)

    @get("/asset/{asset_id:int}/pages")
    async def pages(self, request: AnyRequest, asset_id: int, start: int = 1) -> Response[Any]:
        """The pages of a volume as small pictures, some at a time."""
        async with db.unit_of_work() as uow:
            asset, volume = await _volume(request, uow.sql, asset_id)
            start = max(1, start)
            found = await volumes.pages(uow.sql, asset_id, start, start + MOST_PAGES - 1)
        values: dict[str, Any] = {
            "asset": asset,
            "volume": volume,
            "pages": found,
            "further": start + MOST_PAGES if start + MOST_PAGES <= volume.pages else None,
            "admin": sees_everything(request),
        }
        if wants_fragment(request):
            return fragment("reader/_pages.html", **values)
        return page(request, "reader/pages.html", Screen("pages", _title(asset, volume), "gallery"), **values)

    @get("/media/{asset_id:int}/page/{position:int}")
    async def page(
        self, request: AnyRequest, asset_id: int, position: int, v: str = ""
    ) -> Response[Any] | Stream:
        """One page as browsers show it: as it lies in the archive, or drawn anew.

        `v` is the version that the reader knew: another one may have been turned or put away since.
        """
        facts = await remembered.of(asset_id, request)
        found = await _page(request, asset_id, position)
        if not shown.picture(found.mime, found.turn) or (found.mime in shown.UNSURE and found.turned):
            return go(f"/media/{await _as_asset(asset_id, position)}/full")
        async with db.unit_of_work() as uow:
            original = await files.of_page(uow.sql, settings.current().home, asset_id, position)
        if found.asset_id is None and not sees_everything(request):
            await _check_unmade(original)
        headers = {
            "ETag": f'"{facts.sha256.hex()[:32]}-{position}"',
            "Cache-Control": FOREVER if v == found.version else "private, max-age=60",
            "Content-Disposition": disposition(original.name, inline=True),
            "Content-Security-Policy": SANDBOX,
        }
        number = await on_storage(lambda: open_recorded(original))
        return send_original(request, number, original, headers)


def _whole(request: AnyRequest, screen: Screen, **values: Any) -> Response[Any]:
    return page(
        request,
        "reader/index.html",
        screen,
        fits=FITS,
        admin=sees_everything(request),
        **values,
    )


def _title(asset: AssetView, volume: VolumeView) -> str:
    return asset.title or volume.name or words.wall(asset.effective_at)


async def _volume(request: AnyRequest, sql: Connection[Any], asset_id: int) -> tuple[AssetView, VolumeView]:
    """The volume; what a viewer may not see does not exist for them."""
    asset = await queries.asset(sql, asset_id)
    person = Visitor.of(request).person
    volume = await volumes.view(sql, asset_id, person.id if person else None)
    if volume is None or not (asset.visible or sees_everything(request)):
        raise NotFound("There is no such volume")
    return asset, volume


async def _note(
    request: AnyRequest,
    sql: Connection[Any],
    volume: VolumeView,
    at: int,
    *,
    right_to_left: bool | None = None,
) -> None:
    person = Visitor.of(request).person
    asked = request.query_params.get("rtl")
    if right_to_left is None and asked in ("0", "1"):
        right_to_left = asked == "1"
    if person is not None:
        await volumes.read_to(sql, volume.asset_id, person.id, at, right_to_left=right_to_left)


async def _page(request: AnyRequest, asset_id: int, position: int) -> PageView:
    async with db.unit_of_work() as uow:
        found = await volumes.page(uow.sql, asset_id, position)
    if found is None or (found.shut and not sees_everything(request)):
        raise NotFound("There is no such page")
    if found.status == "failed":
        raise Gone(words.why(found.reason), found.detail or "")
    if found.status == "complete" and found.asset_id is None:
        raise Gone("This page was deleted for good", "The archive itself still holds it.")
    return found


async def _check_unmade(original: Original) -> None:
    """What a person put away stays away also where it lies in a volume whose pages are not made yet."""
    digest, size = await on_storage(lambda: _digest(original))
    async with db.current().one_statement() as sql:
        if await volumes.is_put_away(sql, digest, size):
            raise NotFound("There is no such page")


def _digest(original: Original) -> tuple[bytes, int]:
    digest, size, number = hashlib.sha256(), 0, open_recorded(original)
    try:
        for piece in hops.pieces(number, original.way):
            digest.update(piece)
            size += len(piece)
    except Broken as broken:
        raise Gone(words.why(Reason.CORRUPT), f"Damaged within its archive: {broken}") from broken
    finally:
        os.close(number)
    return digest.digest(), size


async def _as_asset(asset_id: int, position: int) -> int:
    """The picture that a page becomes; made before everything else when it is none yet."""
    async with db.unit_of_work() as uow:
        found = await volumes.page(uow.sql, asset_id, position)
        if found is not None and found.asset_id is not None:
            return found.asset_id
        original = await files.of_page(uow.sql, settings.current().home, asset_id, position)
    # Nobody makes it while its folder is away.
    await reaching.check(original)
    end = clock.monotonic() + PAGE_SECONDS
    async with db.unit_of_work() as uow:
        await volumes.want_pages(uow, asset_id)
    while True:
        async with db.unit_of_work() as uow:
            found = await volumes.page(uow.sql, asset_id, position)
            volume = await volumes.view(uow.sql, asset_id, None)
        if found is not None and found.asset_id is not None:
            return found.asset_id
        for failed in (found, volume):
            if failed is None or failed.status == "failed":
                raise Gone(words.why(failed.reason if failed else None), (failed and failed.detail) or "")
        if clock.monotonic() >= end:
            raise Unavailable("This page is on its way", "Try again in a moment.")
        await asyncio.sleep(0.2)


HANDLERS = (ReaderController,)
