"""Sending files over HTTP: the protocol, its refusals, forms, and what people are told."""

from __future__ import annotations

import asyncio
import base64
import os
from typing import Any

import httpx
import pytest

from appliance.accounts import sessions
from appliance.accounts.models import Role
from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.web import receiving
from tests.media_files import jpeg
from tests.people import a_person
from tests.web.conftest import PARTIAL, PASSWORD


TUS = {"Tus-Resumable": "1.0.0"}
PIECE = TUS | {"Content-Type": "application/offset+octet-stream"}


def metadata(**values: str | bytes) -> str:
    pairs = ((k, v.encode() if isinstance(v, str) else v) for k, v in values.items())
    return ",".join(f"{k} {base64.b64encode(v).decode()}" for k, v in pairs)


async def announce(client: httpx.AsyncClient, size: int, **values: str | bytes) -> httpx.Response:
    headers = TUS | {"Upload-Length": str(size), "Upload-Metadata": metadata(**values)}
    return await client.post("/uploads", headers=headers)


async def send(client: httpx.AsyncClient, place: str, offset: int, body: bytes) -> httpx.Response:
    return await client.patch(place, headers=PIECE | {"Upload-Offset": str(offset)}, content=body)


async def sent(client: httpx.AsyncClient, body: bytes, **values: str | bytes) -> str:
    place = (await announce(client, len(body), **values)).headers["Location"]
    if body:
        assert (await send(client, place, 0, body)).status_code == 204
    return place


async def rows(db: Database, sql: str, *args: object) -> list[dict[str, Any]]:
    async with db.unit_of_work() as uow:
        return [dict(r) for r in await uow.sql.fetch(sql, *args)]


async def test_pieces_become_one_file_that_waits_for_its_import(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    body = jpeg(1)
    made = await announce(client, len(body), filename="IMG_1.jpg", lastModified="1600000000000")
    place = made.headers["Location"]
    assert made.status_code == 201
    assert (await send(client, place, 0, body[:300])).headers["Upload-Offset"] == "300"
    assert (await client.head(place)).headers["Upload-Offset"] == "300"
    assert await rows(db, "SELECT 1 FROM import_task") == []

    assert (await send(client, place, 300, body[300:])).status_code == 204

    (found,) = await rows(
        db,
        "SELECT u.status, u.name, u.modified_ms, e.path, e.size, t.status AS task, b.files,"
        " r.purpose, b.title"
        " FROM upload u JOIN root_entry e ON e.id = u.entry_id JOIN import_task t ON t.entry_id = e.id"
        " JOIN import_batch b ON b.id = u.batch_id JOIN root r ON r.id = e.root_id",
    )
    assert (found["status"], found["task"], found["files"], found["purpose"]) == (
        "received",
        "pending",
        1,
        "uploads",
    )
    assert found["modified_ms"] == 1_600_000_000_000
    assert found["title"] == "Sent by a program of anna"
    assert (settings.home.uploads / os.fsdecode(found["path"])).read_bytes() == body
    assert list(settings.home.uploads.glob("*.part")) == []
    again = await client.head(place)
    assert (again.headers["Upload-Offset"], again.headers["Upload-Length"]) == (str(len(body)),) * 2


async def test_answers_name_the_protocol_and_its_limits(client: httpx.AsyncClient) -> None:
    able = await client.options("/uploads")

    assert able.headers["Tus-Version"] == "1.0.0"
    assert set(able.headers["Tus-Extension"].split(",")) == {"creation", "termination"}
    assert able.headers["Tus-Max-Size"] == "20000000000"
    assert (await client.post("/uploads", headers={"Upload-Length": "3"})).status_code == 412


async def test_wrong_offset_changes_nothing(client: httpx.AsyncClient) -> None:
    place = (await announce(client, 10, filename="a.jpg")).headers["Location"]
    await send(client, place, 0, b"abcd")

    for offset in (0, 3, 5, 10):
        refused = await send(client, place, offset, b"xy")
        assert refused.status_code == 409
        assert "4 bytes are here" in refused.text

    assert (await client.head(place)).headers["Upload-Offset"] == "4"
    assert (await client.patch(place, headers=TUS | {"Upload-Offset": "4"}, content=b"e")).status_code == 415
    assert (await client.patch(place, headers=PIECE, content=b"e")).status_code == 422


@pytest.mark.parametrize("said", [b"filename \xff", b"filename !!!", b"filename YQ", b"lastModified YQ=="])
async def test_metadata_of_nonsense_is_no_accident(client: httpx.AsyncClient, said: bytes) -> None:
    headers = {k.encode(): v.encode() for k, v in (TUS | {"Upload-Length": "4"}).items()}

    answer = await client.post("/uploads", headers=headers | {b"Upload-Metadata": said})

    assert answer.status_code == (201 if said.startswith(b"last") else 422)
    for size in ("-1", "x", "", "9" * 30):
        assert (await client.post("/uploads", headers=TUS | {"Upload-Length": size})).status_code == 422


async def test_more_than_was_announced_is_refused(client: httpx.AsyncClient) -> None:
    place = (await announce(client, 4, filename="a.jpg")).headers["Location"]

    assert (await send(client, place, 0, b"abcdefgh")).status_code == 413

    async def unannounced() -> Any:
        yield b"abcdefgh"

    chunked = await client.patch(place, headers=PIECE | {"Upload-Offset": "0"}, content=unannounced())
    assert chunked.status_code == 413
    assert (await client.head(place)).headers["Upload-Offset"] == "0"


async def test_cancelled_upload_leaves_nothing(
    client: httpx.AsyncClient, settings: Settings, db: Database
) -> None:
    place = (await announce(client, 10, filename="a.jpg")).headers["Location"]
    await send(client, place, 0, b"abcd")

    assert (await client.delete(place, headers=TUS)).status_code == 204

    assert (await client.head(place)).status_code == 404
    assert (await send(client, place, 4, b"efghij")).status_code == 404
    assert [p for p in settings.home.uploads.rglob("*") if p.is_file()] == []
    done = await sent(client, jpeg(2), filename="b.jpg")
    assert (await client.delete(done, headers=TUS)).status_code == 409


@pytest.mark.parametrize(
    ("raw", "shown", "stored"),
    [
        (b"../../etc/passwd.jpg", "etc/passwd.jpg", "passwd.jpg"),
        (b"holiday/2019/a.jpg", "holiday/2019/a.jpg", "a.jpg"),
        (b"C:\\Users\\x\\a.jpg", "C:/Users/x/a.jpg", "a.jpg"),
        (b"a\x00b\n.jpg", "a\\x00b\\x0a.jpg", "a_x00b_x0a.jpg"),
        (b"caf\xe9.jpg", "caf\\xe9.jpg", "caf_xe9.jpg"),
        ("söße.jpg".encode(), "söße.jpg", "s__e.jpg"),
        (b"..", "unnamed", "unnamed"),
        (b"...", "unnamed", "unnamed"),
        (b".hidden.jpg", ".hidden.jpg", "hidden.jpg"),
        (b"/", "unnamed", "unnamed"),
        (b"null", "unnamed", "unnamed"),
        (b"x" * 300 + b".jpg", "x" * 300 + ".jpg", "x" * 120 + ".jpg"),
        ("a\u202egpj.exe".encode(), "a\\u202egpj.exe", "a_u202egpj.exe"),
        (b"a.", "a.", "a"),
        (b"a.jpg" + b"y" * 60, "a.jpg" + "y" * 60, "a.jpg" + "y" * 13),
    ],
)
async def test_hostile_names_are_shown_and_lead_nowhere(
    client: httpx.AsyncClient, db: Database, settings: Settings, raw: bytes, shown: str, stored: str
) -> None:
    await sent(client, jpeg(1), filename=raw)

    (found,) = await rows(
        db, "SELECT u.name, u.token, e.path FROM upload u JOIN root_entry e ON e.id = entry_id"
    )
    assert found["name"] == shown
    assert found["path"].decode() == f"{found['token']}/{stored}"
    assert (settings.home.uploads / found["token"] / stored).is_file()


async def test_file_beyond_the_limit_is_refused_before_it_is_sent(
    client: httpx.AsyncClient, settings: Settings
) -> None:
    refused = await announce(client, 20_000_000_001, filename="film.mkv")

    assert refused.status_code == 413
    assert "20.0 GB" in refused.text
    assert "VITRINE_UPLOAD_MAX_GB" in refused.text
    assert not settings.home.uploads.exists() or not list(settings.home.uploads.iterdir())


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """The room on the disk, for a test to change."""
    free = {"free": 10**15}
    usage = type("Usage", (), {})

    def measured(_path: object) -> Any:
        found = usage()
        found.free = free["free"]
        return found

    monkeypatch.setattr("appliance.core.room.shutil.disk_usage", measured)
    return free


async def test_full_disk_is_said_before_and_while_a_file_is_sent(
    client: httpx.AsyncClient, disk: dict[str, int], settings: Settings
) -> None:
    floor = settings.disk_floor_mb * 1024 * 1024
    disk["free"] = floor + 1_000_000
    refused = await announce(client, 3_000_000, filename="a.jpg")
    assert refused.status_code == 507
    assert "1.0 MB of room left" in refused.text
    assert "3.0 MB" in refused.text
    disk["free"] = 10**15
    place = (await announce(client, 3_000_000, filename="a.jpg")).headers["Location"]
    disk["free"] = floor - 1

    stopped = await send(client, place, 0, b"x" * 3_000_000)

    assert stopped.status_code == 507
    assert "What has arrived is kept" in stopped.text
    disk["free"] = 10**15
    here = int((await client.head(place)).headers["Upload-Offset"])
    assert (await send(client, place, here, b"x" * (3_000_000 - here))).status_code == 204


async def test_a_form_that_met_a_full_disk_says_what_to_send_again(
    client: httpx.AsyncClient, disk: dict[str, int], settings: Settings
) -> None:
    disk["free"] = settings.disk_floor_mb * 1024 * 1024 - 1
    refused = await client.post("/uploads/form", files=form(("a.jpg", jpeg(1))))
    assert refused.status_code == 507
    assert "Make room, then send the others again" in refused.text
    assert "goes on" not in refused.text
    disk["free"] = 10**15
    assert (await client.post("/uploads/form", files=form(("a.jpg", jpeg(1))))).status_code == 303


async def test_too_many_bodies_at_once_are_told_to_come_back(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = (await announce(client, 4, filename="a.jpg")).headers["Location"]
    monkeypatch.setattr(receiving, "PARALLEL", 0)

    busy = await send(client, place, 0, b"abcd")

    assert busy.status_code == 503
    assert busy.headers["Retry-After"] == "3"


async def test_empty_file_arrives_at_once(client: httpx.AsyncClient, db: Database) -> None:
    place = await sent(client, b"", filename="nothing.jpg")

    assert await rows(db, "SELECT size, outcome FROM root_entry") == [{"size": 0, "outcome": "pending"}]
    assert (await client.head(place)).headers["Upload-Offset"] == "0"


async def test_files_of_a_program_share_a_session_and_named_ones_keep_theirs(
    client: httpx.AsyncClient, db: Database
) -> None:
    opened = (await client.post("/uploads/batch")).json()
    await sent(client, jpeg(1), filename="a.jpg")
    await sent(client, jpeg(2), filename="b.jpg")
    await sent(client, jpeg(3), filename="c.jpg", batch=str(opened["batch"]))

    found = await rows(db, "SELECT title, files FROM import_batch ORDER BY id")

    assert found == [
        {"title": "Upload by anna", "files": 1},
        {"title": "Sent by a program of anna", "files": 2},
    ]
    assert (await announce(client, 4, filename="x.jpg", batch="99")).status_code == 404
    assert (await announce(client, 4, filename="x.jpg", batch="no")).status_code == 422


async def test_file_that_ends_after_its_session_goes_on_in_another(
    client: httpx.AsyncClient, db: Database
) -> None:
    opened = (await client.post("/uploads/batch")).json()["batch"]
    place = (await announce(client, 4, filename="a.jpg", batch=str(opened))).headers["Location"]
    assert (await client.post(f"/uploads/batch/{opened}/done")).status_code == 204
    assert await rows(db, "SELECT status FROM import_batch") == [{"status": "done"}]

    assert (await send(client, place, 0, b"abcd")).status_code == 204

    found = await rows(
        db, "SELECT status, title, files, walked_at IS NULL AS open FROM import_batch ORDER BY id"
    )
    assert found[1] == {"status": "importing", "title": "Upload by anna", "files": 1, "open": True}
    await asyncio.gather(*(announce(client, 4, filename="more.jpg", batch=str(opened)) for _ in range(5)))
    assert len(await rows(db, "SELECT 1 FROM import_batch")) == 2, "all that come back share one"


def form(*files: tuple[str, bytes]) -> list[tuple[str, tuple[str, bytes, str]]]:
    return [("files", (name, body, "image/jpeg")) for name, body in files]


async def test_plain_form_takes_files_without_scripts(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    bodies = {"a.jpg": jpeg(1), "b.jpg": jpeg(2, size=(2000, 1500)), "empty.jpg": b""}

    answer = await client.post("/uploads/form", files=form(*bodies.items()))

    assert answer.status_code == 303
    found = await rows(db, "SELECT u.name, e.path FROM upload u JOIN root_entry e ON e.id = u.entry_id")
    stored = {f["name"]: (settings.home.uploads / os.fsdecode(f["path"])).read_bytes() for f in found}
    assert stored == bodies
    page = await client.get(answer.headers["Location"])
    assert page.status_code == 200
    assert all(name in page.text for name in bodies)
    assert await rows(db, "SELECT walked_at IS NOT NULL AS said FROM import_batch") == [{"said": True}]


async def test_form_without_files_says_so_and_leaves_no_session(
    client: httpx.AsyncClient, db: Database
) -> None:
    answer = await client.post("/uploads/form", files=form(("", b"")), data={"title": "just words"})

    assert answer.status_code == 422
    assert "No file was sent" in answer.text
    assert await rows(db, "SELECT 1 FROM import_batch") == []
    assert (await client.post("/uploads/form", data={"a": "b"})).status_code == 400


async def test_form_that_breaks_off_keeps_what_was_whole(
    client: httpx.AsyncClient, db: Database, settings: Settings
) -> None:
    request = client.build_request(
        "POST", "/uploads/form", files=form(("a.jpg", jpeg(1)), ("b.jpg", jpeg(2)))
    )
    body = await request.aread()
    headers = {"Content-Type": request.headers["Content-Type"]}

    answer = await client.post("/uploads/form", headers=headers, content=body[: len(body) - 400])

    assert answer.status_code in {303, 400}
    assert [r["name"] for r in await rows(db, "SELECT name FROM upload")] == ["a.jpg"]
    assert list(settings.home.uploads.glob("*.part")) == []


async def test_latin_name_in_a_form_is_taken(client: httpx.AsyncClient, db: Database) -> None:
    body = (
        b'--x\r\nContent-Disposition: form-data; name="files"; filename="caf\xe9.jpg"\r\n'
        b"Content-Type: image/jpeg\r\n\r\n" + jpeg(1) + b"\r\n--x--\r\n"
    )

    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    assert (await client.post("/uploads/form", headers=headers, content=body)).status_code == 303

    assert await rows(db, "SELECT name FROM upload") == [{"name": "caf\\xe9.jpg"}]


async def test_shared_pictures_become_a_session_of_their_own(client: httpx.AsyncClient, db: Database) -> None:
    answer = await client.post(
        "/uploads/shared",
        files=form(("IMG_20260704_101112.jpg", jpeg(1))),
        data={"title": "Look", "text": "at this"},
        headers={"Sec-Fetch-Site": "none"},
    )

    assert answer.status_code == 303
    assert "Shared from a phone" in (await client.get(answer.headers["Location"])).text
    assert [r["name"] for r in await rows(db, "SELECT name FROM upload")] == ["IMG_20260704_101112.jpg"]


async def test_session_that_sends_what_was_shared_is_called_by_that(client: httpx.AsyncClient) -> None:
    made = await client.post("/uploads/batch?by=share")

    assert "Shared from a phone" in (await client.get(made.json()["page"])).text


async def test_strangers_and_viewers_send_nothing(
    stranger: httpx.AsyncClient, account: int, db: Database, settings: Settings
) -> None:
    refused = await announce(stranger, 4, filename="a.jpg")

    assert refused.status_code == 401
    assert refused.text == "Sign in again"
    assert (await stranger.head("/uploads/abcdefghijklmnopqrstuvwx")).status_code == 401
    for way in ("/uploads/form", "/uploads/shared"):
        answer = await stranger.post(way, files=form(("a.jpg", jpeg(1))))
        assert answer.status_code == 401
        assert "Nothing was taken" in answer.text
        assert 'href="/login?next=%2Fupload"' in answer.text
    async with db.unit_of_work() as uow:
        viewer = await a_person(uow, "vera", PASSWORD, role=Role.VIEWER)
        token = await sessions.start(uow.sql, viewer, address="127.0.0.1", agent="tests")
    stranger.cookies.set("vitrine", token, domain="localhost.local")
    assert (await announce(stranger, 4, filename="a.jpg")).status_code == 403
    assert (await stranger.post("/uploads/form", files=form(("a.jpg", jpeg(1))))).status_code == 403
    assert "data-upload" not in (await stranger.get("/")).text
    assert await rows(db, "SELECT 1 FROM upload") == []
    assert not settings.home.uploads.exists()


async def test_results_are_a_page_and_a_fragment_for_some_files(client: httpx.AsyncClient) -> None:
    first = await sent(client, jpeg(1), filename="<b>first</b>.jpg")
    await sent(client, jpeg(2), filename="second.jpg")
    token = first.rpartition("/")[2]

    page = await client.get("/uploads/batch/1")
    part = await client.get(f"/uploads/batch/1?of={token}", headers=PARTIAL)

    assert "&lt;b&gt;first" in page.text
    assert "second.jpg" in page.text
    assert f'data-upload="{token}"' in part.text
    assert "Being read" in part.text
    assert "second.jpg" not in part.text
    assert "<html" not in part.text
    assert (await client.get("/uploads/batch/77")).status_code == 404
    assert "Choose files" in (await client.get("/upload")).text


@pytest.mark.parametrize("token", ["x", "..%2f..%2fetc", "a" * 24, "%00"])
async def test_unknown_uploads_are_not_there(client: httpx.AsyncClient, token: str) -> None:
    assert (await client.head(f"/uploads/{token}")).status_code in {400, 404, 422}
