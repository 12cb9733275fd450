"""Questions about folders of the machine, answered by a child within seconds or not at all."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec

from appliance.core.errors import Invalid, Unavailable
from appliance.core.offload import child, python
from appliance.ingest.errors import NotAFolder


PATIENCE_S = 6.0
MEASURE_S = 8.0
SILENT = "the storage does not answer"


class Looked(msgspec.Struct, frozen=True):
    """A folder that can be a root."""

    path: bytes
    folders: int
    files: int


class Inside(msgspec.Struct, frozen=True):
    """A folder and its subfolders."""

    path: bytes
    folders: list[bytes]
    more: bool
    cause: str

    @property
    def entries(self) -> list[tuple[bytes, str]]:
        """Each subfolder by its name, with its path spelled so that a link can carry any bytes."""
        above = self.path.rstrip(b"/")
        return [(name, (above + b"/" + name).hex()) for name in self.folders]

    @property
    def parent(self) -> bytes | None:
        """The folder above, None at the top."""
        return None if self.path == b"/" else os.path.dirname(self.path)


class Measured(msgspec.Struct, frozen=True):
    """What lies in a folder; at least this much where it is not complete."""

    files: int
    bytes: int
    complete: bool


async def _ask(do: str, path: bytes, *, limit: float = PATIENCE_S, **more: Any) -> dict[str, Any]:
    if b"\0" in path:
        raise Invalid("A folder cannot have that name", "There is a NUL in it.")
    argument = json.dumps({"do": do, "path": path.hex()} | more)
    async with child(python("appliance.ingest.look", argument), limit=timedelta(seconds=limit)) as process:
        told = await process.stdout.read()
    try:
        answer: dict[str, Any] = json.loads(told)
    except ValueError:
        raise Unavailable(
            "The storage does not answer", "The disk or network share of this folder hangs."
        ) from None
    return answer


async def away(paths: Sequence[bytes]) -> dict[bytes, str]:
    """Those of some roots that cannot be read at the moment, each with its cause."""
    causes = await asyncio.gather(*(_cause(p) for p in paths))
    return {path: cause for path, cause in zip(paths, causes, strict=True) if cause}


async def _cause(path: bytes) -> str:
    try:
        return str((await _ask("alive", path))["cause"])
    except Unavailable:
        return SILENT


async def recognised(path: bytes, sample: Sequence[tuple[bytes, int]]) -> bool:
    """Whether most of some known files, by path and size, lie under a root."""
    answer = await _ask("known", path, sample=[(p.hex(), size) for p, size in sample])
    return bool(answer["known"])


async def check(path: bytes) -> Looked:
    """A folder that exists and can be read; anything else is refused in words."""
    if not path.startswith(b"/"):
        raise NotAFolder("A folder begins with a slash", "Write the whole path, as in /home/anna/Pictures.")
    answer = await _ask("check", path)
    if "title" in answer:
        raise NotAFolder(answer["title"], answer["hint"])
    return Looked(bytes.fromhex(answer["real"]), answer["folders"], answer["files"])


async def inside(path: bytes) -> Inside:
    """The subfolders of a folder."""
    answer = await _ask("inside", path)
    found = [bytes.fromhex(n) for n in answer["folders"]]
    return Inside(bytes.fromhex(answer["path"]), found, answer["more"], answer["cause"])


async def measure(path: bytes, *, seconds: float = MEASURE_S) -> Measured:
    """Files and bytes that a scan would meet, counted for a few seconds at most."""
    answer = await _ask("measure", path, limit=seconds + PATIENCE_S, seconds=seconds)
    return Measured(answer["files"], answer["bytes"], answer["complete"])
