"""Selections and what is done to them: counts, dialogs, actions, their progress and their undo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar import Controller, Request, Response, get, post
from litestar.exceptions import ClientException

from appliance.core import db
from appliance.core.db import UnitOfWork
from appliance.core.errors import Invalid
from appliance.operations import asking, history, services
from appliance.operations.history import OperationView
from appliance.operations.kinds import SINGLE, Kind, read
from appliance.search import selections
from appliance.search.selections import Selection
from appliance.search.services import Scope
from appliance.tagging import services as tagging
from appliance.web import said, told
from appliance.web.hypermedia import fragment, go, html, wants_fragment
from appliance.web.visitor import Visitor


if TYPE_CHECKING:
    from asyncpg import Connection


AnyRequest = Request[Any, Any, Any]
EVERYTHING = Scope(admin=True)
LISTED = 20_000
"""Above this the tags of a selection are not counted one by one: nobody waits for that in a dialog."""
STATE_KINDS = frozenset(
    {Kind.ARCHIVE, Kind.KEEP, Kind.TRASH, Kind.RESTORE, Kind.PRIVATE, Kind.PUBLIC, Kind.PURGE}
)
"""What these are done to leaves the view that it was found in."""


async def fields(request: AnyRequest) -> dict[str, str]:
    """The text fields of a form; several of one name are joined, as tags are."""
    try:
        sent = await request.form()
    except ValueError:
        raise ClientException("bad form") from None
    return {name: ";".join(v for v in sent.getall(name) if isinstance(v, str)) for name in sent}


async def chosen(request: AnyRequest) -> tuple[Selection, dict[str, str]]:
    """The selection that a form carries, and its other fields."""
    form = await fields(request)
    return selections.read(form.get("selection", "")), form


def person_of(request: AnyRequest) -> int | None:
    """Whose action it is."""
    person = Visitor.of(request).person
    return person.id if person else None


def toast_of(operation: OperationView, asked: services.Asked | None = None) -> Response[str]:
    """The line about an action: what it did with its undo, or how far it is."""
    ids = list(asked.ids) if asked and asked.total <= services.AT_ONCE else None
    return html(
        told.line(operation, said, ids=ids, moves=(operation.undone or operation.kind) in STATE_KINDS),
        status=202 if operation.live else 200,
        headers={"HX-Retarget": "#toasts", "HX-Reswap": "beforeend"},
    )


async def carried(request: AnyRequest, uow: UnitOfWork, *asked: services.Asked) -> Response[Any]:
    """Commit, remove what files the actions leave behind, and say what happened."""
    await uow.commit()
    for one in asked:
        await services.unlink(one.doomed)
    if not wants_fragment(request):
        return go(f"/history#operation-{asked[-1].id}")
    answers = [toast_of(await history.view(uow.sql, one.id), one) for one in asked]
    answers[-1].content = "".join(answer.content for answer in answers)
    return answers[-1]


class SelectionController(Controller):
    """Questions about a selection; none of them changes anything."""

    path = "/selection"

    @post("/count", status_code=200)
    async def count(self, request: AnyRequest) -> Response[Any]:
        """How many are selected, before anything can happen."""
        selection, _ = await chosen(request)
        async with db.unit_of_work() as uow:
            count = await selections.count(uow.sql, selection, EVERYTHING)
        return fragment("operations/_count.html", count=count)

    @post("/tags", status_code=200)
    async def shares(self, request: AnyRequest) -> Response[Any]:
        """The tag dialog: which tags all, some or none of the selection carry."""
        selection, _ = await chosen(request)
        person = person_of(request)
        async with db.unit_of_work() as uow:
            ids = await _ids(uow.sql, selection, LISTED + 1)
            count = len(ids) if len(ids) <= LISTED else await selections.count(uow.sql, selection, EVERYTHING)
            found = await tagging.shares(uow.sql, ids, limit=60) if len(ids) <= LISTED else []
            recent = await tagging.recent(uow.sql, person) if person else []
        known = {tag.id for tag, _ in found}
        return fragment(
            "operations/_tags.html",
            count=count,
            shares=found,
            recent=[tag for tag in recent if tag.id not in known],
            counted=len(ids) <= LISTED,
        )

    @get("/names")
    async def names(self, request: AnyRequest, text: str = "") -> Response[Any]:
        """What the last of the typed tags may mean."""
        if not wants_fragment(request):
            return go("/")
        done, _, last = text[:2000].rpartition(";")
        async with db.unit_of_work() as uow:
            kind, name = tagging.split(last)
            found = await tagging.complete(uow.sql, name, kind=kind)
        before = f"{done}; " if done else ""
        return fragment("operations/_names.html", found=found, before=before)

    @post("/purge", status_code=200)
    async def purge(self, request: AnyRequest) -> Response[Any]:
        """The dialog before deleting for good: how many, how much, and the number to type."""
        selection, _ = await chosen(request)
        async with db.unit_of_work() as uow:
            query, values = await selections.ids_sql(uow.sql, selection, EVERYTHING)
            weight = await history.weight(uow.sql, query, values)
        return fragment("operations/_purge.html", weight=weight, careless=services.CARELESS)


async def _ids(sql: Connection[Any], selection: Selection, limit: int) -> list[int]:
    query, values = await selections.ids_sql(sql, selection, EVERYTHING)
    return [row["id"] for row in await sql.fetch(f"SELECT id FROM ({query}) s LIMIT {int(limit)}", *values)]


class OperationsController(Controller):
    """Actions: asking, watching, stopping, undoing."""

    path = "/operations"

    @post("/", status_code=200)
    async def ask(self, request: AnyRequest) -> Response[Any]:
        """Do something to a selection: at once when it is small, else as a task that is watched."""
        selection, form = await chosen(request)
        kind = read(form.get("kind", ""))
        if kind is Kind.UNDO:
            raise Invalid("An undo names the action that it takes back")
        if kind in SINGLE:
            raise Invalid("This is done to one picture, where it is open")
        expect = _number(form.get("expect", ""))
        if kind is Kind.PURGE:
            _typed(expect, form.get("typed", ""))
        async with db.unit_of_work() as uow:
            if kind is Kind.FAVOURITE and form.get("toggle"):
                kind = await asking.toggled(uow.sql, selection)
            arguments = await services.wish(uow, kind, form)
            asked = await asking.ask(
                uow, kind, selection, arguments, person=person_of(request), expect=expect
            )
            return await carried(request, uow, asked)

    @post("/tags", status_code=200)
    async def retag(self, request: AnyRequest) -> Response[Any]:
        """Both halves of the tag dialog: what is taken off and what is put on stand or fall together."""
        selection, form = await chosen(request)
        halves = [(k, form.get(name, "").strip(" ;")) for k, name in ((Kind.UNTAG, "off"), (Kind.TAG, "on"))]
        wanted = [(kind, text) for kind, text in halves if text]
        if not wanted:
            raise Invalid("No tag was changed", "Type a name, or tick and untick what is listed.")
        person, expect = person_of(request), _number(form.get("expect", ""))
        async with db.unit_of_work() as uow:
            # Tags first, all of them: whoever makes one may not hold assets by then.
            given = [(kind, await services.wish(uow, kind, {"tags": text})) for kind, text in wanted]
            (kind, tags), *rest = given
            listed = bool(rest)
            asked = [
                await asking.ask(uow, kind, selection, tags, person=person, expect=expect, listed=listed)
            ]
            for other, more in rest:
                asked.append(await services.also(uow, asked[0].id, other, more, person=person))
            return await carried(request, uow, *asked)

    @get("/{operation:int}")
    async def watch(self, request: AnyRequest, operation: int) -> Response[Any]:
        """How far an action is; asked for plainly, its place in the history."""
        if not wants_fragment(request):
            return go(f"/history#operation-{operation}")
        async with db.unit_of_work() as uow:
            view = await history.view(uow.sql, operation)
        response = toast_of(view)
        response.status_code = 200
        # It takes the place of the line that asked.
        for name in ("HX-Retarget", "HX-Reswap"):
            response.headers.pop(name, None)
        return response

    @post("/{operation:int}/undo", status_code=200)
    async def undo(self, request: AnyRequest, operation: int) -> Response[Any]:
        """Take an action back."""
        async with db.unit_of_work() as uow:
            asked = await services.ask_undo(uow, operation, person=person_of(request))
            return await carried(request, uow, asked)

    @post("/undo", status_code=200)
    async def undo_last(self, request: AnyRequest) -> Response[Any]:
        """Take back the last thing that this person did."""
        async with db.unit_of_work() as uow:
            person = person_of(request)
            last = await history.last_undoable(uow.sql, person)
            if last is None:
                raise Invalid("There is nothing of the last minutes to undo", "The history keeps 30 days.")
            if last.changed > services.AT_ONCE:
                # One key pressed by habit must not undo an hour's work.
                raise Invalid(
                    f"Your last action changed {last.changed:,} pictures", "Undo it on the history page."
                )
            return await carried(request, uow, await services.ask_undo(uow, last.id, person=person))

    @post("/{operation:int}/cancel", status_code=200)
    async def cancel(self, request: AnyRequest, operation: int) -> Response[Any]:
        """Stop an action; what it did by then stays and can be undone."""
        async with db.unit_of_work() as uow:
            await services.cancel(uow, operation)
            await uow.commit()
            view = await history.view(uow.sql, operation)
        if not wants_fragment(request):
            return go(f"/history#operation-{operation}")
        response = toast_of(view)
        response.status_code = 200
        return response


def _number(text: str) -> int | None:
    digits = text.replace(",", "").strip()
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 12 else None


def _typed(expect: int | None, typed: str) -> None:
    """More than a handful go for good only when the person wrote the number down."""
    if expect is None:
        raise Invalid("Say how many are to be deleted for good")
    if expect > services.CARELESS and _number(typed) != expect:
        raise Invalid(f"Type {expect:,} to confirm", "Nothing was deleted.")


HANDLERS = (SelectionController, OperationsController)
