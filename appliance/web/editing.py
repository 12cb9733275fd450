"""What a person changes about one asset, each piece a fragment that stands on its own without scripts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from litestar import Controller, Request, Response, get, post

from appliance.core import db
from appliance.core.db import UnitOfWork
from appliance.core.errors import Conflict, Invalid
from appliance.library import queries
from appliance.library.queries import AssetView
from appliance.operations import services
from appliance.operations.kinds import Kind
from appliance.tagging import services as tagging
from appliance.tagging.services import TagView
from appliance.web.entry import form
from appliance.web.hypermedia import Screen, fragment, go, shell_page, wants_fragment
from appliance.web.marks import Marks, wish_of
from appliance.web.operations import person_of
from appliance.web.tagchoice import Adding, choose
from appliance.web.told import did, told


AnyRequest = Request[Any, Any, Any]
SHOWN_RECENT = 8


class When(msgspec.Struct):
    """The form of the date."""

    day: str = ""
    time: str = ""


class Words(msgspec.Struct):
    """The form of title and note."""

    title: str = ""
    note: str = ""


class Removing(msgspec.Struct):
    """The button of one tag."""

    tag: str = ""


class Turning(msgspec.Struct):
    """The button of one direction."""

    by: str = ""


TURNED = {"90": "Turned right", "180": "Turned upside down", "270": "Turned left"}


async def answer(
    request: AnyRequest, asset: AssetView, part: str, *, status: int = 200, beside: str = "", **values: Any
) -> Response[Any]:
    """The piece that changed; without scripts the asset again, or a page that holds the piece alone."""
    values |= {"asset": asset, "may_edit": True}
    if wants_fragment(request):
        response = fragment(f"asset/{part}.html", status=status, **values)
        response.content += beside
        return response
    if status == 200 and not values.get("stay"):
        return go(f"/asset/{asset.id}")
    screen = Screen("asset", "Edit", "gallery")
    async with db.unit_of_work() as uow:
        whole = await shell_page(
            request, uow.sql, "asset/_edit_page.html", screen, part=f"asset/{part}.html", **values
        )
    whole.status_code = status
    return whole


async def tag_values(uow: UnitOfWork, asset_id: int, person: int | None) -> dict[str, Any]:
    """Values of the tags of an asset as its panel shows them."""
    tags = await tagging.of_asset(uow.sql, asset_id)
    carried = {t.tag.id for t in tags}
    recent = await tagging.recent(uow.sql, person, limit=SHOWN_RECENT + len(carried)) if person else []
    return {"tags": tags, "recent": [t for t in recent if t.id not in carried][:SHOWN_RECENT]}


# The end of the calendar is where the gallery begins to read: nothing may lie there.
LAST_YEAR = 9998


def moment(day: str, time: str) -> datetime:
    """A date of a form; a day without a time is its noon, in nobody's night."""
    try:
        found = datetime.fromisoformat(f"{day.strip()}T{time.strip() or '12:00'}")
    except ValueError:
        raise Invalid("This is no date", "A day like 2024-05-17, a time like 18:30.") from None
    if found.year > LAST_YEAR:
        raise Invalid(f"The year {found.year} is too far away", f"{LAST_YEAR} is the last.")
    if found.tzinfo is not None:
        raise Invalid("This is no date", "A day like 2024-05-17, a time like 18:30.")
    return found


class EditingController(Controller):
    """Changes of one asset; each goes through the history where it can be undone there."""

    path = "/asset/{asset_id:int}"

    @get("/tags")
    async def change_tags(self, request: AnyRequest, asset_id: int) -> Response[Any]:
        """The tags of an asset with what it takes to change them."""
        if not wants_fragment(request):
            return go(f"/asset/{asset_id}")
        async with db.unit_of_work() as uow:
            asset = await queries.asset(uow.sql, asset_id)
            return await answer(
                request, asset, "_tags", **await tag_values(uow, asset_id, person_of(request))
            )

    @post("/tags", status_code=200)
    async def add_tag(self, request: AnyRequest, asset_id: int) -> Response[Any]:
        """Add a tag by name; one that does not exist is offered to be made, with its kind and fandom."""
        sent: Adding = await form(request, Adding)
        person = person_of(request)
        async with db.unit_of_work() as uow:
            asset = await queries.asset(uow.sql, asset_id)
            choice = await choose(uow, sent)
            if choice.tag is not None:
                await _tag(uow, Kind.TAG, asset_id, choice.tag, person)
            values = await tag_values(uow, asset_id, person)
        return await answer(
            request, asset, "_tags", status=choice.status, stay=choice.open, choice=choice, **values
        )

    @post("/tags/remove", status_code=200)
    async def remove_tag(self, request: AnyRequest, asset_id: int) -> Response[Any]:
        """Take a tag off, with an undo."""
        sent: Removing = await form(request, Removing)
        person = person_of(request)
        async with db.unit_of_work() as uow:
            asset = await queries.asset(uow.sql, asset_id)
            found = await tagging.find(uow.sql, [int(sent.tag)]) if sent.tag.isdecimal() else []
            beside = ""
            if found:
                operation = await _tag(uow, Kind.UNTAG, asset_id, found[0], person)
                beside = await told(uow, operation, f"Removed {found[0].name}")
            values = await tag_values(uow, asset_id, person)
        return await answer(request, asset, "_tags", beside=beside, **values)

    @get("/marks")
    async def marks(self, request: AnyRequest, asset_id: int) -> Response[Any]:
        """Rating, favourite and where the asset stands."""
        if not wants_fragment(request):
            return go(f"/asset/{asset_id}")
        async with db.unit_of_work() as uow:
            return await answer(request, await queries.asset(uow.sql, asset_id), "_edit_marks")

    @post("/marks", status_code=200)
    async def mark(self, request: AnyRequest, asset_id: int) -> Response[Any]:
        """Rate, favour, hide, archive or throw away; what leaves the gallery gets a line with an undo."""
        wish = wish_of(await form(request, Marks))
        async with db.unit_of_work() as uow:
            await queries.asset(uow.sql, asset_id)
            asked = await services.act(uow, wish.kind, [asset_id], wish.arguments, person=person_of(request))
            beside = await told(uow, asked.id, wish.told) if wish.told and asked.changed else ""
            asset = await queries.asset(uow.sql, asset_id)
        return await answer(request, asset, "_edit_marks", beside=beside)

    @post("/turn", status_code=200)
    async def turn(self, request: AnyRequest, asset_id: int) -> Response[Any]:
        """Turn the picture; its file stays as it is."""
        sent: Turning = await form(request, Turning)
        async with db.unit_of_work() as uow:
            await queries.asset(uow.sql, asset_id)
            wish = await services.wish(uow, Kind.TURN, {"by": sent.by})
            beside = await did(
                uow, asset_id, Kind.TURN, wish, person=person_of(request), text=TURNED[sent.by]
            )
            asset = await queries.asset(uow.sql, asset_id)
        return await answer(request, asset, "_edit_marks", beside=beside, turned=True)

    @get("/date")
    async def date(self, request: AnyRequest, asset_id: int) -> Response[Any]:
        """When it was taken, and how to set that right."""
        async with db.unit_of_work() as uow:
            asset = await queries.asset(uow.sql, asset_id)
        return await answer(request, asset, "_edit_date", stay=True, open=not wants_fragment(request))

    @post("/date", status_code=200)
    async def set_date(self, request: AnyRequest, asset_id: int) -> Response[Any]:
        """Set the date by hand; nothing that reads the file again changes it."""
        sent: When = await form(request, When)
        async with db.unit_of_work() as uow:
            asset = await queries.asset(uow.sql, asset_id)
        try:
            wish = {"to": moment(sent.day, sent.time).isoformat()}
        except Invalid as refused:
            return await answer(
                request, asset, "_edit_date", status=422, open=True, refused=refused, sent=sent
            )
        async with db.unit_of_work() as uow:
            beside = await did(
                uow, asset_id, Kind.DATE, wish, person=person_of(request), text="Set the date by hand"
            )
            asset = await queries.asset(uow.sql, asset_id)
        return await answer(request, asset, "_edit_date", beside=beside)

    @post("/date/own", status_code=200)
    async def own_date(self, request: AnyRequest, asset_id: int) -> Response[Any]:
        """Use the file's own date again."""
        async with db.unit_of_work() as uow:
            await queries.asset(uow.sql, asset_id)
            beside = await did(
                uow, asset_id, Kind.OWN_DATE, {}, person=person_of(request), text="Using the file's own date"
            )
            if not beside:
                raise Conflict("This picture has the date of its file already")
            asset = await queries.asset(uow.sql, asset_id)
        return await answer(request, asset, "_edit_date", beside=beside)

    @get("/words")
    async def words(self, request: AnyRequest, asset_id: int) -> Response[Any]:
        """Title and note, and how to change them."""
        async with db.unit_of_work() as uow:
            asset = await queries.asset(uow.sql, asset_id)
        return await answer(request, asset, "_edit_words", stay=True, open=not wants_fragment(request))

    @post("/words", status_code=200)
    async def set_words(self, request: AnyRequest, asset_id: int) -> Response[Any]:
        """Write title and note; only what was changed is written, so that two people lose nothing."""
        sent: Words = await form(request, Words)
        async with db.unit_of_work() as uow:
            before = await queries.asset(uow.sql, asset_id)
        try:
            async with db.unit_of_work() as uow:
                beside = await _write(uow, before, sent, await _was(request), person=person_of(request))
                asset = await queries.asset(uow.sql, asset_id)
        except Invalid as refused:
            return await answer(
                request, before, "_edit_words", status=422, open=True, refused=refused, sent=sent
            )
        return await answer(request, asset, "_edit_words", beside=beside)


async def _tag(uow: UnitOfWork, kind: Kind, asset_id: int, tag: TagView, person: int | None) -> int:
    arguments = {"tags": [tag.id], "names": [tag.name]}
    return (await services.act(uow, kind, [asset_id], arguments, person=person)).id


class Was(msgspec.Struct):
    """What the form showed when it was opened."""

    was_title: str | None = None
    was_note: str | None = None


async def _was(request: AnyRequest) -> Was:
    was: Was = await form(request, Was)
    return was


async def _write(uow: UnitOfWork, asset: AssetView, sent: Words, was: Was, *, person: int | None) -> str:
    """Write what differs from what the form showed; the lines about it.

    Title and note are an action each: of two people at once, each keeps the field that the other left alone.
    """
    lines = ""
    if sent.title != (was.was_title if was.was_title is not None else asset.title or ""):
        lines += await _word(uow, asset, Kind.TITLE, sent.title, person=person)
    note = was.was_note if was.was_note is not None else asset.note or ""
    # Browsers send line breaks of a text field as CR LF.
    if sent.note.replace("\r\n", "\n") != note.replace("\r\n", "\n"):
        lines += await _word(uow, asset, Kind.NOTE, sent.note, person=person)
    return lines


async def _word(uow: UnitOfWork, asset: AssetView, kind: Kind, text: str, *, person: int | None) -> str:
    wish = await services.wish(uow, kind, {kind: text})
    if wish[kind] == getattr(asset, kind):
        return ""
    said = f"Set the {kind}" if wish[kind] else f"Took the {kind} away"
    return await did(uow, asset.id, kind, wish, person=person, text=said)


HANDLERS = (EditingController,)
