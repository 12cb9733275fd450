"""Pictures and originals: served from files, checked against what was recorded."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from litestar import Controller, Request, Response, get
from litestar.response import Stream

from appliance.core import clock, db, settings
from appliance.core.errors import NotFound, Unavailable
from appliance.library import files, motion, ondemand, queries, services, shown
from appliance.library.queries import Sendable
from appliance.media import hops
from appliance.media.fullsize import mime_of
from appliance.media.wire import FULL
from appliance.web import reaching, words
from appliance.web.guards import EVERYBODY
from appliance.web.remembering import remembered, sees_everything
from appliance.web.sending import SANDBOX, disposition, on_storage, open_recorded, send, send_original


AnyRequest = Request[Any, Any, Any]
PICTURES = frozenset({"grid-240", "grid-480", "preview"})
FOREVER = "private, max-age=31536000, immutable"
# Browsers show these; everything else is offered as a download, whatever its name says.
INLINE = frozenset(
    {
        "image/jpeg",
        "image/png",
        "image/apng",
        "image/webp",
        "image/avif",
        "image/gif",
        "image/bmp",
        "image/jxl",
        "video/mp4",
        "video/webm",
        "video/quicktime",
    }
)
PREVIEW_SECONDS = 10.0
FULL_SECONDS = 45.0
REDRAW_SECONDS = 6.0


def _read(path: os.PathLike[str]) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


async def wait_for_preview(asset_id: int, *, seconds: float = PREVIEW_SECONDS) -> str:
    """Ask for an asset's preview before all others and wait until it is there, failed, or the time is up."""
    begun = clock.monotonic()
    end = begun + seconds
    async with db.unit_of_work() as uow:
        status = await services.want_preview(uow, asset_id)
    while status in {"pending", "processing"} and clock.monotonic() < end:
        # Most are drawn within half a second, and waiting for the next look would be seen.
        await asyncio.sleep(0.03 if clock.monotonic() < begun + 1 else 0.25)
        async with db.unit_of_work() as uow:
            found = await queries.rendition_status(uow.sql, asset_id, "preview")
        status = found.status if found else "none"
    if status != "pending":
        remembered.forget(asset_id)
    return status


async def drawn(asset_id: int, name: str) -> bool:
    """Wait a moment for a picture that is just being drawn anew; others come when it is their turn."""
    end = clock.monotonic() + REDRAW_SECONDS
    while clock.monotonic() < end:
        async with db.unit_of_work() as uow:
            found = await queries.rendition_status(uow.sql, asset_id, name)
        if found is None or found.version == 1 or found.status not in {"pending", "processing"}:
            return found is not None and found.status == "complete"
        await asyncio.sleep(0.1)
    return False


async def wait_for_full(asset_id: int) -> None:
    """Have the full size of a picture made and wait for it; says why when there is none."""
    end = clock.monotonic() + FULL_SECONDS
    async with db.unit_of_work() as uow:
        status = await ondemand.want_full(uow, asset_id)
        await ondemand.used(uow.sql, asset_id, FULL)
    if status == "pending":
        await reaching.check_asset(asset_id)
    while status in {"pending", "processing"} and clock.monotonic() < end:
        await asyncio.sleep(0.1)
        async with db.unit_of_work() as uow:
            found = await queries.rendition_status(uow.sql, asset_id, FULL)
        if found is not None and found.status == "failed":
            raise Unavailable(words.why(found.reason), found.detail or "")
        status = found.status if found else "none"
    if status == "failed":
        async with db.unit_of_work() as uow:
            found = await queries.rendition_status(uow.sql, asset_id, FULL)
        raise Unavailable(words.why(found.reason if found else None), (found and found.detail) or "")
    if status != "complete":
        raise Unavailable("This picture is still being made", "Try again in a moment.")


class MediaController(Controller):
    """Bytes of assets."""

    opt = EVERYBODY

    path = "/media"

    @get("/{asset_id:int}/{name:str}")
    async def picture(self, request: AnyRequest, asset_id: int, name: str, v: str = "") -> Response[Any]:
        """A derived picture; a preview that is missing is made first."""
        if name not in PICTURES:
            raise NotFound("There is no such picture")
        facts = await remembered.of(asset_id, request)
        # A newer version than the known one: it was turned, and the file may still show it as it was.
        if name not in facts.pictures or (v and v != str(facts.pictures[name])):
            facts = await self._made(asset_id, name)
        path = settings.current().home.rendition(facts.sha256, name)
        body = await asyncio.to_thread(_read, path)
        if not body:
            body = await self._drawn_again(asset_id, name, path)
        headers = {
            "Cache-Control": FOREVER if v == str(facts.pictures[name]) else "private, max-age=60",
            "Content-Security-Policy": SANDBOX,
        }
        return Response(body, media_type="image/webp", headers=headers)

    async def _drawn_again(self, asset_id: int, name: str, path: os.PathLike[str]) -> bytes:
        """Pictures are never fsynced and may be deleted by hand: a row without its file draws it again."""
        async with db.unit_of_work() as uow:
            await services.redraw(uow, asset_id, name)
        remembered.forget(asset_id)
        await self._made(asset_id, name)
        body = await asyncio.to_thread(_read, path)
        if not body:
            raise NotFound("This picture is being made again", "It is on its way; try again in a moment.")
        return body

    async def _made(self, asset_id: int, name: str) -> Sendable:
        if name == "preview":
            await wait_for_preview(asset_id)
        facts = await remembered.fresh(asset_id)
        if name not in facts.pictures and name != "preview" and await drawn(asset_id, name):
            facts = await remembered.fresh(asset_id)
        if name not in facts.pictures:
            raise NotFound("This picture has not been made yet", "It is on its way; try again in a moment.")
        return facts

    @get("/{asset_id:int}/full")
    async def full(self, request: AnyRequest, asset_id: int) -> Response[Any] | Stream:
        """The picture in full size, in a form that browsers show; made when it is asked for."""
        await remembered.of(asset_id, request)
        # Read anew: it may have been turned since.
        facts = await remembered.fresh(asset_id)
        if shown.picture(facts.mime, facts.turn) and not await _is_turned(asset_id, facts):
            return await _original(request, asset_id, facts, download=False)
        if facts.kind == "video":
            raise NotFound("A video has no full size", "Open its original.")
        await wait_for_full(asset_id)
        path = settings.current().home.rendition(facts.sha256, FULL)
        try:
            number = await asyncio.to_thread(os.open, path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            async with db.unit_of_work() as uow:
                await services.redraw(uow, asset_id, FULL)
            raise Unavailable("This picture is being made again", "Try again in a moment.") from None
        found = os.fstat(number)
        headers = {
            "ETag": f'"{facts.sha256.hex()[:24]}-{found.st_mtime_ns:x}"',
            "Cache-Control": "private, no-cache",
            "Content-Security-Policy": SANDBOX,
        }
        return send(request, number, found.st_size, mime_of(os.pread(number, 16, 0)), headers)

    @get("/{asset_id:int}/original")
    async def original(
        self, request: AnyRequest, asset_id: int, download: str = ""
    ) -> Response[Any] | Stream:
        """The file itself, in whole or in part."""
        await remembered.of(asset_id, request)
        # Read anew: it may have been saved again since, with other bytes.
        facts = await remembered.fresh(asset_id)
        return await _original(request, asset_id, facts, download=bool(download))

    @get("/{asset_id:int}/motion")
    async def motion(self, request: AnyRequest, asset_id: int) -> Response[Any] | Stream:
        """The film of a still, as its camera wrote it."""
        await remembered.of(asset_id, request)
        # Read anew: it may have been saved again since, with another film.
        facts = await remembered.fresh(asset_id)
        async with db.unit_of_work() as uow:
            film = await motion.of(uow.sql, asset_id, everything=sees_everything(request))
            if film is None:
                raise NotFound("This picture has no film")
            original = await files.original(uow.sql, settings.current().home, film.asset_id)
        headers = {
            "ETag": f'"{facts.sha256.hex()[:32]}-motion-{film.asset_id}"',
            "Cache-Control": "private, max-age=3600",
            "Content-Security-Policy": SANDBOX,
        }
        whole = hops.stretch(original.way)
        if original.way and whole is None:
            raise NotFound("This film lies in a packed archive", "Take the picture out of it to play it.")
        begin, length = film.part or (0, original.size)
        number = await on_storage(lambda: open_recorded(original))
        offset = begin + (whole.offset if whole else 0)
        return send(request, number, length, film.mime, headers, offset=offset)


async def _is_turned(asset_id: int, facts: Sendable) -> bool:
    """Whether the file itself asks for a turn that not every browser carries out."""
    if facts.mime not in shown.UNSURE:
        return False
    async with db.current().one_statement() as sql:
        turned: bool = await sql.fetchval("SELECT facts ? 'turned' FROM asset WHERE id = $1", asset_id)
    return turned


async def _original(
    request: AnyRequest, asset_id: int, facts: Sendable, *, download: bool
) -> Response[Any] | Stream:
    async with db.unit_of_work() as uow:
        original = await files.original(uow.sql, settings.current().home, asset_id)
    headers = {
        "ETag": f'"{facts.sha256.hex()[:32]}"',
        "Cache-Control": "private, no-cache",
        "Content-Disposition": disposition(original.name, inline=original.mime in INLINE and not download),
        "Content-Security-Policy": SANDBOX,
    }
    number = await on_storage(lambda: open_recorded(original))
    return send_original(request, number, original, headers)


HANDLERS = (MediaController,)
