"""Pictures and originals: served from files, checked against what was recorded."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from litestar import Controller, Request, Response, get
from litestar.response import Stream

from appliance.core import clock, db, names, settings
from appliance.core.errors import NotFound, Unavailable, VitrineError
from appliance.library import files, queries, services
from appliance.library.files import Original
from appliance.library.queries import Sendable
from appliance.web.guards import EVERYBODY


AnyRequest = Request[Any, Any, Any]
T = TypeVar("T")
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
SANDBOX = "sandbox; default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'"
BLOCK = 256 * 1024
STORAGE_SECONDS = 15.0
PREVIEW_SECONDS = 10.0
# No file is longer than 18 digits say, and Python refuses to read thousands of them.
RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
# Own threads: storage that hangs holds these, never the ones that everything else needs.
_storage = ThreadPoolExecutor(max_workers=8, thread_name_prefix="originals")


class Gone(VitrineError):
    """The original is not the file that was recorded, so it is not shown as if it were."""

    status = 410


class Remembered:
    """The last few thousand assets' facts: a page of pictures asks for each of them at once."""

    def __init__(self, limit: int = 20_000) -> None:
        self._limit = limit
        self._facts: OrderedDict[int, Sendable] = OrderedDict()

    async def of(self, asset_id: int, *, fresh: bool = False) -> Sendable:
        """Facts of an asset, read when they are not known or no longer believed."""
        known = None if fresh else self._facts.get(asset_id)
        if known is not None:
            self._facts.move_to_end(asset_id)
            return known
        async with db.unit_of_work() as uow:
            found = await queries.sendable(uow.sql, asset_id)
        if found is None:
            self.forget(asset_id)
            raise NotFound("There is no such picture")
        self._facts[asset_id] = found
        if len(self._facts) > self._limit:
            self._facts.popitem(last=False)
        return found

    def forget(self, asset_id: int) -> None:
        """Do not believe what was read before."""
        self._facts.pop(asset_id, None)


remembered = Remembered()


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


class Span(NamedTuple):
    """The part of a file that is sent."""

    start: int
    end: int
    partial: bool


def span(header: str | None, size: int) -> Span | None:
    """Read a Range header; None when nothing of it can be served. Several ranges mean the whole file."""
    if not header or "," in header:
        return Span(0, size, partial=False)
    found = RANGE.fullmatch(header.strip())
    if found is None or not (found[1] or found[2]):
        return Span(0, size, partial=False)
    if not found[1]:
        length = int(found[2])
        return Span(max(0, size - length), size, partial=True) if length else None
    start = int(found[1])
    end = min(int(found[2]) + 1, size) if found[2] else size
    return Span(start, end, partial=True) if start < end else None


def open_recorded(original: Original) -> int:
    """Open the file if it still is the one that was read; never through a link, never a pipe."""
    try:
        number = _open_without_links(original)
    except FileNotFoundError:
        raise Gone(
            "The original file is not there",
            "Nothing else is lost. Connect its disk or scan its folder again.",
        ) from None
    except OSError as error:
        raise Gone(
            "The original file cannot be read", f"{error.strerror}. The pictures made from it are kept."
        ) from None
    found = os.fstat(number)
    if not stat.S_ISREG(found.st_mode) or (found.st_size, found.st_mtime_ns) != (
        original.size,
        original.mtime_ns,
    ):
        os.close(number)
        raise Gone(
            "The original file has changed since it was read",
            "Scan its folder again to see what is there now.",
        )
    return number


def _open_without_links(original: Original) -> int:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    if original.stored:
        return os.open(original.path, flags)
    # A root's path was free of links when it was added: one that appeared since may lead anywhere.
    *folders, name = original.path.strip(b"/").split(b"/")
    at = os.open(b"/", os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            inner = os.open(
                folder, getattr(os, "O_PATH", 0) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at
            )
            os.close(at)
            at = inner
        return os.open(name, flags, dir_fd=at)
    finally:
        os.close(at)


async def on_storage(work: Callable[[], T]) -> T:
    """Run something that touches a root; storage that does not answer is said, not waited for."""
    loop = asyncio.get_running_loop()
    try:
        return await asyncio.wait_for(loop.run_in_executor(_storage, work), STORAGE_SECONDS)
    except TimeoutError:
        raise Unavailable(
            "The storage does not answer", "The disk or network share of this file hangs."
        ) from None


async def _blocks(number: int, part: Span) -> AsyncIterator[bytes]:
    at = part.start
    try:
        while at < part.end:
            block = await on_storage(lambda at=at: os.pread(number, min(BLOCK, part.end - at), at))  # type: ignore[misc]
            if not block:
                return
            at += len(block)
            yield block
    finally:
        os.close(number)


def disposition(name: bytes, *, inline: bool) -> str:
    """Content-Disposition for any file name: a plain fallback and the real one."""
    shown = names.display(name).replace("/", "_")
    plain = "".join(c if (c.isascii() and c.isalnum()) or c in " ._-" else "_" for c in shown) or "file"
    way = "inline" if inline else "attachment"
    return f"{way}; filename=\"{plain}\"; filename*=UTF-8''{quote(shown, safe='')}"


class MediaController(Controller):
    """Bytes of assets."""

    opt = EVERYBODY

    path = "/media"

    @get("/{asset_id:int}/{name:str}")
    async def picture(self, asset_id: int, name: str, v: str = "") -> Response[Any]:
        """A derived picture; a preview that is missing is made first."""
        if name not in PICTURES:
            raise NotFound("There is no such picture")
        facts = await remembered.of(asset_id)
        if facts.pictures.get(name) != "complete":
            facts = await self._made(asset_id, name)
        path = settings.current().home.rendition(facts.sha256, name)
        body = await asyncio.to_thread(_read, path)
        if not body:
            body = await self._drawn_again(asset_id, name, path)
        headers = {
            "Cache-Control": FOREVER if v else "private, max-age=60",
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
        facts = await remembered.of(asset_id, fresh=True)
        if facts.pictures.get(name) != "complete":
            raise NotFound("This picture has not been made yet", "It is on its way; try again in a moment.")
        return facts

    @get("/{asset_id:int}/original")
    async def original(
        self, request: AnyRequest, asset_id: int, download: str = ""
    ) -> Response[Any] | Stream:
        """The file itself, in whole or in part."""
        facts = await remembered.of(asset_id)
        async with db.unit_of_work() as uow:
            original = await files.original(uow.sql, settings.current().home, asset_id)
        headers = self._headers(original, facts, download=bool(download))
        if headers["ETag"] in request.headers.get("If-None-Match", ""):
            return Response(b"", media_type="text/plain", status_code=304, headers=headers)
        part = self._span(request, original.size, headers["ETag"])
        if part is None:
            return Response(
                b"",
                media_type="text/plain",
                status_code=416,
                headers={"Content-Range": f"bytes */{original.size}"},
            )
        number = await on_storage(lambda: open_recorded(original))
        headers["Content-Length"] = str(part.end - part.start)
        if part.partial:
            headers["Content-Range"] = f"bytes {part.start}-{part.end - 1}/{original.size}"
        return Stream(
            _blocks(number, part),
            status_code=206 if part.partial else 200,
            media_type=original.mime,
            headers=headers,
        )

    def _headers(self, original: Original, facts: Sendable, *, download: bool) -> dict[str, str]:
        inline = original.mime in INLINE and not download
        return {
            "ETag": f'"{facts.sha256.hex()[:32]}"',
            "Accept-Ranges": "bytes",
            "Cache-Control": "private, max-age=3600",
            "Content-Disposition": disposition(original.name, inline=inline),
            "Content-Security-Policy": SANDBOX,
        }

    def _span(self, request: AnyRequest, size: int, mark: str) -> Span | None:
        condition = request.headers.get("If-Range")
        header = request.headers.get("Range") if condition in {None, mark} else None
        return span(header, size)


HANDLERS = (MediaController,)
