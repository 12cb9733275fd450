"""What `vitrine doctor` looks at: each look answers one finding and harms nothing."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import platform
import shutil
from collections.abc import Awaitable, Callable
from typing import cast

import msgspec
from redis.asyncio import Redis

from appliance.core import room, version
from appliance.core.db import open_database
from appliance.core.settings import Settings
from appliance.media.decoder import DecodePool, DecoderUnavailable
from appliance.media.wire import Tier
from appliance.runtime import health
from appliance.runtime.leftovers import running_state
from migrations import run as migrations


PATIENCE_S = 10.0
OK, WARNS, BAD = "ok", "warns", "bad"
# Without these some kinds of files are named as unsupported instead of shown.
_NEEDED = ("av", "pillow", "pillow-heif")
_OPTIONAL = {"pillow-jxl-plugin": "JPEG XL pictures", "rawpy": "raw photos of cameras"}
_CONFINED = {
    "no_network": "no network and no programs",
    "no_new_privileges": "no new privileges",
    "memory_limit": "a limit of memory",
    "cpu_limit": "a limit of processor time",
    "death_signal": "an end with its parent",
}


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at, in plain words, and how to mend it."""

    name: str
    state: str
    says: str
    mend: str = ""


Look = Callable[[Settings], Awaitable[Finding]]


async def examine(settings: Settings) -> list[Finding]:
    """Look at everything; a look that fails is a finding as well."""
    return [await _looked(name, look, settings) for name, look in LOOKS.items()]


async def _looked(name: str, look: Look, settings: Settings) -> Finding:
    try:
        async with asyncio.timeout(PATIENCE_S * 2):
            return await look(settings)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is what the person wants to know
        return Finding(name, BAD, f"{type(error).__name__}: {error}"[:300], "This is the cause to look at.")


async def program(_settings: Settings) -> Finding:
    """The versions of the program and of what it stands on."""
    says = f"Vitrine {version.current()}, Python {platform.python_version()}, {platform.machine()}"
    return Finding("program", OK, f"{says}, {platform.system()} {platform.release()}")


async def libraries(_settings: Settings) -> Finding:
    """The readers of pictures and films, which are what breaks first on a foreign machine."""
    found = {name: _installed(name) for name in (*_NEEDED, *_OPTIONAL)}
    says = ", ".join(f"{name} {number}" for name, number in found.items() if number)
    missing = [name for name, number in found.items() if not number]
    needed = [name for name in missing if name in _NEEDED]
    if needed:
        return Finding("libraries", BAD, f"{', '.join(needed)} missing", "Make the environment anew.")
    if missing:
        kinds = " and ".join(_OPTIONAL[name] for name in missing)
        return Finding(
            "libraries", WARNS, f"{says}; {kinds} cannot be shown", f"Install {' '.join(missing)}."
        )
    return Finding("libraries", OK, says)


def _installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


async def decoders(_settings: Settings) -> Finding:
    """How far a process that opens hostile files is confined on this machine."""
    pool = DecodePool(1)
    try:
        tier = await pool.tier()
    except DecoderUnavailable as error:
        return Finding("decoders", BAD, str(error), "The log says more; no file can be read until then.")
    finally:
        await pool.close()
    return confined(tier)


def confined(tier: Tier) -> Finding:
    """Say which confinements are in force, and which this machine does not grant."""
    have = msgspec.structs.asdict(tier)
    held = [words for name, words in _CONFINED.items() if have[name]]
    lacking = [words for name, words in _CONFINED.items() if not have[name]]
    if not lacking:
        return Finding("decoders", OK, f"confined in full: {', '.join(held)}")
    return Finding(
        "decoders",
        WARNS,
        f"confined in part: {', '.join(held) or 'nothing'}; missing: {', '.join(lacking)}",
        "Run Vitrine on Linux (x86-64 or ARM64) with a kernel and a container that allow seccomp filters.",
    )


async def data(settings: Settings) -> Finding:
    """The data directory: there, ours, writable."""
    place = settings.home.data
    if not place.is_dir():
        return Finding("data", WARNS, f"{place} does not exist yet", "`vitrine up` makes it.")
    if not settings.home.instance.exists():
        return Finding("data", WARNS, f"{place} is no data directory yet", "`vitrine up` makes it one.")
    if not os.access(place, os.W_OK | os.X_OK):
        mend = "Run this as the account that Vitrine runs as, or correct the owner of the folder."
        return Finding("data", BAD, f"{place} cannot be written by this account", mend)
    return Finding("data", OK, str(place))


async def disk(settings: Settings) -> Finding:
    """Room for new pictures."""
    place = settings.home.data
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    says = f"{room.plain(free)} free for {settings.home.data}"
    floor = max(room.SCANT, settings.disk_floor_mb * room.MIB)
    if free < floor:
        return Finding("disk", BAD, says, f"Free some space: imports wait below {room.plain(floor)}.")
    return Finding("disk", WARNS if free < 2 * floor else OK, says, "Free some space." * (free < 2 * floor))


async def database(settings: Settings) -> Finding:
    """The database: answering, and at the version of this program."""
    if not settings.database_url:
        return Finding("database", WARNS, "not running", "`vitrine up` starts it with everything else.")
    opened = open_database(settings.database_url, pool=1, application="vitrine doctor")
    try:
        async with asyncio.timeout(PATIENCE_S):
            revision = await migrations.applied(opened)
    except Exception as error:  # noqa: BLE001 - whatever keeps it from answering
        return Finding("database", BAD, f"does not answer ({type(error).__name__})", _mend_database(settings))
    finally:
        await opened.close()
    if revision != migrations.head():
        says = f"at revision {revision or 'none'}, this program needs {migrations.head()}"
        return Finding("database", BAD, says, "`vitrine migrate` brings it there.")
    return Finding("database", OK, f"answers, at revision {revision}{_came_back(settings)}")


def _mend_database(settings: Settings) -> str:
    # An external one lies elsewhere, and its disk is not ours to look at.
    if settings.home.pg.exists() and room.spare(settings) < 0:
        return "Free some space first: a database without any room stops, and goes on by itself."
    if not (settings.home.pg.exists() and running_state(settings.home)):
        return "Start it, or correct VITRINE_DATABASE_URL."
    log = settings.home.logs / "postgres.log"
    return (
        "Vitrine starts it again by itself, and a recovery may take minutes. If it lasts, the end of"
        f" {log} says why; then stop Vitrine and start it with `./vitrine up`."
    )


def _came_back(settings: Settings) -> str:
    """How often the supervisor had to start our own one again, and why the last time."""
    processes = health.read(settings.home).get("processes", []) if running_state(settings.home) else []
    own = next((one for one in processes if one["name"] == "postgres" and one["restarts"]), None)
    return f"; restarts: {own['restarts']}, the last because it {own['last_exit']}" if own else ""


async def doorbell(settings: Settings) -> Finding:
    """Valkey, which wakes the workers."""
    if not settings.redis_url:
        return Finding("doorbell", WARNS, "not running", "`vitrine up` starts it with everything else.")
    client = Redis.from_url(settings.redis_url)
    try:
        async with asyncio.timeout(PATIENCE_S):
            await cast("Awaitable[bool]", client.ping())
    except Exception as error:  # noqa: BLE001 - whatever keeps it from answering
        mend = "Start it, or correct VITRINE_REDIS_URL; nothing is lost meanwhile."
        return Finding("doorbell", BAD, f"does not answer ({type(error).__name__})", mend)
    finally:
        await client.aclose()
    return Finding("doorbell", OK, "answers")


LOOKS: dict[str, Look] = {
    "program": program,
    "libraries": libraries,
    "decoders": decoders,
    "data": data,
    "disk": disk,
    "database": database,
    "doorbell": doorbell,
}
