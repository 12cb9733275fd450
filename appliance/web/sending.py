"""Sending files: the recorded one or none, in whole or in part, without waiting on storage that hangs."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from litestar import Request, Response
from litestar.response import Stream

from appliance.core import names
from appliance.core.errors import Unavailable, VitrineError
from appliance.library.files import Original
from appliance.media import hops
from appliance.media.hops import Hop
from appliance.media.moments import mtime_ns_of


AnyRequest = Request[Any, Any, Any]
T = TypeVar("T")
# Of our origin, or a film in a window of its own may not read itself; scripts run in no case.
SANDBOX = (
    "sandbox allow-same-origin; default-src 'none'; img-src 'self'; media-src 'self'; "
    "style-src 'unsafe-inline'"
)
BLOCK = 256 * 1024
STORAGE_SECONDS = 15.0
# No file is longer than 18 digits say, and Python refuses to read thousands of them.
RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
# Own threads: storage that hangs holds these, never the ones that everything else needs.
_storage = ThreadPoolExecutor(max_workers=8, thread_name_prefix="originals")


class Gone(VitrineError):
    """The original is not the file that was recorded, so it is not shown as if it were."""

    status = 410


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
    if not stat.S_ISREG(found.st_mode) or not _is_the_same(found, original):
        os.close(number)
        raise Gone(
            "The original file has changed since it was read",
            "Scan its folder again to see what is there now.",
        )
    return number


def _is_the_same(found: os.stat_result, original: Original) -> bool:
    # A file of ours is named by its content; its time is that of the copy, not of what was copied.
    return found.st_size == original.size and (original.stored or mtime_ns_of(found) == original.mtime_ns)


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


async def on_storage(work: Callable[[], T], *, seconds: float = STORAGE_SECONDS) -> T:
    """Run something that touches a root; storage that does not answer is said, not waited for."""
    loop = asyncio.get_running_loop()
    try:
        return await asyncio.wait_for(loop.run_in_executor(_storage, work), seconds)
    except TimeoutError:
        raise Unavailable(
            "The storage does not answer", "The disk or network share of this file hangs."
        ) from None


async def blocks(number: int, part: Span) -> AsyncIterator[bytes]:
    """The bytes of one part; closes the file at the end."""
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


async def unpacked(number: int, way: Sequence[Hop]) -> AsyncIterator[bytes]:
    """What a way into an open archive leads to; never more than was recorded. Closes the archive."""
    pieces = hops.pieces(number, way)
    try:
        while piece := await on_storage(lambda: next(pieces, b"")):
            yield piece
    finally:
        os.close(number)


def send_original(
    request: AnyRequest, number: int, original: Original, headers: dict[str, str]
) -> Response[Any] | Stream:
    """An open original, which may be one page of the archive that was opened."""
    inside = hops.stretch(original.way)
    if inside is not None:
        return send(request, number, inside.size, original.mime, headers, offset=inside.offset)
    if not original.way:
        return send(request, number, original.size, original.mime, headers)
    if _is_known(request, headers):
        return _known(number, headers)
    # Packed: only from its start, and a damaged one breaks off.
    headers = headers | {"Content-Length": str(original.way[-1].size)}
    return Stream(unpacked(number, original.way), media_type=original.mime, headers=headers)


def _is_known(request: AnyRequest, headers: dict[str, str]) -> bool:
    return headers["ETag"] in request.headers.get("If-None-Match", "")


def _known(number: int, headers: dict[str, str]) -> Response[Any]:
    os.close(number)
    return Response(b"", media_type="text/plain", status_code=304, headers=headers)


def send(
    request: AnyRequest, number: int, size: int, mime: str, headers: dict[str, str], *, offset: int = 0
) -> Response[Any] | Stream:
    """An open file in whole or in the part that is asked for; closes it when nothing of it can be sent.

    With an offset, what is sent is a stretch of the file that begins there.
    """
    if _is_known(request, headers):
        return _known(number, headers)
    condition = request.headers.get("If-Range")
    part = span(request.headers.get("Range") if condition in {None, headers["ETag"]} else None, size)
    if part is None:
        os.close(number)
        beyond = {"Content-Range": f"bytes */{size}"}
        return Response(b"", media_type="text/plain", status_code=416, headers=beyond)
    headers = headers | {"Content-Length": str(part.end - part.start), "Accept-Ranges": "bytes"}
    if part.partial:
        headers["Content-Range"] = f"bytes {part.start}-{part.end - 1}/{size}"
    lies = Span(part.start + offset, part.end + offset, part.partial)
    return Stream(
        blocks(number, lies), status_code=206 if part.partial else 200, media_type=mime, headers=headers
    )
