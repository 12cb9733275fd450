"""What a decode child gives up before it touches a file, and which of that the kernel granted."""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import resource
import signal
import struct

from appliance.media.limits import Limits
from appliance.media.wire import Tier


_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2

# Per machine: audit architecture, and the numbers of the refused calls. A decoder makes no sockets
# (its channel is inherited), runs no programs, and must not reach other processes or io_uring,
# which would open sockets past a filter.
_CALLS: dict[str, tuple[int, tuple[int, ...]]] = {
    # socket, execve, execveat, ptrace, process_vm_readv, process_vm_writev, io_uring_setup
    "x86_64": (0xC000003E, (41, 59, 322, 101, 310, 311, 425)),
    "aarch64": (0xC00000B7, (198, 221, 281, 117, 270, 271, 425)),
}
_X32_BIT = 0x40000000
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE = 0x00050000 | 13  # EACCES


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def confine(limits: Limits, parent: int) -> Tier:
    """Lock the calling process down; ends it when its parent is already gone."""
    tier = Tier(
        death_signal=_prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),
        no_new_privileges=_prctl(_PR_SET_NO_NEW_PRIVS, 1),
        no_network=_refuse_calls(),
        memory_limit=_limit(resource.RLIMIT_DATA, limits.memory),
        cpu_limit=allow_cpu(limits.cpu_s),
    )
    # The parent may have died between the fork and the request for its death signal.
    if os.getppid() != parent:
        os._exit(0)
    _limit(resource.RLIMIT_CORE, 0)
    with contextlib.suppress(OSError):
        os.nice(limits.nice)
    return tier


def allow_cpu(seconds: int) -> bool:
    """Grant the coming item this much processor time on top of what was used."""
    spent = resource.getrusage(resource.RUSAGE_SELF)
    return _limit(resource.RLIMIT_CPU, int(spent.ru_utime + spent.ru_stime) + seconds + 1)


def _limit(what: int, soft: int) -> bool:
    hard = resource.getrlimit(what)[1]
    wanted = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
    try:
        resource.setrlimit(what, (wanted, hard))
    except (OSError, ValueError):
        return False
    return True


def _prctl(option: int, *arguments: int) -> bool:
    numbers = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    try:
        return int(ctypes.CDLL(None).prctl(option, *numbers)) == 0
    except (OSError, AttributeError):
        return False


def _refuse_calls() -> bool:
    known = _CALLS.get(platform.machine())
    if known is None:
        return False
    code = _program(*known)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    return _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(program))


def _program(architecture: int, calls: tuple[int, ...]) -> bytes:
    count = len(calls)
    steps = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
        # The x32 numbers of an x86-64 kernel name the same calls a second time.
        (_AT_LEAST, count + 1, 0, _X32_BIT),
        *((_EQUAL, count - place, 0, number) for place, number in enumerate(calls)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("<HBBI", *step) for step in steps)
