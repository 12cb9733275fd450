"""`vitrine import PATH`: bring a folder in, and say what became of each file."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from appliance.cli.options import Parser, settings_from
from appliance.core import db, log, names
from appliance.core.errors import VitrineError
from appliance.core.settings import Settings
from appliance.ingest import reports
from appliance.ingest.folders import folder
from appliance.ingest.models import Mode
from appliance.ingest.services import BatchView, add_root, queue_scan, view_batch
from appliance.media.reasons import Reason
from appliance.runtime.composition import Factories
from appliance.runtime.standing import running, standing
from appliance.runtime.terminal import complain, say
from appliance.runtime.written import read_json
from queues.declare import load
from queues.doorbell import connected
from queues.outage import surely


# Often enough for a person who watches, rare enough to cost nothing.
LOOK_S = 0.25
TELL_S = 2.0


def run(arguments: list[str], compose: Callable[[], Factories]) -> int:
    """Queue the folder with the running instance, or stand one up for as long as it takes."""
    given = _parse(arguments)
    settings = settings_from(given)
    log.configure(settings, process="import")
    path = folder(given.path)
    with standing(settings, compose) as there:
        load()
        return asyncio.run(_import(there.settings, given, path, here=not there.urls))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = Parser("import", "Read a folder into the library.").with_data()
    parser.add_argument("path", type=Path, metavar="PATH", help="the folder to read")
    parser.add_argument(
        "--as",
        dest="mode",
        choices=[str(m) for m in Mode],
        default=str(Mode.IN_PLACE),
        help="in_place: read it where it is (default); copy or move: store the files in the data directory",
    )
    parser.add_argument("--wait", action="store_true", help="until every file has its outcome")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--each", action="store_true", help="first one JSON line for each file; implies --wait"
    )
    return parser.parse_args(arguments)


async def _import(settings: Settings, given: argparse.Namespace, path: bytes, *, here: bool) -> int:
    database = db.open_database(settings.database_url, pool=2, application="vitrine import")
    db.use(database)
    try:
        async with connected(settings):
            batch_id = await _queue(path, Mode(given.mode))
            if not (given.wait or given.each or here):
                _print_queued(batch_id, as_json=given.json)
                return 0
            batch = await _wait(settings, batch_id, quiet=given.json or given.each)
        return await _report(batch, given)
    finally:
        await database.close()


async def _queue(path: bytes, mode: Mode) -> int:
    async with db.unit_of_work() as uow:
        return await queue_scan(uow, await add_root(uow, path, mode))


def _print_queued(batch_id: int, *, as_json: bool) -> None:
    if as_json:
        _print_json({"batch": batch_id})
    else:
        say("Queued: the running Vitrine reads the folder now.")


async def _wait(settings: Settings, batch_id: int, *, quiet: bool) -> BatchView:
    """Look until the batch is over; say from time to time how far it is."""
    told = 0.0
    while True:
        batch = await surely(lambda: _look(batch_id), until=lambda: running(settings) is None)
        if batch is None:
            raise VitrineError("Vitrine was stopped meanwhile", "The import goes on when it runs again.")
        if batch.finished:
            return batch
        if batch.status == "importing" and not batch.available:
            raise VitrineError(
                f"{names.display(batch.root_path)} does not answer any more",
                "What is left waits; `vitrine scan` goes on when the folder is back.",
            )
        told += LOOK_S
        if not quiet and told >= TELL_S:
            told = 0.0
            say(_so_far(batch, read_json(settings.home.imports_paused).get("reason")))
        await asyncio.sleep(LOOK_S)


def _so_far(batch: BatchView, paused: str | None) -> str:
    line = f"{batch.settled:,} of {batch.files:,} files so far"
    return f"{line}. {paused}" if paused else line


async def _look(batch_id: int) -> BatchView:
    async with db.unit_of_work() as uow:
        return await view_batch(uow.sql, batch_id)


async def _report(batch: BatchView, given: argparse.Namespace) -> int:
    async with db.unit_of_work() as uow:
        if given.each:
            async for line in reports.each(uow.sql, batch.id):
                _print_json(line)
        summary = await reports.summary(uow.sql, batch)
    if given.json or given.each:
        _print_json(summary)
    else:
        _print_words(summary)
    if batch.error:
        raise VitrineError(f"The folder was not read to its end: {batch.error}")
    return 0


_ALSO = {"moved": "moved", "returned": "back again", "missing": "not there any more"}


def _print_words(summary: dict[str, Any]) -> None:
    say(
        f"{summary['files']:,} files: {summary['imported']:,} imported, {summary['duplicate']:,} duplicates, "
        f"{summary['unchanged']:,} unchanged, {summary['failed']:,} failed, {summary['skipped']:,} skipped"
    )
    told = [f"{summary[name]:,} {word}" for name, word in _ALSO.items() if summary[name]]
    if told:
        say(f"Also: {', '.join(told)}")
    if held := summary["held"]:
        complain(
            f"{held['gone']:,} of {held['known']:,} files are gone; nothing was changed."
            " The import page asks what became of them."
        )
    if summary["stayed"]:
        complain(
            f"{summary['stayed']:,} files were stored and stayed in the folder, too, since they could not be"
            " removed from it; the page of the import says why."
        )
    for name, count in summary["reasons"].items():
        complain(f"{count:>6,}  {name:<16} {Reason(name).plain}")


def _print_json(value: dict[str, Any]) -> None:
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()
