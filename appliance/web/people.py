"""People, for administrators: who may come in and what they may do."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Controller, Request, Response, get, post

from appliance.accounts import passwords, people
from appliance.accounts.errors import BadName, NameTaken, WeakPassword
from appliance.accounts.models import Role
from appliance.accounts.people import Doer
from appliance.core import db
from appliance.core.errors import Invalid, VitrineError
from appliance.web.account import myself
from appliance.web.entry import caller_of, form
from appliance.web.hypermedia import go
from appliance.web.settings_pages import section


AnyRequest = Request[Any, Any, Any]


class NewPerson(msgspec.Struct):
    """The form for an account; without a password one is made."""

    name: str = ""
    role: str = str(Role.VIEWER)
    password: str = ""


class RoleForm(msgspec.Struct):
    """The form for a role."""

    role: str = ""


def _by(request: AnyRequest) -> Doer:
    return Doer(myself(request).id, caller_of(request))


def _role(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        raise Invalid("This role does not exist", "Administrator or viewer.") from None


class PeopleController(Controller):
    """The list of people and a page for each."""

    path = "/settings/people"

    @get("/")
    async def show(self, request: AnyRequest) -> Response[Any]:
        """Everybody, and the form for one more."""
        return await _list(request, NewPerson())

    @post("/", status_code=200)
    async def add(self, request: AnyRequest) -> Response[Any]:
        """A new account; a password that was made for it is shown on this answer only."""
        sent = await form(request, NewPerson)
        made = "" if sent.password else passwords.generate()
        try:
            user_id = await people.add(
                sent.name, sent.password or made, role=_role(sent.role), by=_by(request)
            )
        except (BadName, NameTaken, WeakPassword) as refusal:
            return await _list(request, sent, refusal=refusal)
        if not made:
            return go("/settings/people?said=added")
        return await _person(request, user_id, made=made)

    @get("/{user_id:int}")
    async def one(self, request: AnyRequest, user_id: int) -> Response[Any]:
        """One person: role, password, sessions, shutting out."""
        return await _person(request, user_id)

    @post("/{user_id:int}/role", status_code=200)
    async def set_role(self, request: AnyRequest, user_id: int) -> Response[Any]:
        """Make somebody an administrator or a viewer."""
        sent = await form(request, RoleForm)
        await people.set_role(user_id, _role(sent.role), by=_by(request))
        # Who gave up their own rights no longer sees this page.
        mine = user_id == myself(request).id and sent.role != str(Role.ADMIN)
        return go("/settings" if mine else f"/settings/people/{user_id}?said=role")

    @post("/{user_id:int}/password", status_code=200)
    async def renew_password(self, request: AnyRequest, user_id: int) -> Response[Any]:
        """A new password, shown on this answer only."""
        if user_id == myself(request).id:
            raise Invalid("This is your own account", "Change your password under Account.")
        made = await people.renew_password(user_id, by=_by(request))
        return await _person(request, user_id, made=made)

    @post("/{user_id:int}/sessions", status_code=200)
    async def end_sessions(self, request: AnyRequest, user_id: int) -> Response[Any]:
        """Sign somebody out everywhere."""
        await people.end_sessions(user_id, by=_by(request))
        return go(f"/settings/people/{user_id}?said=ended")

    @post("/{user_id:int}/disable", status_code=200)
    async def disable(self, request: AnyRequest, user_id: int) -> Response[Any]:
        """Shut somebody out."""
        await people.disable(user_id, by=_by(request))
        return go(f"/settings/people/{user_id}?said=disabled")

    @post("/{user_id:int}/enable", status_code=200)
    async def enable(self, request: AnyRequest, user_id: int) -> Response[Any]:
        """Let somebody back in."""
        await people.enable(user_id, by=_by(request))
        return go(f"/settings/people/{user_id}?said=enabled")

    @get("/{user_id:int}/remove")
    async def ask(self, request: AnyRequest, user_id: int) -> Response[Any]:
        """The question before an account is deleted."""
        async with db.unit_of_work() as uow:
            person = await people.one(uow.sql, user_id)
        return await section(request, "people/remove.html", "people", person=person, me=myself(request))

    @post("/{user_id:int}/remove", status_code=200)
    async def remove(self, request: AnyRequest, user_id: int) -> Response[Any]:
        """Delete an account for good."""
        await people.remove(user_id, by=_by(request))
        return go("/settings/people?said=removed")


async def _list(
    request: AnyRequest, sent: NewPerson, *, refusal: VitrineError | None = None
) -> Response[Any]:
    async with db.unit_of_work() as uow:
        found = await people.everybody(uow.sql)
    return await section(
        request,
        "people/index.html",
        "people",
        status=refusal.status if refusal else 200,
        people=found,
        sent=sent,
        wrong="" if refusal is None else "password" if isinstance(refusal, WeakPassword) else "name",
        problem=refusal.line() if refusal else "",
        me=myself(request),
    )


async def _person(request: AnyRequest, user_id: int, *, made: str = "") -> Response[Any]:
    async with db.unit_of_work() as uow:
        person = await people.one(uow.sql, user_id)
    return await section(
        request,
        "people/person.html",
        "people",
        secret=bool(made),
        person=person,
        made=made,
        me=myself(request),
    )


HANDLERS = (PeopleController,)
