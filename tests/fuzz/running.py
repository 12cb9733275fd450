"""Broken files on their real way in: folder, claim, decode child, rows; and what became of each."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from appliance.core.drains import Claimed
from appliance.ingest import claims, finishing
from appliance.ingest.importing import Import
from appliance.media.decoder import Child, ChildDied
from appliance.media.limits import MIB, Limits
from appliance.media.reasons import MediaFailure, Reason
from appliance.media.wire import Decoded, Read, Stat, Wanted
from tests.fuzz.families import Family
from tests.ingest.conftest import Ingest, tree
from tests.library.books import unpack


READ_S, DECODE_S, GRACE_S = 10.0, 12.0, 8.0
LIMITS = Limits(pixels=16_000_000, cpu_s=8, memory=512 * MIB, resident=640 * MIB)
"""Shortened, so that what runs away is found soon."""
AT_ONCE = 2
RESTED = 1_600_000_000
PLAYED = 10
"""Every so many films are played as well, which takes longer than an import."""


@dataclass
class Found:
    """What the inputs of one family came to."""

    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    """What must not be, each with the number of its input."""
    deaths: list[str] = field(default_factory=list)
    """Children that died: allowed, counted and listed."""
    slowest: tuple[float, int] = (0.0, 0)


class _Brisk:
    """A decode child under the limits of this run."""

    def __init__(self, child: Child) -> None:
        self._child = child

    async def read(self, path: bytes, *, expect: Stat | None, copy_to: bytes | None) -> Read:
        return await self._child.read(path, expect=expect, copy_to=copy_to, timeout=READ_S)

    async def decode(self, wanted: list[Wanted]) -> Decoded:
        return await self._child.decode(wanted, timeout=DECODE_S)

    def __getattr__(self, name: str) -> Any:
        # Whatever else an import asks of its child has short limits already.
        return getattr(self._child, name)


class Fuzz:
    """Drives the inputs of families through one database and one pool."""

    def __init__(self, ingest: Ingest, folder: Path, seed: int) -> None:
        self.ingest = ingest
        self.found = Found()
        self._folder = folder
        self._seed = seed

    async def run(self, family: Family, numbers: list[int]) -> None:
        """Import the inputs of these numbers, and check what is left behind."""
        place = self._folder / f"{family.name}-{numbers[0]}"
        place.mkdir(parents=True)
        for number in numbers:
            self._write(place, family, number)
        before, here = tree(place), sorted(os.listdir("."))
        await self.ingest.walk(await self.ingest.claim_walk(await self.ingest.queue(place)))
        await asyncio.gather(*(self._worker(self.found) for _ in range(AT_ONCE)))
        await self._unpack()
        if family.film:
            await self._play(place, family, numbers[::PLAYED])
        await self._check_rows(family, place)
        if tree(place) != before or sorted(os.listdir(".")) != here:
            self.found.faults.append("a file outside of our places was changed or made")
        self._check_places()

    def _write(self, place: Path, family: Family, number: int) -> None:
        content = family.input(self._seed, number)
        name = f"{number:05}{family.extension}"
        if family.beside:
            self._put(place / name, family.sound(number))
            name += family.beside
        self._put(place / name, content)

    @staticmethod
    def _put(path: Path, content: bytes) -> None:
        path.write_bytes(content)
        # What was written just now would have to rest first.
        os.utime(path, (RESTED, RESTED))

    async def _worker(self, found: Found) -> None:
        while True:
            async with self.ingest.db.unit_of_work() as uow:
                taken = await claims.claim(uow.sql, 1, 1)
            if not taken:
                return
            began = time.monotonic()
            await self._one(taken[0], found)
            took, number = time.monotonic() - began, number_of(taken[0].row.path)
            found.slowest = max(found.slowest, (took, number))
            if took > READ_S + DECODE_S + GRACE_S:
                found.faults.append(f"{number}: took {took:.0f} s")

    async def _one(self, claimed: Claimed, found: Found) -> None:
        number = number_of(claimed.row.path)
        try:
            outcome = await Import(self.ingest.settings, self.ingest.db, claimed).run(self._lend)
        except ChildDied as death:
            outcome = f"died: {death.reason}"
            found.deaths.append(f"{number}: {death.reason}, {death.detail}")
            await self._give_up(claimed, death)
        except Exception as error:  # noqa: BLE001
            # Whatever escapes an import is a fault of ours.
            outcome = "escaped"
            found.faults.append(f"{number}: {type(error).__name__}: {error}"[:300])
            await self._give_up(claimed, ChildDied(Reason.UNEXPECTED, ""))
        found.outcomes[outcome] += 1

    async def _unpack(self) -> None:
        """Make the pages of whatever came in as a volume."""
        try:
            ends = await unpack(self.ingest)
        except Exception as error:  # noqa: BLE001
            # As for an import: nothing may escape.
            self.found.faults.append(f"unpacking: {type(error).__name__}: {error}"[:300])
            return
        self.found.outcomes.update(f"unpacked: {end}" for end in ends)
        for row in await self.ingest.rows("SELECT position, status, reason, detail FROM volume_page"):
            if row["status"] == "pending" or row["reason"] not in {None, *Reason} - {Reason.UNEXPECTED}:
                self.found.faults.append(f"page {row['position']}: {row['status']}, {row['reason']}")

    async def _play(self, place: Path, family: Family, numbers: list[int]) -> None:
        """Ask some films for frames, and make them playable, as duplicates and viewers do."""
        made = self._folder / "made.mp4"
        for number in numbers:
            path = bytes(place / f"{number:05}{family.extension}")
            async with self.ingest.pool.child() as child:
                end = await self._played(child, number, path, bytes(made))
            self.found.outcomes[f"played: {end}"] += 1
        made.unlink(missing_ok=True)

    async def _played(self, child: Child, number: int, path: bytes, made: bytes) -> str:
        try:
            await child.open(path, timeout=READ_S)
            await child.frames(4)
            await child.convert(made, turn=0, timeout=2 * DECODE_S, told=lambda _step: None)
        except MediaFailure as failure:
            return failure.reason
        except ChildDied as death:
            self.found.deaths.append(f"{number}, played: {death.reason}, {death.detail}")
            return f"died: {death.reason}"
        return "ok"

    @contextlib.asynccontextmanager
    async def _lend(self) -> AsyncIterator[Any]:
        async with self.ingest.pool.child() as child:
            yield _Brisk(child)

    async def _give_up(self, claimed: Claimed, death: ChildDied) -> None:
        async with self.ingest.db.unit_of_work() as uow:
            await finishing.ended(uow.sql, claimed, death.reason, death.detail)

    async def _check_rows(self, family: Family, place: Path) -> None:
        """Each input has an outcome, each failure a known class; nothing that is whole fails."""
        found = self.found
        rows = await self.ingest.rows(
            "SELECT e.path, outcome, e.reason, detail FROM root_entry e JOIN root r ON r.id = e.root_id"
            " WHERE r.path = $1",
            bytes(place),
        )
        for row in rows:
            number, reason = number_of(row["path"]), row["reason"]  # type: ignore[arg-type]
            if row["outcome"] not in {"imported", "duplicate", "failed", "skipped"}:
                found.faults.append(f"{number}: is {row['outcome']} in the end")
            if row["outcome"] == "failed" and (reason not in set(Reason) or reason == Reason.UNEXPECTED):
                found.faults.append(f"{number}: {reason}: {row['detail']}")
            beside = family.beside and row["path"].endswith(family.beside.encode())  # type: ignore[attr-defined]
            if row["outcome"] == "failed" and family.comes_in(number) and not beside:
                found.faults.append(f"{number}: the picture is whole, but {reason}: {row['detail']}")
            if reason is not None:
                found.outcomes[f"as {reason}"] += 1

    def _check_places(self) -> None:
        home = self.ingest.settings.home
        left = [path.name for path in home.tmp.iterdir()]
        if left:
            self.found.faults.append(f"left among the temporary files: {left[:5]}")
        strangers = {path.name for path in home.data.iterdir()} - {
            home.run.name, home.tmp.name, home.originals.name, home.renditions.name
        }  # fmt: skip
        if strangers:
            self.found.faults.append(f"strange files in the data directory: {sorted(strangers)}")


def number_of(path: bytes) -> int:
    """The number of an input, by its file name."""
    return int(path[:5])
