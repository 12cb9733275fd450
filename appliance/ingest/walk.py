"""The walk of a root: lazy, in a child process, resumable behind its last finished directory.

`python -m appliance.ingest.walk` gets one JSON argument and writes length-prefixed msgpack records
to standard output. It opens no file; it holds the names of the directories on its path and of one
directory's files at most a chunk at a time.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, BinaryIO

import msgspec

from appliance.ingest import identity, seeing
from appliance.ingest.telling import (
    CHUNK,
    UNSURE,
    End,
    Files,
    Finished,
    Gone,
    Record,
    Seen,
    Top,
    Unavailable,
    write,
)
from appliance.media.moments import mtime_ns_of


# Folders that other programs keep for themselves; their pictures are copies or waste.
FOREIGN = frozenset(
    {b"@eaDir", b"#recycle", b"#snapshot", b"$RECYCLE.BIN", b"System Volume Information", b"lost+found"}
)
DEEPEST = 2000
"""Bytes of a path that is still walked into: an index of the database holds no longer ones."""


def arguments(
    root: bytes, under: bytes, after: bytes | None, avoid: list[str], *, known: int | None = None
) -> str:
    """The one argument of the child; names are bytes, so they travel as hexadecimal.

    `known` is a descriptor with what `remembered` wrote: then only changes are looked for.
    """
    return json.dumps(
        {
            "root": root.hex(),
            "under": under.hex(),
            "after": None if after is None else after.hex(),
            "avoid": avoid,
            "known": known,
        }
    )


class Walk:
    """Depth first; a directory's files before its subdirectories, those in byte order."""

    def __init__(self, root: bytes, after: bytes | None, avoid: frozenset[tuple[int, int]]) -> None:
        self.root = root
        self.after = None if after is None else _parts(after)
        self.avoid = avoid
        self.device, self.steady = 0, False

    def records(self, under: bytes) -> Iterator[Record]:
        """Everything under one part of the root."""
        yield from self._of_the_same(lambda: self.below([under]))

    def below(self, waiting: list[bytes]) -> Iterator[Record]:
        """Everything in some folders and below; a stack, for a hostile tree may be deeper than Python's."""
        while waiting:
            directory = waiting.pop()
            subdirectories: list[bytes] = []
            yield from self._directory(directory, subdirectories)
            waiting += [d for d in sorted(subdirectories, reverse=True) if self._wanted(d)]

    def changes(self, known: dict[bytes, int], doubtful: list[bytes]) -> Iterator[Record]:
        """Look at the times of folders that are known, and into those that changed; new ones as a whole.

        Of single files whose folder says nothing (they may have been read before they were whole) the state
        is told.
        """
        yield from self._of_the_same(
            lambda: chain(
                chain.from_iterable(self._changed(d, mtime_ns, known) for d, mtime_ns in known.items()),
                (Files([seen]) for path in doubtful if (seen := self._single(path)) is not None),
            )
        )

    def _single(self, path: bytes) -> Seen | None:
        try:
            found = os.lstat(self._absolute(path))
        except OSError:
            return None
        return self._described(path, found)

    def _of_the_same(self, told: Callable[[], Iterator[Record]]) -> Iterator[Record]:
        """What is told of a root, between two looks at what it is."""
        try:
            top = identity.look(self.root)
        except OSError as error:
            yield Unavailable(error.strerror or type(error).__name__)
            return
        self.device, self.steady = top.device, top.steady
        yield Top(top.identity, top.steady, top.empty)
        yield from told()
        yield self._still(top)

    def _changed(self, directory: bytes, mtime_ns: int, known: dict[bytes, int]) -> Iterator[Record]:
        try:
            found = os.lstat(self._absolute(directory)) if directory else os.stat(self.root)
        except (FileNotFoundError, NotADirectoryError):
            yield Gone(directory)
            return
        except OSError:
            # Closed at the moment: the next scan says so.
            return
        if not stat.S_ISDIR(found.st_mode):
            yield Gone(directory)
        elif mtime_ns_of(found) != mtime_ns:
            subdirectories: list[bytes] = []
            yield from self._directory(directory, subdirectories)
            yield from self.below([d for d in sorted(subdirectories, reverse=True) if d not in known])

    def _still(self, top: identity.Top) -> Record:
        """A disk that went while it was read leaves folders behind that look as if they were emptied."""
        try:
            now = identity.look(self.root)
        except OSError as error:
            return Unavailable(error.strerror or type(error).__name__)
        return End() if now.identity == top.identity else Unavailable("it went away while it was read")

    def _absolute(self, relative: bytes) -> bytes:
        return os.path.join(self.root, relative) if relative else self.root

    def _directory(self, relative: bytes, subdirectories: list[bytes]) -> Iterator[Record]:
        told = self.after is not None and _parts(relative) <= self.after
        mtime_ns = UNSURE
        try:
            mtime_ns = seeing.settled(os.stat(self._absolute(relative)))
            with os.scandir(self._absolute(relative)) as entries:
                yield from self._files(relative, entries, subdirectories, told=told)
        except (FileNotFoundError, NotADirectoryError):
            # Removed since it was listed: what was in it is gone.
            return
        except OSError:
            # Told like a file that cannot be read, so that it is listed for as long as it is closed.
            yield Files([seeing.closed(relative or b".")])
            mtime_ns = UNSURE
        if not told:
            yield Finished(relative, mtime_ns)

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
                seen = self._entered(relative, entry, subdirectories)
            else:
                seen = self._seen(relative, entry)
            if seen is not None and not told:
                chunk.append(seen)
            if len(chunk) >= CHUNK:
                yield Files(chunk)
                chunk = []
        if chunk:
            yield Files(chunk)

    def _entered(
        self, relative: bytes, entry: os.DirEntry[bytes], subdirectories: list[bytes]
    ) -> Seen | None:
        """Note a folder to be walked; one that is too deep is told like one that is closed."""
        path = os.path.join(relative, entry.name) if relative else entry.name
        if self._foreign(entry):
            return None
        if len(path) > DEEPEST:
            return seeing.closed(path)
        subdirectories.append(path)
        return None

    def _seen(self, relative: bytes, entry: os.DirEntry[bytes]) -> Seen | None:
        path = os.path.join(relative, entry.name) if relative else entry.name
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError:
            return seeing.closed(path)
        return self._described(path, found)

    def _described(self, path: bytes, found: os.stat_result) -> Seen:
        return seeing.file(path, found, numbered=self.steady and found.st_dev == self.device)

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


def remembered(folders: dict[bytes, int], doubtful: list[bytes], out: BinaryIO) -> None:
    """Write known folders with their times, and doubtful files, for a child that looks for changes."""
    out.write(msgspec.msgpack.encode((list(folders.items()), doubtful)))


def _told(asked: dict[str, Any]) -> Iterator[Record]:
    after = None if asked["after"] is None else bytes.fromhex(asked["after"])
    walk = Walk(bytes.fromhex(asked["root"]), after, _identities(asked["avoid"]))
    if asked["known"] is None:
        return walk.records(bytes.fromhex(asked["under"]))
    with open(asked["known"], "rb") as known:
        folders, doubtful = msgspec.msgpack.decode(
            known.read(), type=tuple[list[tuple[bytes, int]], list[bytes]]
        )
    return walk.changes(dict(folders), doubtful)


def main(argument: str, out: BinaryIO) -> None:
    """Walk and tell; a closed pipe ends it."""
    for record in _told(json.loads(argument)):
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
