"""The first steps of an instance with its database: contact, identity, tables, folders."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from appliance.accounts.services import issue_setup_code
from appliance.core import db, names
from appliance.core.db import Database
from appliance.core.errors import VitrineError
from appliance.core.settings import Settings
from appliance.ingest.folders import folder
from appliance.ingest.services import add_root, queue_scan
from appliance.runtime import datadir
from appliance.runtime.contact import Found, adopt, judge, look
from migrations.run import applied, head, upgrade
from queues.declare import load
from queues.doorbell import connected


def first_contact(settings: Settings) -> dict[str, Any]:
    """Look at the database and refuse a wrong one; hands out the code while nobody has an account."""
    return asyncio.run(_with_database(settings, _contact))


def migrate(settings: Settings) -> None:
    """Bring the tables to this version and write whose they are."""
    upgrade(settings)
    asyncio.run(_with_database(settings, _adopt))


def add_folders(settings: Settings, folders: list[bytes]) -> list[str]:
    """Register folders and queue their scans; one line for each, also for those that are refused."""
    load()
    return asyncio.run(_add(settings, folders))


async def _with_database(settings: Settings, step: Any) -> Any:
    database = db.open_database(settings.database_url, pool=1, application="vitrine start")
    try:
        return await step(settings, database)
    finally:
        await database.close()


async def _contact(settings: Settings, database: Database) -> dict[str, Any]:
    instance = datadir.identity(settings.home)
    found, why = await look(database, instance.id)
    if found is Found.DOWN:
        return {"state": "down", "why": why}
    judge(found, established=bool(instance.database))
    if found is not Found.OURS or await applied(database) != head():
        return {"state": found, "current": False}
    async with database.unit_of_work() as uow:
        return {"state": found, "current": True, "code": await issue_setup_code(uow)}


async def _adopt(settings: Settings, database: Database) -> None:
    await adopt(database, datadir.identity(settings.home).id)


async def _add(settings: Settings, folders: list[bytes]) -> list[str]:
    async def all_of_them(_settings: Settings, database: Database) -> list[str]:
        return [await _add_one(database, path) for path in folders]

    async with connected(settings):
        lines: list[str] = await _with_database(settings, all_of_them)
        return lines


async def _add_one(database: Database, path: bytes) -> str:
    try:
        async with database.unit_of_work() as uow:
            await queue_scan(uow, await add_root(uow, folder(os.fsdecode(path))))
    except VitrineError as refusal:
        return refusal.line()
    return f"Reading {names.display(path)}; it is never changed."
