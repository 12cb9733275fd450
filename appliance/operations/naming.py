"""Tags as a form names them: by id, or by name with an optional kind in front."""

from __future__ import annotations

from typing import Any

from appliance.core.db import UnitOfWork
from appliance.core.errors import Invalid
from appliance.tagging import services as tagging


MOST = 50
"""Tags in one action; a longer list is something pasted by mistake."""


async def named_tags(uow: UnitOfWork, text: str, *, make: bool) -> dict[str, Any]:
    """Ids and names of `anna; artist:ben; #12`; names that do not exist are made, or refused."""
    pieces = list(dict.fromkeys(p for p in (piece.strip() for piece in text.split(";")) if p))
    if not pieces:
        raise Invalid("Name a tag first")
    if len(pieces) > MOST:
        raise Invalid(f"At most {MOST} tags at once")
    ids: list[int] = []
    for piece in pieces:
        ids += await _one(uow, piece, make=make)
    views = await tagging.find(uow.sql, sorted(set(ids)))
    if not views:
        raise Invalid("These tags do not exist any more")
    return {"tags": [v.id for v in views], "names": [v.name for v in views]}


async def _one(uow: UnitOfWork, piece: str, *, make: bool) -> list[int]:
    if piece.startswith("#") and piece[1:].isascii() and piece[1:].isdigit() and len(piece) < 20:
        return [int(piece[1:])]
    kind, name = tagging.split(piece)
    found = await tagging.resolve(uow.sql, tagging.name_key(name), kind=kind)
    if not make:
        if not found:
            raise Invalid(f"There is no tag “{piece[:60]}”")
        return found
    if not found:
        return [await tagging.make(uow, name, kind or "general")]
    # Several share the name: the plain one is meant, or else the one that is used most.
    views = await tagging.find(uow.sql, found)
    best = max(views, key=lambda v: (v.kind == "general", v.uses, -v.id))
    return [best.id]
