"""What was deleted and keeps copies out, and the files that were kept out by it."""

from __future__ import annotations

from typing import Any

from litestar import Controller, Request, Response, get, post
from litestar.params import Parameter

from appliance.core import db
from appliance.duplicates import services as duplicates
from appliance.ingest import letting_in
from appliance.web import words
from appliance.web.hypermedia import Screen, shell_page, toast, wants_fragment
from appliance.web.operations import person_of


AnyRequest = Request[Any, Any, Any]
SCREEN = Screen("duplicates", "Deletions", "duplicates")
PAGE = 50


class DeletionsController(Controller):
    """Two lists; each entry has the one button that takes it back."""

    path = "/deletions"

    @get("/")
    async def show(
        self,
        request: AnyRequest,
        files: int | None = Parameter(default=None, ge=1),
        before: int | None = Parameter(default=None, ge=1),
    ) -> Response[Any]:
        """Newest first; `files` and `before` are the last ones that were shown of each list."""
        return await self._page(request, files=files, before=before)

    @post("/files/{entry:int}", status_code=200)
    async def let_in(self, request: AnyRequest, entry: int) -> Response[Any]:
        """Bring one file in anyway."""
        async with db.unit_of_work() as uow:
            name = await letting_in.let_in(uow, entry, person=person_of(request))
        return await self._said(request, f"{name} is brought in.")

    @post("/again", status_code=200)
    async def look_again(self, request: AnyRequest) -> Response[Any]:
        """Have all files judged anew that were kept out by their look."""
        total = after = 0
        while True:
            async with db.unit_of_work() as uow:
                count, after = await letting_in.look_again(uow, after)
            total += count
            if not count:
                break
        if not total:
            return await self._said(request, "No file is kept out by its look.")
        again = words.count(total, "file is", "files are")
        return await self._said(request, f"{again} looked at again. What still looks deleted stays out.")

    @post("/{tombstone:int}", status_code=200)
    async def forget(self, request: AnyRequest, tombstone: int) -> Response[Any]:
        """Forget one deletion."""
        async with db.unit_of_work() as uow:
            name, count = await letting_in.forget(uow, tombstone, person=person_of(request))
        again = f" {words.count(count, 'file comes', 'files come')} in again." if count else ""
        return await self._said(request, f"The deletion of {name} is forgotten.{again}")

    async def _said(self, request: AnyRequest, text: str) -> Response[Any]:
        return toast(text) if wants_fragment(request) else await self._page(request, said=text)

    async def _page(
        self, request: AnyRequest, *, files: int | None = None, before: int | None = None, said: str = ""
    ) -> Response[Any]:
        async with db.unit_of_work() as uow:
            kept = await letting_in.files(uow.sql, PAGE + 1, before=files)
            deleted = await duplicates.remembered(uow.sql, PAGE + 1, before=before)
            return await shell_page(
                request,
                uow.sql,
                "deletions/index.html",
                SCREEN,
                files=kept[:PAGE],
                more_files=kept[PAGE - 1].id if len(kept) > PAGE else None,
                deleted=deleted[:PAGE],
                more=deleted[PAGE - 1].id if len(deleted) > PAGE else None,
                said=said,
            )


HANDLERS = (DeletionsController,)
