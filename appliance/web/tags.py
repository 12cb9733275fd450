"""All tags as a table, and one tag with its names, its kind, and what it can be merged into."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Controller, Request, Response, get, post

from appliance.core import db
from appliance.core.db import UnitOfWork
from appliance.core.errors import Invalid, VitrineError
from appliance.tagging import services as tagging
from appliance.web.entry import form
from appliance.web.guards import EVERYBODY
from appliance.web.hypermedia import Screen, fragment, go, shell_page, wants_fragment
from appliance.web.tagchoice import fandom_of
from appliance.web.visitor import Visitor


AnyRequest = Request[Any, Any, Any]
ROWS = 100
ORDERS = ("uses", "name")


class NewTag(msgspec.Struct):
    """The form that makes a tag."""

    name: str = ""
    kind: str = "general"
    fandom: str = ""
    make_fandom: str = ""


def _may_edit(request: AnyRequest) -> bool:
    person = Visitor.of(request).person
    return person is not None and person.admin


def _place(after: str, below: int, order: str) -> tuple[str, int] | None:
    if not after or not 0 <= below < 2**63:
        return None
    if order == "uses" and not (after.isdecimal() and len(after) < 19):
        return None
    return after.replace("\0", ""), below


class TagsController(Controller):
    """The table of all tags, and what completes a name."""

    opt = EVERYBODY
    path = "/tags"

    @get("/")
    async def index(
        self,
        request: AnyRequest,
        kind: str = "",
        text: str = "",
        order: str = "uses",
        after: str = "",
        below: int = 0,
    ) -> Response[Any]:
        """The table, or its next rows."""
        order = order if order in ORDERS else "uses"
        kind = kind if kind in tagging.KINDS else ""
        async with db.unit_of_work() as uow:
            rows = await tagging.listed(
                uow.sql,
                order,
                kind=kind or None,
                text=text[:200],
                after=_place(after, below, order),
                limit=ROWS + 1,
                used=not _may_edit(request),
            )
            values: dict[str, Any] = {
                "rows": rows[:ROWS],
                "more": rows[ROWS - 1] if len(rows) > ROWS else None,
                "kind": kind,
                "text": text[:200],
                "order": order,
                "may_edit": _may_edit(request),
            }
            if wants_fragment(request):
                return fragment("tags/_rows.html" if after else "tags/_table.html", **values)
            totals = await tagging.totals(uow.sql)
            screen = Screen("tags", "Tags", "tags")
            return await shell_page(request, uow.sql, "tags/index.html", screen, totals=totals, **values)

    @get("/complete")
    async def complete(
        self, request: AnyRequest, text: str = "", kind: str = "", create: str = ""
    ) -> Response[Any]:
        """Tags that what was typed may mean; on wish with the offer to make it."""
        chosen, name = (kind, text) if kind in tagging.KINDS else tagging.split(text[:200])
        async with db.unit_of_work() as uow:
            found = await tagging.complete(uow.sql, name[:200], kind=chosen or None)
        found = [c for c in found if c.tag.uses or _may_edit(request)]
        key = tagging.name_key(name)
        known = any(key in (tagging.name_key(c.tag.name), tagging.name_key(c.alias or "")) for c in found)
        offer = name.strip() if key and create and not known and _may_edit(request) else ""
        return fragment("tags/_options.html", found=found, offer=offer, offer_kind=chosen or "")

    @get("/{tag_id:int}")
    async def show(self, request: AnyRequest, tag_id: int) -> Response[Any]:
        """One tag; the address of one that was merged leads to what it became."""
        async with db.unit_of_work() as uow:
            now = await tagging.became(uow.sql, tag_id)
            if now is not None:
                return go(f"/tags/{now}", request=request)
            return await _tag_page(request, uow, tag_id)


async def _tag_page(
    request: AnyRequest, uow: UnitOfWork, tag_id: int, *, status: int = 200, **values: Any
) -> Response[Any]:
    detail = await tagging.detail(uow.sql, tag_id)
    if not detail.uses and not _may_edit(request):
        raise tagging.NoTag
    merging = await tagging.last_asked(uow.sql, tag_id)
    into = await tagging.find(uow.sql, [merging.target_id]) if merging else []
    values = {
        "merging": merging,
        "into": into[0] if into else None,
        "detail": detail,
        "tag": detail.tag,
        "may_edit": _may_edit(request),
        **values,
    }
    if wants_fragment(request):
        return fragment("tags/_tag.html", status=status, **values)
    covers = await tagging.covers(uow.sql, tag_id)
    screen = Screen("tags", detail.tag.name, "tags")
    answer = await shell_page(request, uow.sql, "tags/tag.html", screen, covers=covers, **values)
    answer.status_code = status
    return answer


async def _refused(request: AnyRequest, tag_id: int, part: str, error: VitrineError) -> Response[Any]:
    """The tag as it is, with the reason at the field; a name that is taken comes with the other tag."""
    async with db.unit_of_work() as uow:
        other = None
        if isinstance(error, tagging.Taken) and error.other_id != tag_id:
            found = await tagging.find(uow.sql, [error.other_id])
            other = found[0] if found else None
        values = {"wrong": part, "refused": error, "other": other, "sent": await _sent(request)}
        return await _tag_page(request, uow, tag_id, status=error.status, **values)


async def _sent(request: AnyRequest) -> NewTag:
    sent: NewTag = await form(request, NewTag)
    return sent


class TagEditController(Controller):
    """Changes of one tag, and new ones."""

    path = "/tags"

    @get("/fandom")
    async def fandom(self, fandom: str = "") -> Response[Any]:
        """Whether a fandom of this name exists; if not, the offer to make it at once."""
        _, name = tagging.split(fandom[:200])
        async with db.unit_of_work() as uow:
            known = await tagging.resolve(uow.sql, tagging.name_key(name), kind="fandom")
            found = await tagging.find(uow.sql, known)
        return fragment("tags/_fandom_said.html", fandom_name=name, found=found[0] if found else None)

    @get("/new")
    async def new(self, request: AnyRequest) -> Response[Any]:
        """The form for a tag that nothing carries yet."""
        return await _new_page(request, NewTag())

    @post("/new", status_code=200)
    async def make(self, request: AnyRequest) -> Response[Any]:
        """Make a tag; one that exists is shown."""
        sent = await _sent(request)
        try:
            async with db.unit_of_work() as uow:
                make_fandom = bool(sent.make_fandom)
                fandom_id = await fandom_of(uow, sent.kind, sent.fandom, make=make_fandom)
                made = await tagging.make(uow, sent.name, sent.kind, fandom_id=fandom_id)
        except Invalid as refused:
            return await _new_page(request, sent, refused)
        return go(f"/tags/{made}", request=request)

    @post("/{tag_id:int}/name", status_code=200)
    async def rename(self, request: AnyRequest, tag_id: int) -> Response[Any]:
        """Another name; where it belongs to another tag, the answer offers to merge the two."""
        sent = await _sent(request)
        try:
            async with db.unit_of_work() as uow:
                await tagging.rename(uow, tag_id, sent.name)
        except (Invalid, tagging.Taken) as refused:
            return await _refused(request, tag_id, "name", refused)
        return await _done(request, tag_id)

    @post("/{tag_id:int}/kind", status_code=200)
    async def recast(self, request: AnyRequest, tag_id: int) -> Response[Any]:
        """Another kind or fandom."""
        sent = await _sent(request)
        try:
            async with db.unit_of_work() as uow:
                fandom_id = await fandom_of(uow, sent.kind, sent.fandom, make=bool(sent.make_fandom))
                await tagging.recast(uow, tag_id, sent.kind, fandom_id=fandom_id)
        except (Invalid, tagging.Taken, tagging.InUse) as refused:
            return await _refused(request, tag_id, "kind", refused)
        return await _done(request, tag_id)

    @post("/{tag_id:int}/aliases", status_code=200)
    async def add_alias(self, request: AnyRequest, tag_id: int) -> Response[Any]:
        """Another name for it."""
        sent = await _sent(request)
        try:
            async with db.unit_of_work() as uow:
                await tagging.add_alias(uow, tag_id, sent.name)
        except (Invalid, tagging.Taken) as refused:
            return await _refused(request, tag_id, "alias", refused)
        return await _done(request, tag_id)

    @post("/{tag_id:int}/aliases/{alias_id:int}/remove", status_code=200)
    async def remove_alias(self, request: AnyRequest, tag_id: int, alias_id: int) -> Response[Any]:
        """One name less."""
        async with db.unit_of_work() as uow:
            await tagging.remove_alias(uow, tag_id, alias_id)
        return await _done(request, tag_id)

    @post("/{tag_id:int}/delete", status_code=200)
    async def delete(self, request: AnyRequest, tag_id: int) -> Response[Any]:
        """Delete a tag that nothing carries."""
        try:
            async with db.unit_of_work() as uow:
                await tagging.delete(uow, tag_id)
        except tagging.InUse as refused:
            return await _refused(request, tag_id, "delete", refused)
        return go("/tags", request=request)


async def _done(request: AnyRequest, tag_id: int) -> Response[Any]:
    if not wants_fragment(request):
        return go(f"/tags/{tag_id}")
    async with db.unit_of_work() as uow:
        return await _tag_page(request, uow, tag_id)


async def _new_page(request: AnyRequest, sent: NewTag, refused: VitrineError | None = None) -> Response[Any]:
    async with db.unit_of_work() as uow:
        screen = Screen("tags", "New tag", "tags")
        answer = await shell_page(request, uow.sql, "tags/new.html", screen, sent=sent, refused=refused)
    answer.status_code = refused.status if refused else 200
    return answer


HANDLERS = (TagsController, TagEditController)
