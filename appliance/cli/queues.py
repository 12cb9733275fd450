"""`vitrine queues`: the lanes and tasks, with what waits where a database answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from appliance.cli.options import Parser, settings_from
from appliance.core import db
from appliance.core.settings import Settings
from appliance.runtime.composition import Factories
from appliance.runtime.standing import running
from appliance.runtime.terminal import complain, say
from queues import reads
from queues.declare import Register, load


PATIENCE_S = 5.0


def run(arguments: list[str], compose: Callable[[], Factories]) -> int:  # noqa: ARG001 - a verb's signature
    """Print the register; without a database what waits is unknown, not an error."""
    parser = Parser("queues", "Show lanes and tasks.").with_data()
    parser.add_argument("--json", action="store_true", help="as JSON (schema: docs/queues.schema.json)")
    given = parser.parse_args(arguments)
    settings = settings_from(given)
    there = running(settings)
    register = load()
    views = asyncio.run(_look(there.settings if there else settings, register))
    described = reads.describe(register, settings, views)
    say(json.dumps(described, indent=2) if given.json else _text(described))
    return 0


async def _look(settings: Settings, register: Register) -> list[reads.LaneView] | None:
    if not settings.database_url:
        return None
    database = db.open_database(settings.database_url, pool=1, application="vitrine queues")
    try:
        async with asyncio.timeout(PATIENCE_S), database.unit_of_work() as uow:
            return await reads.lanes(uow.sql, register, settings)
    except Exception as error:  # noqa: BLE001 - whatever keeps it from answering, the register is still true
        complain(f"The database does not answer, depths are unknown: {type(error).__name__}")
        return None
    finally:
        await database.close()


def _text(described: dict[str, Any]) -> str:
    lines = [f"{'lane':<18}{'group':<8}{'slots':>5}  {'waiting':>8}  {'oldest':>7}"]
    for lane in described["lanes"]:
        waiting = "?" if lane["depth"] is None else f"{lane['depth']:,}"
        waiting += "+" if lane["depth"] == reads.DEPTH_CAP else ""
        oldest = "" if lane["oldest_s"] is None else f"{lane['oldest_s']:.0f} s"
        note = "  paused" if lane["paused"] else ""
        lines.append(
            f"{lane['name']:<18}{lane['group']:<8}{lane['slots']:>5}  {waiting:>8}  {oldest:>7}{note}"
        )
    wide = max(len(task["name"]) for task in described["tasks"]) + 2
    lines += ["", f"{'task':<{wide}}{'lane':<18}{'kind':<6}{'limit':>8}  schedule"]
    for task in described["tasks"]:
        limit, cron = f"{task['limit_s']:g} s", task["cron"] or ""
        lines.append(f"{task['name']:<{wide}}{task['lane']:<18}{task['kind']:<6}{limit:>8}  {cron}".rstrip())
    return "\n".join(lines)
