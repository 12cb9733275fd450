"""What a process may do: capabilities, death signals and dropping root, through the kernel's own calls."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from appliance.runtime.account import Account


PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_KEEPCAPS = 8
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_SET_SECUREBITS = 28
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
PR_CAP_AMBIENT_CLEAR_ALL = 4

SECBIT_NO_SETUID_FIXUP = 4
CAP_DAC_READ_SEARCH = 2
CAPABILITY_VERSION_3 = 0x20080522
LAST_CAPABILITY = 63

LINUX = sys.platform.startswith("linux")
_libc = ctypes.CDLL(None, use_errno=True)


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (
        ("effective", ctypes.c_uint32),
        ("permitted", ctypes.c_uint32),
        ("inheritable", ctypes.c_uint32),
    )


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The three sets of a process as bit masks."""

    effective: int
    permitted: int
    inheritable: int


def prctl(option: int, argument: int = 0, third: int = 0) -> bool:
    """One prctl call; False when the kernel refuses or there is none."""
    if not LINUX:
        return False
    numbers = (ctypes.c_ulong(value) for value in (argument, third, 0, 0))
    return int(_libc.prctl(option, *numbers)) == 0


def capabilities() -> Capabilities:
    """The sets that the calling process has."""
    if not LINUX:
        return Capabilities(0, 0, 0)
    sets = (_Sets * 2)()
    header = _Header(CAPABILITY_VERSION_3, 0)
    if _libc.capget(ctypes.byref(header), ctypes.byref(sets)) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    low, high = sets[0], sets[1]
    return Capabilities(
        low.effective | high.effective << 32,
        low.permitted | high.permitted << 32,
        low.inheritable | high.inheritable << 32,
    )


def set_capabilities(wanted: Capabilities) -> None:
    """Give rights up, or take those back that are still permitted."""
    sets = (_Sets * 2)()
    for place, shift in ((0, 0), (1, 32)):
        halves = [getattr(wanted, name) >> shift & 0xFFFFFFFF for name in Capabilities.__slots__]
        sets[place] = _Sets(*halves)
    header = _Header(CAPABILITY_VERSION_3, 0)
    if _libc.capset(ctypes.byref(header), ctypes.byref(sets)) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def may_keep_read_search() -> bool:
    """True when this process could hand the right to read every file to its children."""
    return LINUX and bool(capabilities().permitted >> CAP_DAC_READ_SEARCH & 1)


def become(account: Account | None, *, read_all: bool = False) -> None:
    """Turn into the service account for good; `read_all` keeps the one right that readers of roots need."""
    if account is not None:
        _regain_root()
        mask = 1 << CAP_DAC_READ_SEARCH if read_all and may_keep_read_search() else 0
        _leave_root(account, mask)
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def _regain_root() -> None:
    """The supervisor works with the service account as its effective user and root as the saved one."""
    os.seteuid(0)
    os.setegid(0)


def _leave_root(account: Account, mask: int) -> None:
    for number in range(LAST_CAPABILITY + 1):
        if not mask >> number & 1:
            prctl(PR_CAPBSET_DROP, number)
    prctl(PR_SET_KEEPCAPS, 1 if mask else 0)
    # Else access(2), which libraries ask before they open, would answer as if the right were not there.
    prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP if mask else 0)
    os.setgroups(account.groups)
    os.setresgid(account.gid, account.gid, account.gid)
    os.setresuid(account.uid, account.uid, account.uid)
    if LINUX:
        set_capabilities(Capabilities(mask, mask, mask))
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    if mask:
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH)
    # A change of user hides /proc/self from its owner; our own monitoring reads it.
    prctl(PR_SET_DUMPABLE, 1)


@contextmanager
def acting_as(account: Account | None) -> Iterator[None]:
    """The service account for a moment: what it may see and signal is exactly what is its own."""
    act_as(account)
    try:
        yield
    finally:
        if account is not None:
            _regain_root()


def act_as(account: Account | None) -> None:
    """Let the supervisor touch files as the service account: no planted link can use root's rights.

    It keeps the right to read: the program itself may lie under /root, and Python loads parts of it late.
    """
    if account is None:
        return
    os.setgroups(account.groups)
    os.setegid(account.gid)
    os.seteuid(account.uid)
    if may_keep_read_search():
        have = capabilities()
        set_capabilities(Capabilities(1 << CAP_DAC_READ_SEARCH, have.permitted, have.inheritable))


def die_with_parent(number: signal.Signals, parent: int) -> None:
    """Ask for a signal at the parent's death; a parent that died before the request is noticed too."""
    prctl(PR_SET_PDEATHSIG, int(number))
    if LINUX and os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants, as PID 1 of a container is by nature."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def child_setup(
    account: Account | None, death: signal.Signals, *, read_all: bool = False
) -> Callable[[], None]:
    """A function for the moment between fork and exec: own session, fewer rights, death signal, no mask."""
    parent = os.getpid()

    def setup() -> None:
        signal.set_wakeup_fd(-1)
        os.setsid()
        become(account, read_all=read_all)
        # After the change of user: the kernel clears the request on every change of credentials.
        die_with_parent(death, parent)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    return setup
