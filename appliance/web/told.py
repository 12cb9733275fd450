"""What was done to one asset: carried out, and said in a line with its undo."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from appliance.core.db import UnitOfWork
from appliance.operations import history, services
from appliance.operations.history import OperationView
from appliance.operations.kinds import Kind
from appliance.web import pages


class Said(NamedTuple):
    """Words about one asset, in place of those about many."""

    text: str

    def now(self, _operation: OperationView) -> str:
        """What was done."""
        return self.text

    def besides(self, _operation: OperationView) -> list[str]:
        """One asset meets nothing on the way."""
        return []


async def told(uow: UnitOfWork, operation_id: int, text: str) -> str:
    """A line at the lower edge about an action, with its undo; put beside the fragment that changed."""
    view = await history.view(uow.sql, operation_id)
    news = {"id": view.id, "kind": view.kind, "undoes": view.undone, "ids": [], "all": False, "moves": False}
    line = pages.render("operations/_toast.html", operation=view, news=json.dumps(news), said=Said(text))
    return f'<hx-partial hx-target="#toasts" hx-swap="beforeend">{line}</hx-partial>'


async def did(
    uow: UnitOfWork, asset_id: int, kind: Kind, arguments: Mapping[str, Any], *, person: int | None, text: str
) -> str:
    """Do something to one asset; the line about it, where it changed anything."""
    asked = await services.act(uow, kind, [asset_id], arguments, person=person)
    return await told(uow, asked.id, text) if asked.changed else ""
