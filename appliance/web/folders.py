"""Folders: the roots and what lies in them, each a door to the gallery."""

from __future__ import annotations

import base64
import binascii
from typing import Any, NamedTuple
from urllib.parse import quote

from litestar import Controller, Request, Response, get
from litestar.params import Parameter

from appliance.core import db, names
from appliance.core.errors import Invalid
from appliance.library import folders
from appliance.library.folders import SLASH, Folder, Level
from appliance.web import places
from appliance.web.guards import EVERYBODY
from appliance.web.hypermedia import Screen, shell_page
from appliance.web.visitor import Visitor


AnyRequest = Request[Any, Any, Any]
SCREEN = Screen("folders", "Folders", "folders")
LONGEST = 8192


class Crumb(NamedTuple):
    """One step on the way down to a level."""

    name: str
    url: str


def packed(path: bytes) -> str:
    """The exact bytes of a path in a URL."""
    return base64.urlsafe_b64encode(path).decode("ascii").rstrip("=")


def unpacked(text: str) -> bytes:
    """Read back what `packed` wrote; anything else is refused."""
    try:
        if len(text) > LONGEST:
            raise ValueError
        return base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (ValueError, binascii.Error):
        raise Invalid("That is not a folder", "Begin with the list of folders.") from None


def inside(root_id: int, path: bytes) -> str:
    """The page of the folders in a place."""
    return f"/folders?root={root_id}" + (f"&in={packed(path)}" if path else "")


def pictures(folder: Folder | Level) -> str:
    """The gallery of everything in a folder."""
    whole = folder.root.rstrip(SLASH) + SLASH + folder.path if folder.path else folder.root
    return places.gallery(places.folder_query(whole))


def crumbs(level: Level) -> list[Crumb]:
    """From the root down to this level."""
    steps, made = level.path.split(SLASH) if level.path else [], []
    made.append(Crumb(names.display(level.root), inside(level.root_id, b"")))
    for depth, step in enumerate(steps, 1):
        made.append(Crumb(names.display(step), inside(level.root_id, SLASH.join(steps[:depth]))))
    return made


class FoldersController(Controller):
    """The tree of folders, one level at a time."""

    opt = EVERYBODY

    @get("/folders")
    async def index(
        self,
        request: AnyRequest,
        root: int | None = None,
        within: str = Parameter(query="in", default=""),
        after: str = "",
    ) -> Response[Any]:
        """All roots, or the folders of one place."""
        person = Visitor.of(request).person
        admin = bool(person and person.admin)
        async with db.unit_of_work() as uow:
            values: dict[str, Any] = {"pictures": pictures, "inside": inside, "quote": quote}
            if root is None:
                found, level = await folders.roots(uow.sql, admin=admin), None
            else:
                level = await folders.level(
                    uow.sql, root, unpacked(within), after=unpacked(after), admin=admin
                )
                found = level.folders
                values["crumbs"] = crumbs(level)
                if level.after is not None:
                    values["more"] = f"{inside(root, level.path)}&after={packed(level.after)}"
            values |= {"folders": found, "level": level}
            return await shell_page(request, uow.sql, "folders/index.html", SCREEN, **values)


HANDLERS = (FoldersController,)
