"""Videos that browsers cannot play as they are: the wish, how far it is, and the film while it grows."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from litestar import Controller, Request, Response, get, post
from litestar.response import Stream

from appliance.core import clock, db, settings
from appliance.core.errors import NotFound, Unavailable
from appliance.library import motion, ondemand, playing
from appliance.library.playing import Playing
from appliance.library.queries import Sendable
from appliance.media.wire import PLAY
from appliance.web import words
from appliance.web.guards import EVERYBODY
from appliance.web.remembering import remembered, sees_everything
from appliance.web.sending import BLOCK, SANDBOX, send


AnyRequest = Request[Any, Any, Any]
MIME = "video/mp4"
# Whoever waits without a script sees nothing of this; longer than browsers wait for a first byte is no use.
BEGIN_S = 60.0
LOOK_S, RENEW_S = 0.3, 4.0
# It may be watched while it is made: some seconds are there, and more come than are watched.
AHEAD_S, FASTER = 4.0, 1.25


def _watchable(now: Playing) -> bool:
    if now.state == "ready":
        return True
    return now.made_s >= AHEAD_S and now.took_s > 0 and now.made_s / now.took_s >= FASTER


def said(now: Playing) -> str:
    """What the viewer reads meanwhile."""
    if now.state == "failed":
        return f"{words.why(now.reason)}{f': {now.detail}' if now.detail else ''}"
    if now.state == "waits":
        return (
            "Waiting for another video to be prepared"
            if now.share
            else "This video will be prepared in a moment"
        )
    if now.state == "ready":
        return ""
    left = now.left_s
    more = f", about {words.length(int(left) * 1000)} left" if left is not None and left >= 5 else ""
    return f"Preparing this video, {int(now.share * 100)} %{more}"


def _answer(now: Playing) -> Response[Any]:
    told = {
        "state": now.state,
        "share": round(now.share, 3),
        "watch": _watchable(now),
        "words": said(now),
        "code": now.reason or "",
    }
    return Response(told, headers={"Cache-Control": "no-store"})


class FilmController(Controller):
    """The playable form of a video."""

    opt = EVERYBODY

    @post("/asset/{asset_id:int}/play", status_code=200)
    async def wish(self, request: AnyRequest, asset_id: int, again: str = "") -> Response[Any]:
        """Wish for it or renew the wish; the page asks again every few seconds while it waits."""
        await _film(request, asset_id)
        async with db.unit_of_work() as uow:
            now = await playing.want(uow, asset_id, again=bool(again))
        return _answer(now)

    @post("/asset/{asset_id:int}/play/leave", status_code=204)
    async def leave(self, request: AnyRequest, asset_id: int) -> None:
        """The page was closed or went on to something else."""
        await _film(request, asset_id)
        async with db.unit_of_work() as uow:
            await playing.leave(uow, asset_id)

    @get("/media/{asset_id:int}/play")
    async def play(self, request: AnyRequest, asset_id: int) -> Response[Any] | Stream:
        """The film: in parts when it is done, from its beginning while it is made."""
        facts = await _film(request, asset_id)
        path = settings.current().home.rendition(facts.sha256, PLAY)
        async with db.unit_of_work() as uow:
            now = await playing.want(uow, asset_id)
            await ondemand.used(uow.sql, asset_id, PLAY)
        if now.state == "ready":
            number = await _opened(path)
            if number is not None:
                return _done(request, facts, number)
            async with db.unit_of_work() as uow:
                await playing.lost(uow, asset_id)
                now = await playing.want(uow, asset_id)
        return await _growing(request, facts, asset_id, path)


async def _film(request: AnyRequest, asset_id: int) -> Sendable:
    facts = await remembered.of(asset_id, request)
    if facts.kind != "video":
        async with db.current().one_statement() as sql:
            if await motion.of(sql, asset_id, everything=sees_everything(request)) is None:
                raise NotFound("This is no video")
    return facts


async def _opened(path: Path) -> int | None:
    try:
        return await asyncio.to_thread(os.open, path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None


def _done(request: AnyRequest, facts: Sendable, number: int) -> Response[Any] | Stream:
    found = os.fstat(number)
    mark = f'"{facts.sha256.hex()[:24]}-{found.st_mtime_ns:x}"'
    return send(request, number, found.st_size, MIME, _headers() | {"ETag": mark})


def _headers() -> dict[str, str]:
    return {"Cache-Control": "private, no-cache", "Content-Security-Policy": SANDBOX}


async def _growing(request: AnyRequest, facts: Sendable, asset_id: int, path: Path) -> Response[Any] | Stream:
    """Wait until something of it is there; what is asked for in parts is sent as a whole."""
    end = clock.monotonic() + BEGIN_S
    while clock.monotonic() < end:
        now = await _renewed(asset_id)
        if now.state == "failed":
            raise Unavailable(words.why(now.reason), now.detail or "")
        number = await _opened(path.with_name(now.part) if now.part else path)
        if number is not None and now.state == "ready":
            return _done(request, facts, number)
        if number is not None:
            return Stream(_as_it_grows(number, asset_id), media_type=MIME, headers=_headers())
        await asyncio.sleep(LOOK_S)
    raise Unavailable("This video waits for another one", "Try again in a moment.")


async def _renewed(asset_id: int) -> Playing:
    async with db.unit_of_work() as uow:
        return await playing.want(uow, asset_id)


async def _as_it_grows(number: int, asset_id: int) -> AsyncIterator[bytes]:
    """Follow the file until it is done; the open connection is what renews the wish."""
    at, renewed, over = 0, clock.monotonic(), False
    try:
        while True:
            block = await asyncio.to_thread(os.pread, number, BLOCK, at)
            if block:
                at += len(block)
                yield block
            elif over:
                return
            else:
                await asyncio.sleep(LOOK_S)
            if not over and (not block or clock.monotonic() - renewed > RENEW_S):
                renewed = clock.monotonic()
                over = await _is_over(asset_id)
    finally:
        os.close(number)


async def _is_over(asset_id: int) -> bool:
    now = await _renewed(asset_id)
    if now.state == "failed":
        # Cut off, so that the browser does not take the rest for the whole film.
        raise Unavailable(words.why(now.reason), now.detail or "")
    return now.state == "ready"


HANDLERS = (FilmController,)
