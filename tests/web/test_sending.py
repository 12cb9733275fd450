"""Connections that break, stall and compete, and servers that are killed: before a real web process."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
import signal
import socket
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from appliance.accounts import sessions
from appliance.core.db import Database
from appliance.core.settings import Settings
from appliance.web import receiving
from tests.serving import Stage


TUS = {"Tus-Resumable": "1.0.0"}
PIECE = TUS | {"Content-Type": "application/offset+octet-stream"}
MIB = 1024 * 1024
LARGE_MB = int(os.environ.get("VITRINE_TEST_UPLOAD_MB", "256"))


class Server:
    """The product's web process; it can be killed and started again."""

    def __init__(self, stage: Stage, settings: Settings, folder: Path) -> None:
        self.stage, self.settings, self.folder = stage, settings, folder
        self.pid, self.url = 0, ""

    def start(self) -> None:
        self.pid, self.url = self.stage.start(self.settings, self.folder)

    def end(self, number: int) -> None:
        self.stage.end(self.pid, number)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def memory(self) -> int:
        """The most memory that the process has held since it was last asked."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        peak = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")
        return peak * 1024


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.close()


@pytest.fixture
def server(
    db: Database, redis_url: str, settings: Settings, tmp_path: Path, stage: Stage
) -> Iterator[Server]:
    settings.home.instance.write_text(json.dumps({"id": "sending", "format": 1}))
    running = Server(stage, settings, tmp_path)
    running.start()
    yield running
    running.end(signal.SIGTERM)


@pytest.fixture
async def cookie(server: Server, account: int, db: Database) -> str:
    async with db.unit_of_work() as uow:
        token = await sessions.start(uow.sql, account, address="127.0.0.1", agent="tests")
    return f"vitrine={token}"


@asynccontextmanager
async def calling(server: Server, cookie: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, headers={"Cookie": cookie}, timeout=60) as client:
        yield client


async def announce(client: httpx.AsyncClient, size: int, name: str = "film.mkv") -> str:
    said = f"filename {base64.b64encode(name.encode()).decode()}"
    answer = await client.post(
        "/uploads", headers=TUS | {"Upload-Length": str(size), "Upload-Metadata": said}
    )
    assert answer.status_code == 201, answer.text
    return answer.headers["Location"]


async def offset(client: httpx.AsyncClient, place: str) -> int:
    return int((await client.head(place)).headers["Upload-Offset"])


def request_head(server: Server, place: str, cookie: str, at: int, length: int) -> bytes:
    lines = [
        f"PATCH {place} HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        f"Cookie: {cookie}",
        f"Content-Length: {length}",
        f"Upload-Offset: {at}",
        *(f"{k}: {v}" for k, v in PIECE.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Sender:
    """A connection that sends a piece by hand, so that it can stop anywhere."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def begin(cls, server: Server, place: str, cookie: str, at: int, length: int) -> Sender:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request_head(server, place, cookie, at, length))
        await writer.drain()
        return cls(reader, writer)

    async def send(self, body: bytes) -> None:
        self.writer.write(body)
        await self.writer.drain()

    def reset(self) -> None:
        """As when a phone leaves the house: no goodbye."""
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.close()


async def arrived(server: Server, place: str, sent: int) -> None:
    """Until what was sent is in the part file, all but the last block, which is written when it is full."""
    count = sent - receiving.BLOCK
    part = server.settings.home.uploads / f"{place.rpartition('/')[2]}.part"
    async with asyncio.timeout(60):
        while part.stat().st_size < count:
            await asyncio.sleep(0.01)


async def stored(server: Server, db: Database) -> bytes:
    async with db.unit_of_work() as uow:
        path = await uow.sql.fetchval("SELECT path FROM root_entry")
    return (server.settings.home.uploads / os.fsdecode(path)).read_bytes()


async def test_connection_that_breaks_at_random_places_loses_nothing(
    server: Server, cookie: str, db: Database
) -> None:
    rng = random.Random(7)
    body = rng.randbytes(9 * MIB + 123)
    async with calling(server, cookie) as client:
        place = await announce(client, len(body))
        here, breaks = 0, 0
        while here < len(body) and breaks < 8:
            sender = await Sender.begin(server, place, cookie, here, len(body) - here)
            await sender.send(body[here : here + rng.randrange(1, 2 * MIB)])
            sender.reset()
            breaks += 1
            here = await settled_offset(client, place)
        rest = await client.patch(place, headers=PIECE | {"Upload-Offset": str(here)}, content=body[here:])
        assert rest.status_code == 204

    assert breaks == 8
    assert await stored(server, db) == body


async def settled_offset(client: httpx.AsyncClient, place: str) -> int:
    """The offset once the broken request has written down what it had."""
    seen: list[int] = []
    while len(seen) < 3 or len(set(seen[-3:])) > 1:
        seen.append(await offset(client, place))
        await asyncio.sleep(0.03)
    return seen[-1]


async def test_killed_server_goes_on_where_it_was_with_the_same_bytes(
    server: Server, cookie: str, db: Database
) -> None:
    body = random.Random(8).randbytes(12 * MIB)
    async with calling(server, cookie) as client:
        place = await announce(client, len(body))
    sender = await Sender.begin(server, place, cookie, 0, len(body))
    await sender.send(body[: 5 * MIB + 77])
    await arrived(server, place, 5 * MIB)

    server.end(signal.SIGKILL)
    sender.reset()
    server.start()

    async with calling(server, cookie) as client:
        here = await offset(client, place)
        assert 5 * MIB - receiving.BLOCK <= here <= 5 * MIB + 77
        answer = await client.patch(place, headers=PIECE | {"Upload-Offset": str(here)}, content=body[here:])
        assert answer.status_code == 204
    assert await stored(server, db) == body


async def test_stopped_server_keeps_what_came(server: Server, cookie: str) -> None:
    async with calling(server, cookie) as client:
        place = await announce(client, 8 * MIB)
    sender = await Sender.begin(server, place, cookie, 0, 8 * MIB)
    await sender.send(b"x" * (3 * MIB))
    await arrived(server, place, 3 * MIB)

    server.end(signal.SIGTERM)
    sender.reset()
    server.start()

    async with calling(server, cookie) as client:
        assert await offset(client, place) == 3 * MIB


async def test_stalled_connection_gives_way_to_one_that_goes_on(
    server: Server, cookie: str, db: Database
) -> None:
    body = random.Random(9).randbytes(4 * MIB)
    async with calling(server, cookie) as client:
        place = await announce(client, len(body))
        stalled = await Sender.begin(server, place, cookie, 0, len(body))
        await stalled.send(body[: 2 * MIB])
        await arrived(server, place, 2 * MIB)

        wrong = await client.patch(place, headers=PIECE | {"Upload-Offset": "0"}, content=body)
        assert wrong.status_code == 409
        answer, tries = httpx.Response(409), 0
        while answer.status_code == 409 and tries < 3:
            # The one that gives way may write its last bytes down first.
            here, tries = await offset(client, place), tries + 1
            headers = PIECE | {"Upload-Offset": str(here)}
            answer = await client.patch(place, headers=headers, content=body[here:])
        assert answer.status_code == 204
        assert b"408" in await asyncio.wait_for(stalled.reader.readline(), 60)
        stalled.reset()

    assert await stored(server, db) == body


async def test_of_two_that_send_the_same_file_one_wins(server: Server, cookie: str, db: Database) -> None:
    body = random.Random(10).randbytes(6 * MIB)

    async def compete() -> None:
        async with calling(server, cookie) as client:
            while (here := await offset(client, place)) < len(body):
                piece = body[here : here + MIB]
                answer = await client.patch(
                    place, headers=PIECE | {"Upload-Offset": str(here)}, content=piece
                )
                statuses.append(answer.status_code)

    statuses: list[int] = []
    async with calling(server, cookie) as client:
        place = await announce(client, len(body))
    await asyncio.gather(compete(), compete(), compete())

    assert set(statuses) <= {204, 408, 409, 423}
    assert await stored(server, db) == body
    async with db.unit_of_work() as uow:
        assert await uow.sql.fetchval("SELECT count(*) FROM import_task") == 1


async def test_large_file_does_not_grow_the_server(server: Server, cookie: str, db: Database) -> None:
    size = LARGE_MB * MIB
    block = bytes(MIB)

    async def stream() -> AsyncIterator[bytes]:
        for _ in range(LARGE_MB):
            yield block

    async with calling(server, cookie) as client:
        place = await announce(client, size)
        server.memory()
        before = server.memory()
        headers = PIECE | {"Upload-Offset": "0", "Content-Length": str(size)}
        answer = await client.patch(place, headers=headers, content=stream())
        assert answer.status_code == 204

    assert server.memory() - before < 24 * MIB
    async with db.unit_of_work() as uow:
        assert await uow.sql.fetchval("SELECT size FROM root_entry") == size


async def test_cancelling_ends_the_request_that_is_sending(server: Server, cookie: str) -> None:
    async with calling(server, cookie) as client:
        place = await announce(client, 100)
        sender = await Sender.begin(server, place, cookie, 0, 100)
        await sender.send(b"x" * 10)
        assert (await client.delete(place, headers=TUS)).status_code == 204

        line = await asyncio.wait_for(sender.reader.readline(), 60)

        assert b"404" in line or b"408" in line
        assert (await client.head(place)).status_code == 404
        sender.reset()
    assert [p for p in server.settings.home.uploads.rglob("*") if p.is_file()] == []
