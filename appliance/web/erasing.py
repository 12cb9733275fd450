"""Deleting a single picture for good, on request together with its file in the person's own folder."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Controller, Request, Response, get, post

from appliance.core import db
from appliance.core.errors import VitrineError
from appliance.library import queries
from appliance.operations import erasing, services
from appliance.operations.kinds import Kind
from appliance.web.entry import form
from appliance.web.hypermedia import Screen, go, shell_page
from appliance.web.operations import person_of


AnyRequest = Request[Any, Any, Any]
SCREEN = Screen("history", "Delete for good", "trash")


class Deleting(msgspec.Struct):
    """The form: which file goes as well, if any, and its name as it was typed."""

    file: str = ""
    typed: str = ""


class ErasingController(Controller):
    """A page of its own: this question stands alone, and works without scripts."""

    path = "/asset/{asset_id:int}/delete"

    @get("/")
    async def ask(self, request: AnyRequest, asset_id: int) -> Response[Any]:
        """What would go, and what stays."""
        return await self._page(request, asset_id)

    @post("/", status_code=200)
    async def delete(self, request: AnyRequest, asset_id: int) -> Response[Any]:
        """Delete it; a refusal is said beside the field."""
        sent = await form(request, Deleting)
        try:
            left = await self._delete(request, asset_id, sent)
        except VitrineError as refusal:
            if refusal.status == 404:
                raise
            return await self._page(request, asset_id, refusal=refusal, status=refusal.status)
        return await self._page(request, asset_id, left=left) if left else go("/?q=is:trashed")

    async def _delete(self, request: AnyRequest, asset_id: int, sent: Deleting) -> str | None:
        async with db.unit_of_work() as uow:
            await queries.asset(uow.sql, asset_id)
            person = person_of(request)
            if sent.file.isascii() and sent.file.isdigit() and len(sent.file) < 19:
                _, left = await erasing.erase(uow, asset_id, int(sent.file), sent.typed, person=person)
                return left
            asked = await services.act(uow, Kind.PURGE, [asset_id], {}, person=person)
            await uow.commit()
            await services.unlink(asked.doomed)
            return None

    async def _page(
        self,
        request: AnyRequest,
        asset_id: int,
        *,
        refusal: VitrineError | None = None,
        left: str | None = None,
        status: int = 200,
    ) -> Response[Any]:
        async with db.unit_of_work() as uow:
            asset = None if left else await queries.asset(uow.sql, asset_id)
            found = await erasing.erasable(uow.sql, asset_id)
            answer = await shell_page(
                request,
                uow.sql,
                "operations/delete.html",
                SCREEN,
                asset=asset,
                files=found,
                refusal=refusal,
                left=left,
            )
        answer.status_code = status
        return answer


HANDLERS = (ErasingController,)
