"""The folders of the library: adding one, looking after it, taking it out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from litestar import Controller, Request, Response, get, post

from appliance.core import db, names, room, settings
from appliance.core.errors import Conflict, Invalid, VitrineError
from appliance.ingest import held, looking, retiring, roots, services
from appliance.ingest.errors import ContainsRoots
from appliance.ingest.looking import Inside, Looked, Measured
from appliance.ingest.models import Mode
from appliance.operations import services as operations
from appliance.operations.kinds import Kind
from appliance.web.batches import MODES
from appliance.web.entry import form
from appliance.web.hypermedia import Screen, fragment, go, shell_page, wants_fragment
from appliance.web.imports import done
from appliance.web.visitor import Visitor


if TYPE_CHECKING:
    from asyncpg import Connection


AnyRequest = Request[Any, Any, Any]
ADD = Screen("import", "Add a folder", "import")
TOP = b"/"


class NewFolder(msgspec.Struct):
    """The form for a folder; `at` spells the bytes where the path is no text that can be typed."""

    path: str = ""
    at: str = ""
    mode: str = str(Mode.IN_PLACE)
    hour: str = ""
    sure: str = ""
    watched: str = ""

    @property
    def exact(self) -> bytes:
        """The path that is meant."""
        if self.at:
            try:
                exact = bytes.fromhex(self.at)
            except ValueError:
                raise Invalid("That is not a folder", "Type its path.") from None
            # Typing over what was picked means what was typed.
            if not self.path or names.display(exact) == self.path:
                return exact
        return os.fsencode(self.path.strip().rstrip("/") or ("/" if self.path.strip() else ""))

    @property
    def kind(self) -> Mode:
        """What happens to the files."""
        try:
            return Mode(self.mode)
        except ValueError:
            raise Invalid("Files can stay, be copied or be moved", "Choose one of the three.") from None


class Retiring(msgspec.Struct):
    """What becomes of the pictures that lie only in a folder that is taken out."""

    pictures: str = "keep"


class Verdict(NamedTuple):
    """What a look at a folder came to; `problem` says why it cannot be added."""

    looked: Looked | None = None
    measured: Measured | None = None
    free: int = 0
    problem: str = ""
    hint: str = ""

    @property
    def fits(self) -> bool:
        """Whether its files have room among ours."""
        return self.measured is None or self.measured.bytes <= self.free


def hour_of(text: str) -> int | None:
    """An hour of the day, or never."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and int(text[:3]) < 24):
        raise Invalid("That is not an hour of the day", "0 to 23.")
    return int(text)


async def verdict(sent: NewFolder) -> Verdict:
    """Look at a folder as far as its mode needs: files that stay are not counted."""
    try:
        looked = await looking.check(sent.exact)
        async with db.unit_of_work() as uow:
            await _refuse_overlap(uow.sql, looked.path)
        if sent.kind is Mode.IN_PLACE:
            return Verdict(looked)
        measured = await looking.measure(looked.path)
    except VitrineError as refusal:
        return Verdict(problem=refusal.title, hint=refusal.hint)
    found = Verdict(looked, measured, max(0, room.spare(settings.current())))
    if not found.fits:
        return found._replace(
            problem="There is not enough room", hint="Free some space, or let the files stay where they are."
        )
    return found


async def _refuse_overlap(sql: Connection[Any], path: bytes) -> None:
    outer, inner = await roots.covering(sql, path)
    if outer == path:
        raise Conflict("This folder is in the library already", "Scan it again from the import page.")
    if outer is not None:
        raise Conflict(
            f"It lies in {names.display(outer)}, which is in the library already", "Scan that one."
        )
    if inner:
        raise ContainsRoots(
            f"It contains {names.display(inner[0])}, which is in the library already",
            "Add the other folders inside it one by one.",
        )


async def _inside(path: bytes) -> Inside | None:
    if not path.startswith(TOP):
        path = TOP
    try:
        return await looking.inside(path)
    except VitrineError:
        return None


async def _form(
    request: AnyRequest, sent: NewFolder, *, found: Verdict | None = None, ask: bool = False
) -> Response[Any]:
    """The form; `ask` shows what copying or moving takes, and asks once more."""
    path = sent.exact if sent.path or sent.at else b""
    values: dict[str, Any] = {
        "sent": sent,
        "shown": names.display(path),
        "exact": path.hex(),
        "picker": await _inside(path or TOP),
        "found": found,
        "ask": ask,
        "modes": MODES,
    }
    if wants_fragment(request):
        return fragment("import/_add.html", **values)
    async with db.unit_of_work() as uow:
        return await shell_page(request, uow.sql, "import/add.html", ADD, **values)


class FolderController(Controller):
    """Adding and looking after folders."""

    path = "/import/folders"

    @get("/add")
    async def show_form(self, request: AnyRequest, path: str = "", at: str = "") -> Response[Any]:
        """The form, at a folder that was picked."""
        sent = NewFolder(path=path, at=at, hour=str(services.NIGHT))
        return await _form(request, sent, found=await verdict(sent) if path or at else None)

    @post("/", status_code=200)
    async def add(self, request: AnyRequest) -> Response[Any]:
        """Make a folder part of the library and scan it; copying and moving ask once more, with figures."""
        sent = await form(request, NewFolder)
        hour = hour_of(sent.hour)
        found = await verdict(sent)
        if found.looked is None or found.problem:
            return await _form(request, sent, found=found)
        if sent.kind is not Mode.IN_PLACE and not sent.sure:
            return await _form(request, sent, found=found, ask=True)
        async with db.unit_of_work() as uow:
            place = await services.add_root(uow, found.looked.path, sent.kind)
            await roots.schedule(uow, place.root_id, hour, zone=settings.current().zone)
            await services.queue_scan(uow, place)
        return go("/import", request=request)

    @get("/{root_id:int}")
    async def one(self, request: AnyRequest, root_id: int) -> Response[Any]:
        """One folder: state, schedule, taking it out."""
        async with db.unit_of_work() as uow:
            found = await roots.root(uow.sql, root_id)
            screen = Screen("import", found.name, "import")
            return await shell_page(request, uow.sql, "import/folder.html", screen, root=found, modes=MODES)

    @get("/{root_id:int}/retire")
    async def before_retiring(self, request: AnyRequest, root_id: int) -> Response[Any]:
        """What taking it out would mean."""
        async with db.unit_of_work() as uow:
            found = await roots.root(uow.sql, root_id)
            if found.status == "retired":
                return go(f"/import/folders/{root_id}")
            leaving = await retiring.preview(uow.sql, root_id)
            screen = Screen("import", f"Take out {found.name}", "import")
            return await shell_page(
                request, uow.sql, "import/retire.html", screen, root=found, leaving=leaving
            )

    @post("/{root_id:int}/gone", status_code=200)
    async def gone(self, request: AnyRequest, root_id: int, batch: int) -> Response[Any]:
        """What that scan missed is missing; other findings are asked about anew."""
        async with db.unit_of_work() as uow:
            await held.confirm(uow, root_id, batch)
        return done(request, "What is gone is marked as missing when the folder was looked at once more.")

    @post("/{root_id:int}/accept", status_code=200)
    async def accept(self, request: AnyRequest, root_id: int) -> Response[Any]:
        """Another disk is there, and that is right."""
        async with db.unit_of_work() as uow:
            await held.accept(uow, root_id)
        return done(request, "The folder is read as it is now.")

    @post("/{root_id:int}/scan", status_code=200)
    async def scan(self, request: AnyRequest, root_id: int) -> Response[Any]:
        """Look at it now."""
        async with db.unit_of_work() as uow:
            await roots.scan_now(uow, root_id)
        return done(request, "The folder is looked at again.")

    @post("/{root_id:int}/schedule", status_code=200)
    async def schedule(self, request: AnyRequest, root_id: int) -> Response[Any]:
        """When it is looked at by itself: each day, and for changes in between."""
        sent = await form(request, NewFolder)
        hour = hour_of(sent.hour)
        async with db.unit_of_work() as uow:
            await roots.schedule(uow, root_id, hour, zone=settings.current().zone)
            await roots.watch(uow, root_id, wanted=bool(sent.watched))
        return done(request, "Saved.", to=f"/import/folders/{root_id}")

    @post("/{root_id:int}/retire", status_code=200)
    async def retire(self, request: AnyRequest, root_id: int) -> Response[Any]:
        """Take it out; no file is touched. What lies only there stays, or goes to the trash as one action."""
        sent = await form(request, Retiring)
        person = Visitor.of(request).person
        async with db.unit_of_work() as uow:
            await roots.retire(uow, root_id)
            if sent.pictures == "trash":
                who = person.id if person else None
                await operations.act_on_found(uow, Kind.TRASH, retiring.ONLY_HERE, [root_id], person=who)
        return go("/history" if sent.pictures == "trash" else f"/import/folders/{root_id}")

    @post("/{root_id:int}/return", status_code=200)
    async def bring_back(self, root_id: int) -> Response[Any]:
        """Put it back as it was."""
        async with db.unit_of_work() as uow:
            await roots.bring_back(uow, root_id, zone=settings.current().zone)
        return go(f"/import/folders/{root_id}")


@get("/import/check")
async def check(
    request: AnyRequest, path: str = "", at: str = "", mode: str = str(Mode.IN_PLACE)
) -> Response[Any]:
    """Whether a path can be added, while it is typed."""
    sent = NewFolder(path=path, at=at, mode=mode)
    if not wants_fragment(request):
        return go("/import/folders/add")
    return fragment("import/_check.html", found=await verdict(sent) if path.strip() else None, sent=sent)


HANDLERS = (FolderController, check)
