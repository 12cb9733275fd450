"""A look at folders of the machine, in a child process: storage that hangs must not hang a page.

`python -m appliance.ingest.look` gets one JSON argument and writes one JSON answer.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from appliance.core import clock
from appliance.core.errors import VitrineError
from appliance.ingest import identity, telling, walk
from appliance.ingest.folders import folder


MOST = 300
"""As many subfolders as a person looks through; more are found by typing."""
PEEK = 1000


def alive(path: bytes) -> dict[str, Any]:
    """Why a root cannot be read, or nothing."""
    return {"cause": identity.cause_of(path)}


def known(path: bytes, sample: list[tuple[str, int]]) -> dict[str, Any]:
    """Whether most of some known files lie here."""
    return {"known": identity.recognised(path, [(bytes.fromhex(p), size) for p, size in sample])}


def check(path: bytes) -> dict[str, Any]:
    """Whether a folder can be a root, with what lies directly in it."""
    try:
        real = folder(os.fsdecode(path))
    except VitrineError as refusal:
        return {"title": refusal.title, "hint": refusal.hint}
    try:
        folders, files = _counted(real)
    except OSError as error:
        return {"title": "The folder cannot be read", "hint": f"{error.strerror}."}
    return {"real": real.hex(), "folders": folders, "files": files}


def _counted(path: bytes) -> tuple[int, int]:
    folders = files = 0
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name.startswith(b"."):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders += 1
            else:
                files += 1
            if folders + files >= PEEK:
                break
    return folders, files


def inside(path: bytes) -> dict[str, Any]:
    """The subfolders of a folder, for someone who picks one."""
    real = os.path.realpath(path)
    found: list[bytes] = []
    try:
        with os.scandir(real) as entries:
            found += [e.name for e in entries if _shown(e)]
    except OSError as error:
        return {"path": real.hex(), "folders": [], "more": False, "cause": error.strerror or "unreadable"}
    found.sort(key=lambda name: name.lower())
    return {
        "path": real.hex(),
        "folders": [n.hex() for n in found[:MOST]],
        "more": len(found) > MOST,
        "cause": "",
    }


def _shown(entry: os.DirEntry[bytes]) -> bool:
    if entry.name.startswith(b".") or entry.name in walk.FOREIGN:
        return False
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def measure(path: bytes, seconds: float) -> dict[str, Any]:
    """Files and bytes that a scan would meet; `complete` is false when the time was up before the end."""
    until, files, size = clock.monotonic() + seconds, 0, 0
    for record in walk.Walk(path, None, frozenset()).records(b""):
        if isinstance(record, telling.Files):
            media = [s for s in record.seen if not s.verdict]
            files, size = files + len(media), size + sum(s.size for s in media)
        if clock.monotonic() > until:
            return {"files": files, "bytes": size, "complete": False}
    return {"files": files, "bytes": size, "complete": True}


def main(argument: str) -> None:
    """Answer one question."""
    asked = json.loads(argument)
    path = bytes.fromhex(asked["path"])
    match asked["do"]:
        case "alive":
            answer = alive(path)
        case "known":
            answer = known(path, asked["sample"])
        case "check":
            answer = check(path)
        case "inside":
            answer = inside(path)
        case _:
            answer = measure(path, asked["seconds"])
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1])
