"""How a worker and its decode child say it: length-prefixed msgpack on one socket."""

from __future__ import annotations

import socket
import struct

import msgspec

from appliance.media.wire import Answer, Request


LENGTH = struct.Struct(">I")
# Facts, notes and paths of one file; pixels never travel, so anything larger is a broken peer.
MAX_MESSAGE = 4 << 20
_encoder = msgspec.msgpack.Encoder()
_requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_answers: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)


def frame(message: Request | Answer) -> bytes:
    """Encode one message with its length in front."""
    body = _encoder.encode(message)
    return LENGTH.pack(len(body)) + body


def answer(body: bytes) -> Answer:
    """Decode what a child said; raises msgspec.DecodeError when it makes no sense."""
    return _answers.decode(body)


def receive(channel: socket.socket) -> Request | None:
    """Wait for the next request in the child; None when the parent closed the channel."""
    head = _exactly(channel, LENGTH.size)
    if head is None:
        return None
    body = _exactly(channel, LENGTH.unpack(head)[0])
    return None if body is None else _requests.decode(body)


def _exactly(channel: socket.socket, count: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < count:
        part = channel.recv(count - len(parts))
        if not part:
            return None
        parts += part
    return bytes(parts)
