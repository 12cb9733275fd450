"""The account that servers and workers run as when Vitrine was started as root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from appliance.core.errors import VitrineError
from appliance.runtime.terminal import say


NAME = "vitrine"


@dataclass(frozen=True, slots=True)
class Account:
    """A user without rights, with all groups that give it access to folders."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]


def service_account(data: Path) -> Account | None:
    """Who does the work: nobody else for a plain user, an account without rights for root."""
    if os.geteuid() != 0:
        return None
    return owner_of(data) or named(NAME) or created() or named("nobody") or _refuse()


def owner_of(data: Path) -> Account | None:
    """The owner of an existing data directory goes on owning it, also after `sudo ./vitrine up`."""
    try:
        owner = (data / "instance.json").stat()
    except OSError:
        return None
    if owner.st_uid == 0:
        return None
    try:
        return _account(pwd.getpwuid(owner.st_uid))
    except KeyError:
        return Account(str(owner.st_uid), owner.st_uid, owner.st_gid, (owner.st_gid,))


def named(name: str) -> Account | None:
    """The account of that name, when the machine has it."""
    try:
        return _account(pwd.getpwnam(name))
    except KeyError:
        return None


def created() -> Account | None:
    """A new system account; None where the machine has no way to make one."""
    for command in _recipes():
        if shutil.which(command[0]) is None:
            continue
        subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)  # noqa: S603
        # Somebody else may have made it at the same moment: the answer counts, not the exit status.
        if account := named(NAME):
            say(f"Created the account {NAME}: as root, Vitrine does its work without root's rights.")
            return account
    return None


def _recipes() -> list[list[str]]:
    useradd = ["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    return [
        [*useradd, "--shell", "/usr/sbin/nologin", NAME],
        ["adduser", "-S", "-D", "-H", "-h", "/nonexistent", "-s", "/sbin/nologin", NAME],
    ]


def _account(entry: pwd.struct_passwd) -> Account:
    groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, groups)


def _refuse() -> Account:
    raise VitrineError(
        "Vitrine does not run its servers as root and found no account for them",
        f"Create one with: useradd --system {NAME}",
    )
