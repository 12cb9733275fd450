"""`python -m tests.browser.perf [--assets N] [--json FILE]`: the budgets of the gallery in Chromium.

Servers, data and the web process are made for the run and go with it. A figure of a machine that does
other work at the same time is no verdict.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.async_api import async_playwright

from appliance.accounts import services, sessions
from appliance.accounts.models import Role
from appliance.core import db as databases
from appliance.core import settings as settings_module
from appliance.core.db import Database, open_database
from appliance.core.settings import Settings
from migrations.run import upgrade_database
from tests.browser.conftest import CHROMIUM
from tests.browser.perf import library, measures
from tests.servers import Servers, start_servers
from tests.serving import Stage


# About 7,500 px a second, as the budgets were set with; and as fast as the wheel can be turned: then requests
# share the processors with the drawing, and how long a chunk takes tells more of that than of the server.
WALK, RUSH = 92, 30
# (figure, most that is allowed, unit) as the design's budget names them.
BUDGETS: dict[str, tuple[float, str]] = {
    "loading.html_median": (20_000, "bytes"),
    "loading.raw_median": (120_000, "bytes"),
    "loading.js_median": (30_000, "bytes"),
    "loading.css_median": (14_000, "bytes"),
    "loading.ttfb_median": (40, "ms"),
    "loading.ttfb_p95": (120, "ms"),
    "loading.fcp_median": (500, "ms"),
    "loading.lcp_median": (1000, "ms"),
    "loading.pictures_median": (1500, "ms"),
    "loading.cls_worst": (0.01, ""),
    "walking.live_elements_most": (1500, "elements"),
    "walking.nodes": (15_000, "nodes"),
    "walking.heap_mb": (15, "MB"),
    "walking.frame_p95": (110, "ms"),
    "walking.frame_worst": (400, "ms"),
    "walking.cls": (0.02, ""),
    "walking.chunk_p50": (20, "ms"),
    "walking.chunk_p95": (60, "ms"),
    "rushing.live_elements_most": (1500, "elements"),
    "rushing.frame_worst": (400, "ms"),
    "returning.back_ms": (500, "ms"),
    "returning.back_off_px": (8, "px"),
    "touching.select_p98": (100, "ms"),
    "touching.typing_p98": (200, "ms"),
    "touching.suggestions_ms": (120, "ms"),
    "touching.viewer_events_p98": (200, "ms"),
    "touching.viewer_next_ms": (100, "ms"),
}


def prepared(servers: Servers, data: Path) -> Settings:
    """Settings of an instance with a data directory of its own."""
    environ = {"VITRINE_DATABASE_URL": servers.database_url, "VITRINE_REDIS_URL": servers.redis_url}
    made = settings_module.load(environ, data=data)
    for folder in (made.home.run, made.home.tmp, made.home.originals, made.home.renditions):
        folder.mkdir(parents=True)
    made.home.instance.write_text(json.dumps({"id": "perf", "format": 1}))
    settings_module.use(made)
    return made


async def visitor(db: Database, base: str) -> dict[str, Any]:
    """The cookies of an administrator."""
    async with db.unit_of_work() as uow:
        person = await services.add_person(uow, "anna", "four words make one", role=Role.ADMIN)
        token = await sessions.start(uow.sql, person, address="127.0.0.1", agent="perf")
    cookie = {"name": "vitrine", "value": token, "url": base}
    return {"cookies": [{**cookie, "domain": "127.0.0.1", "path": "/", "expires": -1}], "origins": []}


def resident(pid: int) -> float:
    """Megabytes of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


async def measured(
    db: Database, settings: Settings, work: Path, arguments: argparse.Namespace
) -> dict[str, Any]:
    """Everything, in one browser."""
    stored = min(arguments.assets, arguments.walk + 2000)
    await library.build(db, settings.home, assets=arguments.assets, stored=stored, tags=20_000)
    stage = Stage()
    pid, base = stage.start(settings, work)
    try:
        state = await visitor(db, base)
        for cookie in state["cookies"]:
            cookie.pop("url")
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            await measures.loading(browser, base, state, rounds=2)
            found = {
                "loading": await measures.loading(browser, base, state, rounds=arguments.rounds),
                "returning": await measures.returning(browser, base, state, rounds=4),
                "touching": await measures.touching(browser, base, state),
                "walking": await measures.walking(browser, base, state, items=arguments.walk, pause=WALK),
                "rushing": await measures.walking(browser, base, state, items=arguments.walk, pause=RUSH),
            }
            await browser.close()
        return found | {"web_rss_mb": resident(pid)}
    finally:
        stage.end(pid)
        stage.close()


def judged(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Each budget beside what was measured."""
    checks = []
    for name, (limit, unit) in BUDGETS.items():
        group, _, figure = name.partition(".")
        value = round(found[group][figure], 3)
        checks.append({"name": name, "value": value, "limit": limit, "unit": unit, "ok": value <= limit})
    return checks


async def run(arguments: argparse.Namespace) -> int:
    """Make, measure, tell."""
    servers = start_servers()
    work = Path(tempfile.mkdtemp(prefix="vitrine-perf-", dir="/var/tmp"))
    try:
        db = open_database(servers.database_url, pool=4, application="perf")
        databases.use(db)
        await upgrade_database(db)
        found = await measured(db, prepared(servers, work / "data"), work, arguments)
        await db.close()
    finally:
        servers.stop()
        shutil.rmtree(work, ignore_errors=True)
    checks = judged(found)
    for check in checks:
        verdict = "ok  " if check["ok"] else "OVER"
        figure = f"{check['value']:>12} of {check['limit']} {check['unit']}"
        sys.stdout.write(f"{verdict} {check['name']:32} {figure}\n")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"figures": found, "checks": checks}, indent=1))
    return 0 if all(c["ok"] for c in checks) else 1


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.browser.perf", description=__doc__)
    parser.add_argument("--assets", type=int, default=200_000)
    parser.add_argument("--walk", type=int, default=10_000, help="pictures to scroll past")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--json", help="write figures and checks here")
    return asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
