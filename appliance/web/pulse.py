"""The two facts that stand on every page: what is being imported, and whether all is well."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from appliance.core import settings
from appliance.core.settings import Settings
from appliance.ingest.services import ACTIVE
from appliance.web import outage


if TYPE_CHECKING:
    from asyncpg import Connection


_SQL = f"""
SELECT coalesce(b.batches, 0)::int AS batches, coalesce(b.files, 0)::bigint AS files,
       coalesce(b.ended, 0)::bigint AS ended, coalesce(b.walking, false) AS walking,
       (SELECT count(*) FROM root WHERE status = 'unavailable' OR held_batch IS NOT NULL)::int AS unavailable,
       EXISTS (SELECT 1 FROM root_entry WHERE outcome = 'failed' AND NOT ignored) AS failed,
       EXISTS (SELECT 1 FROM lane_state WHERE lane = 'import' AND paused_at IS NOT NULL) AS paused
FROM (
    SELECT count(*) AS batches, sum(files) AS files, bool_or(walked_at IS NULL) AS walking,
           sum(imported + duplicate + unchanged + moved + returned + failed + skipped) AS ended
    FROM import_batch WHERE {ACTIVE}
) b
"""


class Process(msgspec.Struct, frozen=True):
    """One process as the supervisor saw it last."""

    name: str
    state: str
    restarts: int = 0
    last_exit: str | None = None
    since: str | None = None


class House(msgspec.Struct, frozen=True):
    """What the supervisor wrote about the processes and the disk."""

    state: str = ""
    processes: tuple[Process, ...] = ()
    disk_free_mb: int = 0
    imports_paused_reason: str | None = None

    @property
    def down(self) -> tuple[Process, ...]:
        """Processes that do not run as they should."""
        return tuple(p for p in self.processes if p.state != "running")


class Pulse(NamedTuple):
    """What the top bar says."""

    importing: str
    """"Importing 61%", or empty."""
    state: str
    short: str
    rest: str
    busy: bool


def read_house(path: Path) -> House:
    """The health file; an empty answer where no supervisor runs, as in a development server."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(path.read_bytes(), type=House)
    return House()


def house(current: Settings | None = None) -> House:
    """The health of this installation's processes."""
    return read_house((current or settings.current()).home.run / "health.json")


async def pulse(sql: Connection[Any]) -> Pulse:
    """One cheap statement and one small file."""
    row = await sql.fetchrow(_SQL)
    outage.over()
    assert row is not None  # noqa: S101 - a query of aggregates answers one row
    found = house()
    worries = len(found.down) + bool(found.imports_paused_reason) + row["unavailable"] + bool(row["failed"])
    importing = _importing(row, found)
    if worries:
        state, short, rest = "bad" if found.down else "warn", str(worries), " to look at"
    elif importing:
        state, short, rest = "run", "Working", ""
    else:
        state, short, rest = "ok", "All well", ""
    return Pulse(importing, state, short, rest, bool(row["batches"]))


def _importing(row: Any, found: House) -> str:
    if not row["batches"]:
        return ""
    if found.imports_paused_reason or row["paused"]:
        return "Import paused"
    if row["walking"] or not row["files"]:
        return f"Importing, {row['files']:,} found" if row["files"] else "Looking for files"
    return f"Importing {min(99, row['ended'] * 100 // row['files'])}%"
