"""What a walk tells, record by record, and how that travels: length-prefixed msgpack."""

from __future__ import annotations

import struct
from typing import BinaryIO

import msgspec


CHUNK = 1000
"""So many files one record holds at most."""
LENGTH = struct.Struct(">I")
UNSURE = -1
"""The time of a folder that may change once more within the same tick of its clock."""


class Top(msgspec.Struct, tag="top", frozen=True):
    """What the root is, told first."""

    identity: str
    steady: bool
    empty: bool


class Seen(msgspec.Struct, array_like=True, frozen=True):
    """One path that is not a directory; `verdict` is a reason to skip it, or empty."""

    path: bytes
    size: int
    mtime_ns: int
    inode: int
    """0 where it says nothing: on file systems that number files as they go, and on disks within."""
    verdict: str
    rest_ms: int = 0
    """How long it must still stay as it is before it is read: it changed a moment ago."""


class Files(msgspec.Struct, tag="files", frozen=True):
    """Some files of one directory."""

    seen: list[Seen]


class Finished(msgspec.Struct, tag="finished", frozen=True):
    """All files of this directory were told; an interrupted walk goes on behind it."""

    directory: bytes
    mtime_ns: int = UNSURE


class Unavailable(msgspec.Struct, tag="unavailable", frozen=True):
    """The root itself cannot be read: nothing under it may be judged."""

    cause: str


class Gone(msgspec.Struct, tag="gone", frozen=True):
    """A folder that was known is not there any more."""

    directory: bytes


class End(msgspec.Struct, tag="end", frozen=True):
    """The walk is complete."""


Record = Top | Files | Finished | Gone | Unavailable | End
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Record] = msgspec.msgpack.Decoder(Record)


def decode(body: bytes) -> Record:
    """Read one record."""
    return _decoder.decode(body)


def write(record: Record, out: BinaryIO) -> None:
    """Frame one record."""
    body = _encoder.encode(record)
    out.write(LENGTH.pack(len(body)) + body)
