"""Merging one tag into another: counted first, then done at once or as a task."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Controller, Request, Response, get, post

from appliance.core import db
from appliance.core.db import UnitOfWork
from appliance.core.errors import Invalid
from appliance.tagging import services as tagging
from appliance.tagging.services import TagView
from appliance.web.entry import form
from appliance.web.hypermedia import Screen, fragment, go, shell_page, wants_fragment
from appliance.web.operations import person_of


AnyRequest = Request[Any, Any, Any]


class Merging(msgspec.Struct):
    """The form that merges."""

    target: str = ""


class MergeController(Controller):
    """The question and the answer."""

    path = "/tags"

    @get("/{tag_id:int}/merge")
    async def ask_merge(self, request: AnyRequest, tag_id: int, into: str = "") -> Response[Any]:
        """What merging into another tag would do, counted; nothing is changed yet."""
        async with db.unit_of_work() as uow:
            values = await _merge_values(uow, tag_id, into)
            if wants_fragment(request):
                return fragment("tags/_overlap.html", **values)
            screen = Screen("tags", f"Merge {values['tag'].name}", "tags")
            return await shell_page(request, uow.sql, "tags/merge.html", screen, **values)

    @post("/{tag_id:int}/merge", status_code=200)
    async def merge(self, request: AnyRequest, tag_id: int) -> Response[Any]:
        """Merge into the tag that was shown."""
        sent = await form(request, Merging)
        if not sent.target.isdecimal() or len(sent.target) > 18:
            raise Invalid("Say into which tag")
        async with db.unit_of_work() as uow:
            done = await tagging.ask_merge(uow, tag_id, int(sent.target), user_id=person_of(request))
        return go(f"/tags/{done.target_id if done else tag_id}", request=request)


async def _merge_values(uow: UnitOfWork, tag_id: int, into: str) -> dict[str, Any]:
    found = await tagging.find(uow.sql, [tag_id])
    if not found:
        raise tagging.NoTag
    targets = await _targets(uow, into, tag_id) if into.strip() else []
    overlap = await tagging.overlap(uow.sql, tag_id, targets[0].id) if len(targets) == 1 else None
    return {"tag": found[0], "into": into[:200], "targets": targets, "overlap": overlap}


async def _targets(uow: UnitOfWork, into: str, tag_id: int) -> list[TagView]:
    if into.startswith("#") and into[1:].isdecimal() and len(into) < 19:
        ids = [int(into[1:])]
    else:
        kind, name = tagging.split(into[:200])
        ids = await tagging.resolve(uow.sql, tagging.name_key(name), kind=kind)
    found = await tagging.find(uow.sql, [i for i in ids if i != tag_id])
    return sorted(found, key=lambda t: (-t.uses, t.id))


HANDLERS = (MergeController,)
