"""`vitrine scan [FOLDER]`: look again at the folders that are read in place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from appliance.cli.options import Parser, settings_from
from appliance.core import db, names
from appliance.core.errors import VitrineError
from appliance.core.settings import Settings
from appliance.ingest.folders import folder
from appliance.ingest.services import Place, places, queue_scan
from appliance.runtime.composition import Factories
from appliance.runtime.standing import running
from appliance.runtime.terminal import say
from queues.declare import load
from queues.doorbell import connected


def run(arguments: list[str], compose: Callable[[], Factories]) -> int:  # noqa: ARG001 - a verb's signature
    """Ask the running instance for scans."""
    parser = Parser("scan", "Look again at the folders of the library.").with_data()
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="only these (default: all)")
    given = parser.parse_args(arguments)
    there = running(settings_from(given))
    if there is None:
        raise VitrineError("Vitrine is not running here", "Start it with: vitrine up")
    load()
    asyncio.run(_scan(there.settings, [folder(f) for f in given.folders]))
    return 0


async def _scan(settings: Settings, only: list[bytes]) -> None:
    database = db.open_database(settings.database_url, pool=1, application="vitrine scan")
    try:
        async with connected(settings), database.unit_of_work() as uow:
            for place in _chosen(await places(uow), only):
                await queue_scan(uow, place)
                say(f"Looking again at {names.display(place.path)}")
    finally:
        await database.close()


def _chosen(known: list[Place], only: list[bytes]) -> list[Place]:
    if not only:
        return known
    found = {p.path: p for p in known}
    for path in only:
        if path not in found:
            raise VitrineError(
                f"{names.display(path)} is not a folder of the library", "Add it with: vitrine up FOLDER"
            )
    return [found[path] for path in only]
