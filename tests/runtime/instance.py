"""A whole instance whose pages and groups are tiny: `python -m tests.runtime.instance '{"data": …}'`.

Servers, supervision, rights and files are the product's own; only what runs inside the children is small.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from appliance.core.db import open_database
from appliance.core.errors import VitrineError
from appliance.core.settings import Settings, load
from appliance.runtime import datadir, launch
from appliance.runtime.composition import Factories
from appliance.runtime.contact import Found, adopt, judge, look
from appliance.runtime.standing import standing
from appliance.runtime.terminal import complain
from migrations.run import upgrade


OPTIONS: dict[str, Any] = {}
SETTINGS = ("data", "port", "disk_floor_mb", "database_url")


def note(settings: Settings, line: str) -> None:
    with (settings.data / "notes").open("a", encoding="utf-8") as notes:
        notes.write(f"{line}\n")


def serve(settings: Settings, sockets: list[socket.socket]) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while True:
        for listener in select.select(sockets, [], [], 1)[0]:
            connection, _ = listener.accept()
            connection.recv(4096)
            body = str(os.getpid()).encode()
            head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
            connection.sendall(head % len(body) + body)
            connection.close()


def work(settings: Settings, group: str) -> None:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    rights = {
        line.split()[0]: line.split()[1] for line in status.splitlines() if line.startswith(("Cap", "No"))
    }
    note(settings, json.dumps({"group": group, "uid": os.getuid(), **rights}))
    signal.signal(
        signal.SIGTERM, signal.SIG_IGN if OPTIONS.get("stubborn") == group else lambda *_: sys.exit(0)
    )
    if OPTIONS.get("crashing") == group:
        sys.exit(3)
    while True:
        time.sleep(0.1)


def first_contact(settings: Settings) -> dict[str, Any]:
    return asyncio.run(contact(settings))


async def contact(settings: Settings) -> dict[str, Any]:
    database = open_database(settings.database_url, pool=1)
    known = datadir.identity(settings.home)
    try:
        found, why = await look(database, known.id)
        if found is not Found.DOWN:
            judge(found, established=bool(known.database))
        return {"state": found, "why": why, "current": found is Found.OURS, "code": "ABCD"}
    finally:
        await database.close()


def migrate(settings: Settings) -> None:
    upgrade(settings)
    asyncio.run(take_over(settings))


async def take_over(settings: Settings) -> None:
    database = open_database(settings.database_url, pool=1)
    await adopt(database, datadir.identity(settings.home).id)
    await database.close()


def borrow(settings: Settings) -> int:
    with standing(settings, compose) as there:
        complain(f"standing {there.settings.database_url} {there.urls}")
        while not (settings.data / "enough").exists():
            time.sleep(0.05)
    return 0


def main() -> int:
    OPTIONS.update(json.loads(sys.argv[1]))
    made = {name: OPTIONS[name] for name in SETTINGS if name in OPTIONS}
    settings = load(os.environ, **made)
    folders = [os.fsencode(path) for path in OPTIONS.get("folders", ())]
    if OPTIONS.get("borrow"):
        return borrow(settings)
    try:
        return launch.run(settings, compose, folders=folders)
    except VitrineError as refusal:
        complain(refusal.line())
        return 1


def compose() -> Factories:
    return Factories(
        first_contact=first_contact,
        preload=lambda: None,
        migrate=migrate,
        web=serve,
        group=work,
        settle=lambda settings, pid, begun: note(settings, f"settled {pid} {begun}"),
        settle_host=lambda settings: note(settings, "settled host"),
        add_folders=lambda _settings, folders: [f"added {folder!r}" for folder in folders],
    )


if __name__ == "__main__":
    sys.exit(main())
