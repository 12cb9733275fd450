"""Three messages of PostgreSQL's protocol: enough to ask a server whether it takes connections."""

from __future__ import annotations

import socket
import struct
from enum import StrEnum
from pathlib import Path


PROTOCOL_3 = 196608
STARTING_UP = b"57P03"  # cannot_connect_now: starting, recovering or stopping
# Said after a crash and only then; the server speaks English to us, whatever the machine's language.
AFTER_A_CRASH = b"the database system is in recovery mode"


class Answer(StrEnum):
    """What a server said."""

    READY = "ready"
    STARTING = "starting"
    RECOVERING = "recovering"
    REFUSED = "refused"
    DOWN = "down"


def ask(sockets: Path, user: str, database: str, *, limit: float = 2.0) -> Answer:
    """Ask the server behind a private socket directory; never raises for a server that is not there."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(limit)
        try:
            connection.connect(str(sockets / ".s.PGSQL.5432"))
            connection.sendall(_hello(user, database))
            return _verdict(connection)
        except OSError:
            return Answer.DOWN


def _hello(user: str, database: str) -> bytes:
    pairs = b"".join(part.encode() + b"\0" for part in ("user", user, "database", database)) + b"\0"
    return struct.pack("!ii", len(pairs) + 8, PROTOCOL_3) + pairs


def _verdict(connection: socket.socket) -> Answer:
    head = _exactly(connection, 5)
    kind, length = head[:1], struct.unpack("!i", head[1:])[0]
    if kind == b"R":
        connection.sendall(b"X" + struct.pack("!i", 4))
        return Answer.READY
    if kind != b"E":
        return Answer.REFUSED
    body = _exactly(connection, min(length - 4, 65536))
    fields = {field[:1]: field[1:] for field in body.split(b"\0")}
    if fields.get(b"C") != STARTING_UP:
        return Answer.REFUSED
    return Answer.RECOVERING if fields.get(b"M") == AFTER_A_CRASH else Answer.STARTING


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            raise ConnectionResetError
        data += piece
    return data
