"""What was done to one asset: carried out, and said in a line with its undo."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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


def line(operation: OperationView, words: Any, *, ids: Sequence[int] | None, moves: bool) -> str:
    """The line about an action, and what it tells the page.

    That is: which assets it was about (None where they are too many to name), and whether they leave the
    view that they were found in.
    """
    news = {
        "id": operation.id,
        "kind": operation.kind,
        "undoes": operation.undone,
        "ids": ids,
        "all": ids is None,
        "moves": moves,
    }
    return pages.render("operations/_toast.html", operation=operation, news=json.dumps(news), said=words)


async def told(uow: UnitOfWork, operation_id: int, text: str) -> str:
    """A line at the lower edge about an action, with its undo; put beside the fragment that changed."""
    view = await history.view(uow.sql, operation_id)
    shown = line(view, Said(text), ids=[], moves=False)
    return f'<hx-partial hx-target="#toasts" hx-swap="beforeend">{shown}</hx-partial>'


async def did(
    uow: UnitOfWork, asset_id: int, kind: Kind, arguments: Mapping[str, Any], *, person: int | None, text: str
) -> str:
    """Do something to one asset; the line about it, where it changed anything."""
    asked = await services.act(uow, kind, [asset_id], arguments, person=person)
    return await told(uow, asked.id, text) if asked.changed else ""
