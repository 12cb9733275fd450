"""Sending files: the tus protocol for what may break off, plain forms for everything else, and results."""

from __future__ import annotations

import base64
from typing import Any

from litestar import Controller, Request, Response, delete, get, patch, post, route
from litestar.enums import HttpMethod
from litestar.exceptions import HTTPException

from appliance.accounts.sessions import Person
from appliance.core import db, settings
from appliance.core.errors import Invalid, VitrineError
from appliance.ingest import parts, results, sentnames, uploads
from appliance.ingest.parts import DiskFull, Part
from appliance.ingest.uploads import Sending
from appliance.web.forms import take_files
from appliance.web.guards import NotSignedIn
from appliance.web.hypermedia import Screen, fragment, go, page, shell_page, wants_fragment
from appliance.web.receiving import (
    check_size,
    hand_over,
    let_go,
    offset_of,
    on_disk,
    receive,
)


AnyRequest = Request[Any, Any, Any]
SCREEN = Screen("uploads", "Upload", "import")
VERSION = "1.0.0"
TUS = {"Tus-Resumable": VERSION, "Cache-Control": "no-store"}
FORM_LIMIT = None
"""Bodies of these routes are streamed, and have limits of their own in bytes, room and time."""
METADATA = 8000
SHARED = "Shared from a phone"
TOKENS = 100
INT64 = 2**63


class OtherVersion(VitrineError):
    """A client that speaks another version of the protocol."""

    status = 412


class NotABody(VitrineError):
    """A piece of a file must say that it is one."""

    status = 415


def _plainly(_request: AnyRequest, error: VitrineError) -> Response[str]:
    """Programs read these answers, and the page's script shows them: words, and no page around them."""
    # Not the redirect to the sign-in page: a program would take it for success.
    title, hint = ("Sign in again", "") if isinstance(error, NotSignedIn) else (error.title, error.hint)
    headers = TUS | ({"Retry-After": "3"} if error.status == 503 else {})
    text = f"{title}. {hint}" if hint else title
    return Response(text, status_code=error.status, media_type="text/plain", headers=headers)


def _http_plainly(_request: AnyRequest, error: HTTPException) -> Response[str]:
    return Response(error.detail, status_code=error.status_code, media_type="text/plain", headers=TUS)


def _not_taken(request: AnyRequest, _error: VitrineError) -> Response[Any]:
    """Signing in does not repeat a form: the redirect to that page would lose its files without a word."""
    screen = Screen("entry", "Nothing was taken")
    return page(request, "uploads/signed_out.html", screen, status=NotSignedIn.status)


TOLD: dict[Any, Any] = {NotSignedIn: _not_taken}


def person_of(request: AnyRequest) -> Person:
    """Who sends; the guard has looked."""
    person: Person = request.scope["state"]["person"]
    return person


def said(text: str | None) -> dict[str, bytes]:
    """Upload-Metadata: pairs of a name and base64."""
    found: dict[str, bytes] = {}
    for pair in (text or "")[:METADATA].split(","):
        key, _, value = pair.strip().partition(" ")
        try:
            found[key] = base64.b64decode(value.strip(), validate=True)
        except ValueError:
            raise Invalid("Upload-Metadata cannot be read", "Values are base64.") from None
    return found


def _name(metadata: dict[str, bytes]) -> str:
    for key in ("relativePath", "filename", "name"):
        # Some programs write the word null for what they do not know.
        if metadata.get(key) not in (None, b"", b"null"):
            return sentnames.shown(metadata[key])
    return sentnames.UNNAMED


def _number(text: str | bytes | None, what: str) -> int:
    try:
        value = int(text or "")
    except ValueError:
        value = -1
    if not 0 <= value < INT64:
        raise Invalid(f"{what} is missing or no number")
    return value


def _modified(metadata: dict[str, bytes]) -> int | None:
    text = metadata.get("lastModified", b"")
    return int(text) if text.isdigit() and len(text) < 15 else None


def _check_version(request: AnyRequest) -> None:
    if request.headers.get("Tus-Resumable") != VERSION:
        raise OtherVersion(f"This speaks tus {VERSION}")


class TusController(Controller):
    """tus 1.0: core, creation, termination. https://tus.io/protocols/resumable-upload."""

    path = "/uploads"
    exception_handlers = {VitrineError: _plainly, HTTPException: _http_plainly}  # noqa: RUF012 - litestar reads it

    @route(http_method=HttpMethod.OPTIONS, status_code=200)
    async def able(self) -> Response[bytes]:
        """What is spoken here."""
        headers = {
            "Tus-Version": VERSION,
            "Tus-Extension": "creation,termination",
            "Tus-Max-Size": str(int(settings.current().upload_max_gb * 1e9)),
        }
        return Response(b"", status_code=204, media_type="text/plain", headers=TUS | headers)

    @post(status_code=201)
    async def create(self, request: AnyRequest) -> Response[bytes]:
        """Announce a file; its bytes follow."""
        _check_version(request)
        size = _number(request.headers.get("Upload-Length"), "Upload-Length")
        metadata = said(request.headers.get("Upload-Metadata"))
        check_size(size)
        sending = await self._begun(person_of(request), metadata, size)
        headers = {"Location": f"/uploads/{sending.token}", "Upload-Offset": "0"}
        return Response(b"", status_code=201, media_type="text/plain", headers=TUS | headers)

    async def _begun(self, person: Person, metadata: dict[str, bytes], size: int) -> Sending:
        home = settings.current().home
        token = uploads.new_token()
        part = await on_disk(lambda: Part.made(home, token))
        try:
            async with db.unit_of_work() as uow:
                if "batch" in metadata:
                    batch_id = _number(metadata["batch"], "batch")
                else:
                    title = f"Sent by a program of {person.name}"
                    batch_id = await uploads.session_of(uow, home, user_id=person.id, title=title)
                sending = await uploads.begin(
                    uow,
                    batch_id,
                    name=_name(metadata),
                    size=size,
                    user_id=person.id,
                    modified_ms=_modified(metadata),
                    token=token,
                )
            if size == 0:
                await hand_over(sending, part)
        except BaseException:
            parts.remove(home, token)
            raise
        finally:
            part.close()
        return sending

    @get("/{token:str}")
    async def offset(self, token: str) -> Response[bytes]:
        """HEAD: where to go on."""
        async with db.unit_of_work() as uow:
            sending = await uploads.find(uow.sql, token)
        headers = {"Upload-Offset": str(await offset_of(sending)), "Upload-Length": str(sending.size)}
        return Response(b"", media_type="text/plain", headers=TUS | headers)

    @patch("/{token:str}", request_max_body_size=FORM_LIMIT, status_code=200)
    async def append(self, request: AnyRequest, token: str) -> Response[bytes]:
        """The next piece."""
        _check_version(request)
        if request.headers.get("Content-Type") != "application/offset+octet-stream":
            raise NotABody("A piece of a file is application/offset+octet-stream")
        offset = _number(request.headers.get("Upload-Offset"), "Upload-Offset")
        here = await receive(request, token, offset)
        headers = TUS | {"Upload-Offset": str(here)}
        return Response(b"", status_code=204, media_type="text/plain", headers=headers)

    @delete("/{token:str}", status_code=200)
    async def give_up(self, request: AnyRequest, token: str) -> Response[bytes]:
        """Cancel; what has arrived of it is dropped."""
        _check_version(request)
        async with db.unit_of_work() as uow:
            sending = await uploads.find(uow.sql, token)
            await uploads.cancel(uow.sql, sending)
        await let_go(token)
        await on_disk(lambda: parts.remove(settings.current().home, token))
        return Response(b"", status_code=204, media_type="text/plain", headers=TUS)

    @post("/batch", status_code=201)
    async def open_session(self, request: AnyRequest, by: str = "") -> dict[str, Any]:
        """Begin a session of sending, which becomes one import."""
        async with db.unit_of_work() as uow:
            title = SHARED if by == "share" else f"Upload by {person_of(request).name}"
            batch_id = await uploads.open_batch(uow, settings.current().home, title)
        return {"batch": batch_id, "page": f"/uploads/batch/{batch_id}"}

    @post("/batch/{batch_id:int}/done", status_code=204)
    async def close_session(self, batch_id: int) -> None:
        """That is all."""
        async with db.unit_of_work() as uow:
            await uploads.seal(uow, batch_id)


class UploadController(Controller):
    """Pages and forms."""

    @get("/upload")
    async def show(self, request: AnyRequest) -> Response[Any]:
        """The drop zone and what was sent last; works without scripts."""
        async with db.unit_of_work() as uow:
            return await shell_page(
                request,
                uow.sql,
                "uploads/index.html",
                SCREEN,
                sessions=await results.latest(uow.sql),
                upload_limit=limit(),
            )

    @get("/uploads/batch/{batch_id:int}")
    async def session(
        self, request: AnyRequest, batch_id: int, of: str = "", after: int = 0
    ) -> Response[Any]:
        """What became of every file; `of` names some of them for a page that sends them."""
        async with db.unit_of_work() as uow:
            if of:
                files = await results.of(uow.sql, of.split(",")[:TOKENS])
                return fragment("uploads/_files.html", files=files, more=None)
            found = await results.session(uow.sql, batch_id)
            files = await results.page(uow.sql, batch_id, after=after)
            more = files[-1].id if len(files) == results.PAGE else None
            values: dict[str, Any] = {"session": found, "files": files, "more": more, "upload_limit": limit()}
            if wants_fragment(request):
                return fragment("uploads/_session.html", **values)
            return await shell_page(request, uow.sql, "uploads/session.html", SCREEN, **values)

    @post("/uploads/form", request_max_body_size=FORM_LIMIT, exception_handlers=TOLD)
    async def form(self, request: AnyRequest) -> Response[Any]:
        """A form with files, for browsers without scripts."""
        return await _taken(request, f"Upload by {person_of(request).name}")

    @post("/uploads/shared", request_max_body_size=FORM_LIMIT, exception_handlers=TOLD)
    async def shared(self, request: AnyRequest) -> Response[Any]:
        """Pictures shared from another app, where the service worker could not lay them down first."""
        return await _taken(request, SHARED)


async def _taken(request: AnyRequest, title: str) -> Response[Any]:
    person = person_of(request)
    try:
        batch_id = await take_files(request, title, person.id)
    except DiskFull as full:
        # A form cannot go on where it stopped.
        raise DiskFull(
            full.title, "Files that came whole are kept. Make room, then send the others again."
        ) from full
    if batch_id is None:
        raise Invalid("No file was sent", "Choose pictures or videos; links and text are not imported.")
    return go(f"/uploads/batch/{batch_id}")


def limit() -> str:
    """The largest file, in words."""
    return f"{settings.current().upload_max_gb:g} GB"


HANDLERS = (TusController, UploadController)
