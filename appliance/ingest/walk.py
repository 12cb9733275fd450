"""The walk of a root: lazy, in a child process, resumable behind its last finished directory.

`python -m appliance.ingest.walk` gets one JSON argument and writes length-prefixed msgpack records
to standard output. It opens no file; it holds the names of the directories on its path and of one
directory's files at most a chunk at a time.
"""

from __future__ import annotations

import json
import os
import stat
import struct
import sys
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from appliance.media.reasons import Reason


CHUNK = 1000
LENGTH = struct.Struct(">I")
# Folders that other programs keep for themselves; their pictures are copies or waste.
FOREIGN = frozenset(
    {b"@eaDir", b"#recycle", b"#snapshot", b"$RECYCLE.BIN", b"System Volume Information", b"lost+found"}
)
FOREIGN_FILES = frozenset({b"Thumbs.db", b"desktop.ini", b"ehthumbs.db"})
INT64 = 2**63


class Seen(msgspec.Struct, array_like=True, frozen=True):
    """One path that is not a directory; `verdict` is a reason to skip it, or empty."""

    path: bytes
    size: int
    mtime_ns: int
    inode: int
    verdict: str


class Files(msgspec.Struct, tag="files", frozen=True):
    """Some files of one directory."""

    seen: list[Seen]


class Finished(msgspec.Struct, tag="finished", frozen=True):
    """All files of this directory were told; an interrupted walk goes on behind it."""

    directory: bytes


class Unavailable(msgspec.Struct, tag="unavailable", frozen=True):
    """The root itself cannot be read: nothing under it may be judged."""

    cause: str


class End(msgspec.Struct, tag="end", frozen=True):
    """The walk is complete."""


Record = Files | Finished | Unavailable | End
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Record] = msgspec.msgpack.Decoder(Record)


def decode(body: bytes) -> Record:
    """Read one record."""
    return _decoder.decode(body)


def arguments(root: bytes, under: bytes, after: bytes | None, avoid: list[str]) -> str:
    """The one argument of the child; names are bytes, so they travel as hexadecimal."""
    return json.dumps(
        {
            "root": root.hex(),
            "under": under.hex(),
            "after": None if after is None else after.hex(),
            "avoid": avoid,
        }
    )


class Walk:
    """Depth first; a directory's files before its subdirectories, those in byte order."""

    def __init__(self, root: bytes, after: bytes | None, avoid: frozenset[tuple[int, int]]) -> None:
        self.root = root
        self.after = None if after is None else _parts(after)
        self.avoid = avoid

    def records(self, under: bytes) -> Iterator[Record]:
        """Everything under one part of the root."""
        try:
            top = os.stat(self._absolute(under))
            if not stat.S_ISDIR(top.st_mode):
                yield Unavailable("it is not a folder")
                return
            os.scandir(self._absolute(under)).close()
        except OSError as error:
            yield Unavailable(error.strerror or type(error).__name__)
            return
        # A stack instead of recursion: a hostile tree may be deeper than Python's.
        waiting = [under]
        while waiting:
            directory = waiting.pop()
            subdirectories: list[bytes] = []
            yield from self._directory(directory, subdirectories)
            waiting += [d for d in sorted(subdirectories, reverse=True) if self._wanted(d)]
        yield End()

    def _absolute(self, relative: bytes) -> bytes:
        return os.path.join(self.root, relative) if relative else self.root

    def _directory(self, relative: bytes, subdirectories: list[bytes]) -> Iterator[Record]:
        told = self.after is not None and _parts(relative) <= self.after
        try:
            with os.scandir(self._absolute(relative)) as entries:
                yield from self._files(relative, entries, subdirectories, told=told)
        except OSError:
            # Told like a file that cannot be read, so that it is listed for as long as it is closed.
            yield Files([Seen(relative or b".", 0, 0, 0, Reason.UNREADABLE)])
        if not told:
            yield Finished(relative)

    def _files(
        self,
        relative: bytes,
        entries: Iterator[os.DirEntry[bytes]],
        subdirectories: list[bytes],
        *,
        told: bool,
    ) -> Iterator[Record]:
        chunk: list[Seen] = []
        for entry in entries:
            if self._is_directory(entry):
                if not self._foreign(entry):
                    subdirectories.append(os.path.join(relative, entry.name) if relative else entry.name)
                continue
            if told:
                continue
            chunk.append(_seen(relative, entry))
            if len(chunk) >= CHUNK:
                yield Files(chunk)
                chunk = []
        if chunk:
            yield Files(chunk)

    def _wanted(self, directory: bytes) -> bool:
        """False for a subtree that lies wholly before the resume point."""
        if self.after is None:
            return True
        parts = _parts(directory)
        return parts >= self.after[: len(parts)]

    def _is_directory(self, entry: os.DirEntry[bytes]) -> bool:
        try:
            return entry.is_dir(follow_symlinks=False)
        except OSError:
            return False

    def _foreign(self, entry: os.DirEntry[bytes]) -> bool:
        if entry.name.startswith(b".") or entry.name in FOREIGN:
            return True
        if not self.avoid:
            return False
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) in self.avoid


def _parts(path: bytes) -> tuple[bytes, ...]:
    return tuple(p for p in path.split(b"/") if p)


def _seen(relative: bytes, entry: os.DirEntry[bytes]) -> Seen:
    path = os.path.join(relative, entry.name) if relative else entry.name
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        # Gone between listing and looking, or not ours to look at: the import says which.
        return Seen(path, 0, 0, 0, "")
    return Seen(path, found.st_size, found.st_mtime_ns, found.st_ino % INT64, _verdict(entry.name, found))


def _verdict(name: bytes, found: os.stat_result) -> str:
    if stat.S_ISLNK(found.st_mode):
        return Reason.SYMLINK
    if not stat.S_ISREG(found.st_mode):
        return Reason.SPECIAL
    if name.startswith(b".") or name in FOREIGN_FILES:
        return Reason.HIDDEN
    return ""


def write(record: Record, out: BinaryIO) -> None:
    """Frame one record."""
    body = _encoder.encode(record)
    out.write(LENGTH.pack(len(body)) + body)


def main(argument: str, out: BinaryIO) -> None:
    """Walk and tell; a closed pipe ends it."""
    asked = json.loads(argument)
    after = None if asked["after"] is None else bytes.fromhex(asked["after"])
    walk = Walk(bytes.fromhex(asked["root"]), after, _identities(asked["avoid"]))
    for record in walk.records(bytes.fromhex(asked["under"])):
        write(record, out)
        if isinstance(record, Finished):
            out.flush()
    out.flush()


def _identities(paths: list[str]) -> frozenset[tuple[int, int]]:
    found = set()
    for path in paths:
        try:
            s = os.stat(path)
        except OSError:
            continue
        found.add((s.st_dev, s.st_ino))
    return frozenset(found)


if __name__ == "__main__":
    main(sys.argv[1], sys.stdout.buffer)
