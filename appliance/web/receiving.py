"""Bodies on their way to the disk: in pieces, within limits, one hand for each upload."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from litestar import Request

from appliance.core import clock, db, room, settings
from appliance.core.errors import Conflict, NotFound, Unavailable, VitrineError
from appliance.ingest import parts, sweeps, uploads
from appliance.ingest.parts import DiskFull, NoPart, Part
from appliance.ingest.uploads import Sending
from appliance.web import words
from appliance.web.hands import Hand


if TYPE_CHECKING:
    from asyncpg import Connection


AnyRequest = Request[Any, Any, Any]
T = TypeVar("T")
PARALLEL = 16
"""Bodies that are received at once, over all people and programs; the next one is told to come back."""
BLOCK = 256 * 1024
NOTE_S = 20.0
YIELD_S = 5.0
"""How long an older request of the same upload may take to let go."""
# Own threads: a disk that hangs holds these, never the ones that everything else needs.
_disk = ThreadPoolExecutor(max_workers=4, thread_name_prefix="uploads")


class WrongOffset(Conflict):
    """The body begins somewhere else than where the file ends."""


class TooLarge(VitrineError):
    """More bytes than were announced or may be sent."""

    status = 413


_hands: dict[str, Hand] = {}
_busy = 0


async def on_disk(work: Callable[[], T]) -> T:
    """Run something that touches the uploads folder; it has ended when this has, also when cancelled."""
    running = asyncio.get_running_loop().run_in_executor(_disk, work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        raise


@asynccontextmanager
async def place_in_line() -> AsyncIterator[None]:
    """Take one of the few places for bodies, or be told to come back."""
    global _busy  # noqa: PLW0603 - a count of this process's requests
    if _busy >= PARALLEL:
        raise Unavailable("Many files are being sent just now", "It goes on by itself in a few seconds.")
    _busy += 1
    try:
        yield
    finally:
        _busy -= 1


def check_size(size: int) -> None:
    """Refuse what is larger than a file may be, or than the disk has room for, before a byte is sent."""
    limit = int(settings.current().upload_max_gb * 1e9)
    if size > limit:
        raise TooLarge(
            f"The file has {words.size(size)}; files up to {words.size(limit)} can be sent",
            "Copy it to the machine and add its folder instead, or raise VITRINE_UPLOAD_MAX_GB.",
        )
    spare = room.spare(settings.current())
    if size > spare:
        left = words.size(spare) + " of room left" if spare > 0 else "no room left"
        raise DiskFull(
            f"The disk has {left}, and this file has {words.size(size)}", "Make room and send it again."
        )


def check_room() -> None:
    """Stop receiving before the disk is so full that the house stands still."""
    if room.spare(settings.current()) < 0:
        raise DiskFull("The disk is full", "What has arrived is kept; it goes on when there is room.")


@asynccontextmanager
async def _part(token: str, hand: Hand) -> AsyncIterator[Part]:
    """The part file in this request's hand alone."""
    part = await on_disk(lambda: Part.opened(settings.current().home, token))
    _hands[token] = hand
    try:
        yield part
    finally:
        if _hands.get(token) is hand:
            del _hands[token]
        part.close()
        hand.gone.set()


async def let_go(token: str) -> None:
    """End the request that is receiving this upload: its connection may have died unnoticed."""
    hand = _hands.get(token)
    if hand is None:
        return
    hand.let_go()
    try:
        async with asyncio.timeout(YIELD_S):
            await hand.gone.wait()
    except TimeoutError:
        return


async def offset_of(sending: Sending) -> int:
    """How many bytes are here; a file whose last step was cut off is completed on the way."""
    home = settings.current().home
    if sending.status == "received":
        return sending.size
    try:
        size = await on_disk(lambda: _looked_at(sending))
    except parts.Busy:
        try:
            return await on_disk(lambda: parts.path_of(home, sending.token).stat().st_size)
        except FileNotFoundError:
            # Whoever holds it has just written the last byte and handed it over.
            return sending.size
    except NoPart:
        size = sending.size
    if size >= sending.size:
        await sweeps.finish_if_whole(home, sending)
    return size


def _looked_at(sending: Sending) -> int:
    part = Part.opened(settings.current().home, sending.token)
    try:
        part.trust(sending.received)
        return part.size
    finally:
        part.close()


async def receive(request: AnyRequest, token: str, offset: int) -> int:
    """Append a body to an upload and answer how many bytes are here; the last one hands the file over."""
    async with place_in_line():
        async with db.unit_of_work() as uow:
            sending = await uploads.find(uow.sql, token)
        if sending.status == "received":
            return _already(sending, offset)
        await _make_way(sending, offset)
        hand = Hand()
        async with _part(token, hand) as part:
            part.trust(sending.received)
            _check_offset(part.size, offset)
            if sending.size - offset < (request.content_length or 0):
                raise TooLarge("More was sent than was announced", "The file changed while it was sent.")
            await Body(request, sending, part, hand).append()
            if part.size == sending.size:
                await hand_over(sending, part)
            return part.size


def _already(sending: Sending, offset: int) -> int:
    _check_offset(sending.size, offset)
    return sending.size


def _check_offset(here: int, offset: int) -> None:
    if here != offset:
        raise WrongOffset(f"{here} bytes are here, not {offset}", "Ask where to go on.")


async def _make_way(sending: Sending, offset: int) -> None:
    """One that has stalled gives way to one that goes on from the same place; one that moves does not."""
    if sending.token in _hands:
        _check_offset(await offset_of(sending), offset)
        await let_go(sending.token)


async def hand_over(sending: Sending, part: Part) -> None:
    """Give a complete file to the import."""
    home = settings.current().home
    final, stat = await on_disk(lambda: uploads.place(home, sending, part))
    async with db.unit_of_work() as uow:
        if not await uploads.complete(uow, sending, stat):
            await _drop_unwanted(uow.sql, sending, final)


async def _drop_unwanted(sql: Connection[Any], sending: Sending, final: Path) -> None:
    """It was cancelled while its last bytes came in."""
    if await uploads.is_abandoned(sql, sending):
        await on_disk(lambda: final.unlink(missing_ok=True))


class Body:
    """A body that is appended to a part file."""

    def __init__(self, request: AnyRequest, sending: Sending, part: Part, hand: Hand) -> None:
        self.request = request
        self.sending = sending
        self.part = part
        self.hand = hand
        self.noted = clock.monotonic()

    async def append(self) -> None:
        """Take what comes; what came before the connection broke is kept."""
        buffer = bytearray()
        try:
            async with self.hand.patience():
                async for chunk in chunks(self.request):
                    self.hand.go_on()
                    buffer += chunk
                    if len(buffer) >= BLOCK:
                        # Let go of it first: whatever interrupts the writing, it is written once.
                        block, buffer = buffer, bytearray()
                        await self._write(block)
        finally:
            if buffer:
                self._write_rest(buffer)
            await self._note(await on_disk(self.part.sync))

    async def _write(self, block: bytearray) -> None:
        self._check_length(len(block))
        check_room()
        await on_disk(lambda: self.part.append(block))
        if self.part.unsynced >= parts.SYNC_BYTES:
            await self._note(await on_disk(self.part.sync))
        elif clock.monotonic() - self.noted > NOTE_S:
            await self._note(None)

    def _write_rest(self, block: bytearray) -> None:
        """At most one block, whatever ended the request; no waiting, so that nothing can interrupt it."""
        self._check_length(len(block))
        self.part.append(block)

    def _check_length(self, count: int) -> None:
        if self.part.size + count > self.sending.size:
            raise TooLarge("More was sent than was announced", "The file changed while it was sent.")

    async def _note(self, synced: int | None) -> None:
        self.noted = clock.monotonic()
        async with db.unit_of_work() as uow:
            if not await uploads.note(uow.sql, self.sending, synced):
                raise NotFound("There is no such upload", "It was cancelled.")


async def chunks(request: AnyRequest) -> AsyncIterator[bytes]:
    """A body as it comes in; it ends where the connection ends."""
    while True:
        event = await request.receive()
        if event["type"] != "http.request":
            return
        if event["body"]:
            yield event["body"]
        if not event.get("more_body", False):
            return
