"""Everything that is decided, and can be refused, before a process is started."""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

from appliance.core.errors import VitrineError
from appliance.core.paths import PROJECT, Home
from appliance.core.settings import Settings
from appliance.runtime import datadir, listen, privileges
from appliance.runtime.account import Account, service_account
from appliance.runtime.binaries import postgres_bin, postgres_for, reachable, valkey_for, valkey_server
from appliance.runtime.datadir import Instance
from appliance.runtime.leftovers import end_leftovers
from appliance.runtime.postgres import PostgresServer
from appliance.runtime.terminal import say
from appliance.runtime.valkey import ValkeyServer


@dataclass(frozen=True, slots=True)
class Ground:
    """What an instance stands on."""

    settings: Settings
    """With the addresses of the embedded servers filled in."""
    account: Account | None
    instance: Instance
    lock: int
    sockets: list[socket.socket]
    postgres: PostgresServer | None
    valkey: ValkeyServer | None
    program_in_reach: bool
    """Whether the account can load the program itself, without any special right."""


@dataclass(frozen=True, slots=True)
class _Programs:
    postgres: Path | None
    valkey: Path | None


def prepare(settings: Settings, *, pages: bool) -> Ground:
    """Check and take everything, in an order in which a refusal has changed nothing."""
    home = settings.home
    account = service_account(home.data)
    known = datadir.examine(home, account)
    programs = _find(settings)
    in_reach = _program_in_reach(account)
    lock, sockets = _occupy(settings, account, pages=pages)
    privileges.act_as(account)
    os.umask(0o077)
    programs = _bring_within_reach(programs, account, home)
    instance = datadir.furnish(home, known)
    postgres, valkey = _servers(home, programs, account)
    settings = settings.with_(
        database_url=postgres.url if postgres else settings.database_url,
        redis_url=valkey.url if valkey else settings.redis_url,
    )
    return Ground(settings, account, instance, lock, sockets, postgres, valkey, in_reach)


def _occupy(settings: Settings, account: Account | None, *, pages: bool) -> tuple[int, list[socket.socket]]:
    """A new directory is made after the port was had; in an old one, leftovers may still hold the port."""
    sockets: list[socket.socket] = []
    if pages and not settings.data.exists():
        sockets = listen.bind(settings.host, settings.port)
    lock = datadir.occupy(settings.home, account)
    # Acting as the account: it sees and may signal exactly what is its own.
    with privileges.acting_as(account):
        if count := end_leftovers(settings.home):
            say(f"Ended {count} processes of an earlier run.")
    if pages and not sockets:
        sockets = listen.bind(settings.host, settings.port)
    return lock, sockets


def _find(settings: Settings) -> _Programs:
    return _Programs(
        None if settings.database_url else postgres_bin(settings.pg_bin),
        None if settings.redis_url else valkey_server(settings.valkey_bin),
    )


def _bring_within_reach(programs: _Programs, account: Account | None, home: Home) -> _Programs:
    store = home.data / "bin"
    return _Programs(
        programs.postgres and postgres_for(account, programs.postgres, store),
        programs.valkey and valkey_for(account, programs.valkey, store),
    )


def _servers(
    home: Home, programs: _Programs, account: Account | None
) -> tuple[PostgresServer | None, ValkeyServer | None]:
    folder = datadir.socket_folder(home)
    postgres = valkey = None
    if programs.postgres:
        postgres = PostgresServer(programs.postgres, home.pg, folder, home.logs / "postgres.log", account)
    if programs.valkey:
        valkey = ValkeyServer(programs.valkey, folder, home.logs / "valkey.log", account)
    return postgres, valkey


def _program_in_reach(account: Account | None) -> bool:
    """Whether the account can read interpreter, libraries and clone; under /root it cannot."""
    if account is None:
        return True
    libraries = importlib.util.find_spec("msgspec")
    files = [Path(os.__file__), Path(libraries.origin or "") if libraries else PROJECT]
    inside = reachable(Path(sys.executable), account) and reachable(PROJECT / "appliance", account)
    inside = inside and all(reachable(file, account, os.R_OK) for file in files)
    if not inside and not privileges.may_keep_read_search():
        raise VitrineError(
            f"The account {account.name} cannot read the program in {PROJECT}",
            "Move the clone out of root's own directory, or start Vitrine as a plain user.",
        )
    return inside
