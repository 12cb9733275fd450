"""From what was typed to one tag: known, one of several, or new with a kind and perhaps a new fandom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from appliance.core.db import UnitOfWork
from appliance.core.errors import Invalid
from appliance.tagging import services as tagging
from appliance.tagging.services import TagView


class Adding(msgspec.Struct):
    """The form that adds a tag."""

    name: str = ""
    tag: str = ""
    kind: str = ""
    fandom: str = ""
    make: str = ""
    make_fandom: str = ""


class NoFandom(Invalid):
    """The named fandom does not exist yet; it can be made at once."""

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no fandom “{name[:60]}” yet", "It can be made at once.")
        self.name = name


class Choice(NamedTuple):
    """What came of it: a tag, or the question that is left."""

    sent: Adding
    tag: TagView | None = None
    several: Sequence[TagView] = ()
    new: bool = False
    new_fandom: bool = False
    refused: Invalid | None = None

    @property
    def open(self) -> bool:
        """Whether a question is left."""
        return self.tag is None

    @property
    def status(self) -> int:
        """How the question is answered over HTTP."""
        return 422 if self.refused is not None else 200


async def choose(uow: UnitOfWork, sent: Adding) -> Choice:
    """Find or make the tag that a form means; a wrong name is an answer at the field."""
    try:
        return await _choose(uow, sent)
    except Invalid as refused:
        return Choice(sent, new=bool(sent.make), refused=refused)


async def _choose(uow: UnitOfWork, sent: Adding) -> Choice:
    if sent.tag:
        return await _picked(uow, sent)
    kind, name = tagging.split(sent.name)
    tagging.clean(name)
    if sent.make:
        return await _made(uow, sent, name, sent.kind or kind or "general")
    found = await tagging.resolve(uow.sql, tagging.name_key(name), kind=kind)
    views = await tagging.find(uow.sql, found)
    if len(views) == 1:
        return Choice(sent, tag=views[0])
    if views:
        return Choice(sent, several=sorted(views, key=lambda v: (-v.uses, v.id)))
    return Choice(msgspec.structs.replace(sent, name=name, kind=kind or ""), new=True)


async def _picked(uow: UnitOfWork, sent: Adding) -> Choice:
    wanted = [int(sent.tag)] if sent.tag.isdecimal() and len(sent.tag) < 19 else []
    # An id from a list that was drawn before a merge means what it became.
    views = await tagging.find(uow.sql, list((await tagging.current(uow.sql, wanted)).values()))
    if not views:
        raise Invalid("This tag is gone", "It was deleted meanwhile.")
    return Choice(sent, tag=views[0])


async def _made(uow: UnitOfWork, sent: Adding, name: str, kind: str) -> Choice:
    try:
        fandom_id = await fandom_of(uow, kind, sent.fandom, make=bool(sent.make_fandom))
    except NoFandom:
        return Choice(sent, new=True, new_fandom=True)
    made = await tagging.make(uow, name, kind, fandom_id=fandom_id)
    return Choice(sent, tag=(await tagging.find(uow.sql, [made]))[0])


async def fandom_of(uow: UnitOfWork, kind: str, typed: str, *, make: bool) -> int | None:
    """The fandom that a form names for a kind that can have one; a new one is made only when asked for."""
    if not typed.strip() or tagging.kind_of(kind) not in tagging.WITH_FANDOM:
        return None
    _, name = tagging.split(typed)
    known = await tagging.resolve(uow.sql, tagging.name_key(name), kind="fandom")
    if known:
        return known[0]
    if not make:
        raise NoFandom(name)
    return await tagging.make(uow, name, "fandom")
