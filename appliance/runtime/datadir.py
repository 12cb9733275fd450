"""The data directory: whose it is, who may use it, and that only one supervisor does."""

from __future__ import annotations

import errno
import fcntl
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from appliance.core import clock
from appliance.core.errors import VitrineError
from appliance.core.paths import Home
from appliance.runtime.account import Account
from appliance.runtime.forked import answer_of
from appliance.runtime.privileges import acting_as, become
from appliance.runtime.written import read_json, write_json


FORMAT = 1
# What a first start may have left behind before it wrote its identity, and what file systems put there.
HARMLESS = frozenset({"lock", "lost+found", ".DS_Store"})
SOCKET_LIMIT = 80  # of 107 bytes that a socket's path may have


class DataRefused(VitrineError):
    """The directory cannot be used, and nothing in it was changed."""


class AlreadyRunning(VitrineError):
    """Another supervisor holds the directory."""


@dataclass(frozen=True, slots=True)
class Instance:
    """The identity of an installation."""

    id: str
    made_at: str
    format: int
    database: str = ""
    """`embedded` or `external` once a database was filled; an empty one is wrong from then on."""


def examine(home: Home, account: Account | None) -> Instance | None:
    """The directory's identity, None for one that is still free; refuses whatever is not ours."""
    try:
        there = home.data.exists()
    except PermissionError:
        raise DataRefused(f"{home.data} cannot be reached", "Name another one with --data.") from None
    if not there:
        _must_be_creatable(home.data, account)
        return None
    if not home.data.is_dir():
        raise DataRefused(f"{home.data} is not a directory", "Name another one with --data.")
    known = identity(home) if _is_known(home) else None
    if known is None and _is_handed_over(home.data, account):
        _must_be_creatable(home.data, account)
        return None
    if not _as(account, lambda: os.access(home.data, os.R_OK | os.W_OK | os.X_OK)):
        raise DataRefused(
            f"{home.data} is not writable for {_name(account)}",
            "Change its owner, or name another with --data.",
        )
    return known


def occupy(home: Home, account: Account | None) -> int:
    """Create what is missing and take the lock; the open file is the lock."""
    if not home.data.exists():
        _create(home.data)
    if account is not None and _is_handed_over(home.data, account):
        os.chown(home.data, account.uid, account.gid)
        home.data.chmod(0o700)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    with acting_as(account):  # the directory is the account's: what lies there may lead anywhere
        handle = os.open(home.lock, flags, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise _not_locked(home, error) from None
    return handle


def furnish(home: Home, known: Instance | None) -> Instance:
    """Write the identity of a new installation and make its directories."""
    instance = known or Instance(str(uuid.uuid4()), clock.now().isoformat(timespec="seconds"), FORMAT)
    if known is None:
        remember(home, instance)
    for folder in (home.run, home.logs, home.tmp, home.originals, home.renditions):
        folder.mkdir(mode=0o700, exist_ok=True)
    return instance


def remember(home: Home, instance: Instance) -> None:
    """Store the identity for good."""
    fields = {name: getattr(instance, name) for name in Instance.__slots__}
    write_json(home.instance, fields, durable=True)


def socket_folder(home: Home) -> Path:
    """Where the servers' sockets lie: in the data directory, or in a short place when that is too deep."""
    if len(os.fsencode(home.run)) <= SOCKET_LIMIT:
        return home.run
    short = Path("/tmp") / f"vitrine-{os.geteuid()}-{uuid.uuid5(uuid.NAMESPACE_URL, str(home.data)).hex[:12]}"  # noqa: S108
    short.mkdir(mode=0o700, exist_ok=True)
    found = short.lstat()
    if found.st_uid != os.geteuid() or found.st_mode & 0o7777 != 0o700 or short.is_symlink():
        raise DataRefused(f"{short} belongs to somebody else", "Choose a shorter path with --data.")
    return short


def identity(home: Home) -> Instance:
    """The identity of a directory that is ours."""
    found = read_json(home.instance)
    version = found.get("format")
    if not isinstance(version, int) or not found.get("id"):
        raise DataRefused(
            f"{home.instance} cannot be read", "Restore it from a backup of the data directory."
        )
    if version > FORMAT:
        raise DataRefused(
            f"{home.data} was written by a newer Vitrine (format {version}, this one knows {FORMAT})",
            "Start the newer version.",
        )
    known = {name: found[name] for name in Instance.__slots__ if name in found}
    return Instance(**{"made_at": "", **known})


def _is_known(home: Home) -> bool:
    """Whether it carries an identity; without one it must be empty."""
    try:
        if home.instance.exists():
            return True
        strange = sorted(path.name for path in home.data.iterdir() if path.name not in HARMLESS)
    except PermissionError:
        return False
    if strange:
        raise DataRefused(
            f"{home.data} is not Vitrine's: it holds {strange[0]!r} and no instance.json",
            "Name an empty or a new directory with --data.",
        )
    return False


def _is_handed_over(data: Path, account: Account | None) -> bool:
    """Root's own directory that it names for the first time (a fresh volume) becomes the account's."""
    return account is not None and data.stat().st_uid == 0 and not (data / "instance.json").exists()


def _must_be_creatable(data: Path, account: Account | None) -> None:
    above = next(folder for folder in data.parents if folder.exists())
    if not os.access(above, os.W_OK | os.X_OK):
        raise DataRefused(f"{data} cannot be created: {above} is not writable", "Name another with --data.")
    if not _as(account, lambda: os.access(above, os.X_OK)):
        raise DataRefused(
            f"{data} is out of reach for {_name(account)}",
            "Name a directory outside of root's own with --data.",
        )


def _create(data: Path) -> None:
    missing = [folder for folder in (data, *data.parents) if not folder.exists()]
    try:
        for folder in reversed(missing):
            folder.mkdir(mode=0o700 if folder == data else 0o755)
    except OSError as error:
        raise DataRefused(
            f"{data} cannot be created: {error.strerror}", "Name another with --data."
        ) from None


def _not_locked(home: Home, error: OSError) -> VitrineError:
    if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
        return AlreadyRunning(f"Vitrine is already running on {home.data}")
    return DataRefused(
        f"{home.data} lies on a file system without locks ({error.strerror})",
        "Name a local directory with --data.",
    )


def _as(account: Account | None, question: Callable[[], bool]) -> bool:
    if account is None:
        return question()

    def ask() -> bool:
        become(account)
        return question()

    return answer_of(ask) is True


def _name(account: Account | None) -> str:
    return f"the account {account.name}" if account else "this user"
