"""Files of plain forms, streamed to the disk one after the other: no scripts needed, nothing is resumed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from litestar import Request
from litestar.exceptions import ClientException
from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from appliance.core import db, settings
from appliance.ingest import parts, sentnames, uploads
from appliance.ingest.parts import Part
from appliance.web.hands import Hand
from appliance.web.receiving import (
    BLOCK,
    check_room,
    check_size,
    chunks,
    hand_over,
    on_disk,
    place_in_line,
)


AnyRequest = Request[Any, Any, Any]
FILES = 5000
"""Files of one form; a folder with more is sent by the page's script, or added as a folder."""


async def take_files(request: AnyRequest, title: str, user_id: int) -> int | None:
    """Take every file of a form in; the answer is their session, None when there was none."""
    kind, options = parse_options_header(request.headers.get("Content-Type", ""))
    if kind != "multipart/form-data" or not options.get("boundary"):
        raise ClientException("not a form with files")
    # Header bytes as they are: a file name may be in any encoding.
    parser = PushMultipartParser(
        options["boundary"], header_charset="latin-1", max_segment_count=FILES + 20, max_header_size=16_384
    )
    hand = Hand()
    async with place_in_line():
        taking = _Taking(title, user_id)
        try:
            async with hand.patience():
                async for event in _events(request, parser, hand):
                    await taking.take(event)
        except MultipartError as error:
            raise ClientException("broken form") from error
        finally:
            await taking.end()
    return taking.batch_id


async def _events(
    request: AnyRequest, parser: PushMultipartParser, hand: Hand
) -> AsyncIterator[MultipartSegment | bytes | bytearray | None]:
    async for chunk in chunks(request):
        hand.go_on()
        for event in parser.parse(chunk):
            yield event


class _Taking:
    """Follows the events of a form: a head, its bytes, its end."""

    def __init__(self, title: str, user_id: int) -> None:
        self.title = title
        self.user_id = user_id
        self.batch_id: int | None = None
        self._part: Part | None = None
        self._token = ""
        self._name = ""
        self._block = bytearray()

    async def take(self, event: MultipartSegment | bytes | bytearray | None) -> None:
        """One step."""
        if isinstance(event, MultipartSegment):
            await self._begin(event)
        elif self._part is None:
            return
        elif event is None:
            await self._finish(self._part)
        else:
            self._block += event
            if len(self._block) >= BLOCK:
                await self._write(self._part)

    async def _begin(self, head: MultipartSegment) -> None:
        # An empty name is a field in which nothing was chosen.
        if not head.filename:
            return
        check_room()
        self._name = sentnames.shown(head.filename.encode("latin-1", "replace"))
        self._token = uploads.new_token()
        token = self._token
        self._part = await on_disk(lambda: Part.made(settings.current().home, token))

    async def _write(self, part: Part) -> None:
        block, self._block = self._block, bytearray()
        if part.size + len(block) > settings.current().upload_max_gb * 1e9:
            check_size(part.size + len(block))
        check_room()
        await on_disk(lambda: part.append(block))
        if part.unsynced >= parts.SYNC_BYTES:
            await on_disk(part.sync)

    async def _finish(self, part: Part) -> None:
        await self._write(part)
        async with db.unit_of_work() as uow:
            if self.batch_id is None:
                self.batch_id = await uploads.open_batch(uow, settings.current().home, self.title)
            sending = await uploads.begin(
                uow,
                self.batch_id,
                name=self._name,
                size=part.size,
                user_id=self.user_id,
                token=self._token,
            )
        await hand_over(sending, part)
        self._part = None
        part.close()

    async def end(self) -> None:
        """Whatever was cut off is not a file; what came before it is the session."""
        if self._part is not None:
            self._part.close()
            token = self._token
            await on_disk(lambda: parts.remove(settings.current().home, token))
        if self.batch_id is not None:
            async with db.unit_of_work() as uow:
                await uploads.seal(uow, self.batch_id)
