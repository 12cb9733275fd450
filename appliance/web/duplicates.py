"""The review of duplicates: one pair at a time, side by side, decided by button or key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from litestar import Controller, Request, Response, get, post

from appliance.core import db
from appliance.core.db import UnitOfWork
from appliance.core.errors import Invalid, NotFound
from appliance.duplicates import services as duplicates
from appliance.duplicates.services import PairView, Place
from appliance.operations import services
from appliance.operations.kinds import PAIRED, Kind
from appliance.operations.services import Asked
from appliance.tagging import services as tagging
from appliance.web import told, versus
from appliance.web.entry import form
from appliance.web.hypermedia import Screen, fragment, go, html, shell_page, wants_fragment
from appliance.web.operations import person_of
from appliance.web.pages import render


if TYPE_CHECKING:
    from asyncpg import Connection


AnyRequest = Request[Any, Any, Any]
SCREEN = Screen("duplicates", "Duplicates", "duplicates")
NEXT = 8
SAID = {
    Kind.KEEP_ONE: "Kept one, the other is in the trash",
    Kind.ALTERNATE: "Stacked as versions",
    Kind.DIFFERENT: "They will not be offered again",
}


class Decision(msgspec.Struct):
    """The form: what is decided, and which of the two stays."""

    kind: str = ""
    keep: str = ""


class DuplicatesController(Controller):
    """The page, and the decisions that lead from one pair to the next."""

    path = "/duplicates"

    @get("/")
    async def show(self, request: AnyRequest, after: str = "", pair: int = 0, done: int = 0) -> Response[Any]:
        """The best pair behind a place, or one that is named; `done` is the decision that led here."""
        async with db.unit_of_work() as uow:
            values = await _values(uow.sql, duplicates.place(after), pair)
            if wants_fragment(request):
                return fragment("duplicates/_review.html", **values)
            return await shell_page(request, uow.sql, "duplicates/index.html", SCREEN, done=done, **values)

    @post("/{pair_id:int}", status_code=200)
    async def decide(self, request: AnyRequest, pair_id: int) -> Response[Any]:
        """Decide about a pair; the answer is the next one, with the way back."""
        sent = await form(request, Decision)
        async with db.unit_of_work() as uow:
            pair = await duplicates.pair(uow.sql, pair_id)
            if pair is None:
                raise NotFound("There is no such pair", "One of the two was deleted for good.")
            asked = await _decided(uow, pair, sent, person=person_of(request))
            await uow.commit()
            if not wants_fragment(request):
                return go(f"/duplicates?after={pair.place.text()}&done={asked.id}")
            values = await _values(uow.sql, pair.place, 0) | {"decided": f"{asked.id}:{pair.id}"}
            line = await told.told(uow, asked.id, SAID[asked.kind])
        return html(render("duplicates/_review.html", **values) + line)


async def _decided(uow: UnitOfWork, pair: PairView, sent: Decision, *, person: int | None) -> Asked:
    if sent.kind not in PAIRED:
        raise Invalid("Say what shall become of the two")
    kind, ids = Kind(sent.kind), list(pair.ids)
    if kind is Kind.KEEP_ONE:
        if sent.keep not in {str(i) for i in ids}:
            raise Invalid("Say which of the two stays")
        ids.sort(key=lambda i: str(i) != sent.keep)
    return await services.act(uow, kind, ids, {"pair": ids}, person=person)


async def _values(sql: Connection[Any], at: Place | None, pair_id: int) -> dict[str, Any]:
    """What the page shows: a pair with its facts, those that follow, and how many wait."""
    named = await duplicates.pair(sql, pair_id) if pair_id else None
    at = named.place if named else at
    found = await duplicates.after(sql, at, NEXT + (named is None))
    shown = named or (found.pop(0) if found else None)
    sides = await duplicates.sides(sql, [i for p in [shown, *found] if p for i in p.ids])
    return {
        "pair": shown,
        "sides": sides,
        "following": found,
        "waiting": await duplicates.waiting(sql),
        "begun": at is not None,
        "decided": "",
    } | (await _beside(sql, shown, sides) if shown else {})


async def _beside(sql: Connection[Any], pair: PairView, sides: Any) -> dict[str, Any]:
    a, b = (sides[i] for i in pair.ids)
    compared = versus.versus(a, b)
    drop = next(i for i in pair.ids if i != compared.keep)
    mine = [each.tag for each in await tagging.of_asset(sql, compared.keep)]
    theirs = [each.tag for each in await tagging.of_asset(sql, drop)]
    stay_off = {t.id for t in mine} | await tagging.rejected(sql, compared.keep)
    return {
        "versus": compared,
        "letters": dict(zip(pair.ids, "AB", strict=True)),
        "drop": drop,
        "tags": mine,
        "gained": [tag for tag in theirs if tag.id not in stay_off],
    }


HANDLERS = (DuplicatesController,)
